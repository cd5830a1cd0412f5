"""Lines of the project, counted the same way everywhere.

    python .ci/size.py [--commit REVISION] [--folders]

Tracked Python files, as ruff formats them at 100 columns once `fmt: skip` is taken away. Code is
what is left without docstrings, comments, blank lines and imports. Notebooks count the lines of
their code cells. --folders prints the folders of solvers/ as well.
"""

import argparse
import ast
import io
import json
import re
import subprocess
import tempfile
import tokenize
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("formulations", "solvers", "cuts", "experiments", "tightmargin")
BESIDE = ("tests", "benchmarks", ".ci", "docs", "notebooks")
SKIP = re.compile(r"\s*# fmt: (skip|off|on)\b.*")


def tracked(commit: str) -> dict[str, str]:
    """Text of every tracked Python file and notebook."""
    names = git("ls-tree", "-r", "--name-only", commit).splitlines()
    wanted = [name for name in names if name.endswith((".py", ".pyi", ".ipynb"))]
    return {name: git("show", f"{commit}:{name}") for name in wanted}


def git(*words: str) -> str:
    """What git prints."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def formatted(files: dict[str, str]) -> dict[str, str]:
    """The same files as the formatter leaves them without exceptions."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder, name) for name in files}
        for name, path in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(SKIP.sub("", files[name]))
        ruff = ["ruff", "format", "-q", "--no-cache", "--isolated", "--line-length=100", folder]
        subprocess.run(ruff, check=True)
        return {name: path.read_text() for name, path in paths.items()}


def code_lines(text: str) -> int:
    """Lines that are neither docstring, comment, blank nor import."""
    tree = ast.parse(text)
    out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            out |= span(node)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                out |= span(first) if isinstance(first.value.value, str) else set()
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    used: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in blank and token.string:
            used.update(range(token.start[0], token.end[0] + 1))
    return len(used - out)


def span(node: ast.stmt | ast.Expr) -> set[int]:
    """Numbers of the lines of a statement."""
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def cells(text: str) -> str:
    """Code of a notebook."""
    found = json.loads(text)["cells"]
    return "\n".join("".join(cell["source"]) for cell in found if cell["cell_type"] == "code")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--commit", default="HEAD", help="a revision (default: HEAD)")
    parser.add_argument("--folders", action="store_true", help="the folders of solvers/ as well")
    words = parser.parse_args()
    files = tracked(words.commit)
    python = formatted(
        {name: text for name, text in files.items() if name.endswith((".py", ".pyi"))}
    )
    count, lines, code = Counter[str](), Counter[str](), Counter[str]()
    for name, text in python.items():
        parts = PurePosixPath(name).parts
        places = [parts[0]]
        if words.folders and parts[0] == "solvers" and len(parts) > 2:
            places.append("solvers/" + parts[1])
        for place in places:
            count[place] += 1
            lines[place] += len(text.splitlines())
            code[place] += code_lines(text)
    for name, text in files.items():
        if name.endswith(".ipynb"):
            source = cells(text)
            count["notebooks"] += 1
            lines["notebooks"] += len(source.splitlines())
            code["notebooks"] += sum(bool(line.strip()) for line in source.splitlines())
    print(f"{'':22} {'files':>6} {'lines':>8} {'code':>8}")
    folders = sorted(place for place in count if "/" in place)
    for place in (*ROOMS, *folders, *BESIDE):
        if place == BESIDE[0]:
            whole = [sum(each[room] for room in ROOMS) for each in (count, lines, code)]
            print(f"{'product':22} {whole[0]:6,} {whole[1]:8,} {whole[2]:8,}")
        print(f"{place:22} {count[place]:6,} {lines[place]:8,} {code[place]:8,}")


if __name__ == "__main__":
    main()
