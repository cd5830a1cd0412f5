"""Mutants: what the test suite notices when a line of the product is changed.

    python .ci/mutants.py cover [arguments of pytest]     lines and times of each test
    python .ci/mutants.py draw --seed 1 --count 300       which lines are changed
    python .ci/mutants.py run [--workers 2]               the tests of each line; resumes
    python .ci/mutants.py run --only-survivors-of FILE    what another suite left (killed.jsonl)
    python .ci/mutants.py table OLD NEW                   two runs side by side, as markdown

What was drawn is kept in benchmarks/mutants.json, all else in out/mutants. A mutant changes one
operator, constant, condition, return or statement of a line that some test runs. The lines are
drawn uniformly from the covered ones of the product, at least a third of them from `KERNEL`. A
mutant is killed if one of the tests that run its line fails; the fastest runs first, and the first
failure ends the run. What no test kills is a survivor: a missing test, or an equivalent mutant.
Where the old suite was run on the survivors of the new one alone, what the new one kills counts as
killed by both.

Tests share solves. While lines are recorded nothing is shared, so that each test is known for all
that it stands on: fixtures of any scope and cached functions of tests are made anew for each.
"""

import argparse
import ast
import contextlib
import gc
import importlib
import io
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import Queue
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "out" / "mutants"
DRAWN = ROOT / "benchmarks" / "mutants.json"
ROOMS = ("formulations", "solvers", "cuts", "experiments")
KERNEL = (
    "solvers/proofs/", "solvers/kernel/", "cuts/proofs.py", "solvers/proof_files/checker.py",
)  # fmt: skip
BATCHES = (20, 100, 400)  # tests of one run: most mutants die of the first
SHORTEST, TIMES = 30, 10  # seconds that a test may take at least, and of what it took unchanged
LIBRARIES = (
    "numpy", "scipy.sparse", "scipy.optimize", "scipy.stats", "pyomo.environ", "pandas",
    "sklearn.svm", "matplotlib.pyplot", "highspy", "clarabel", "pyscipopt", "mosek",
    "pytest",
)  # fmt: skip

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.MatMult: ast.Mult,
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum",
         "maximum": "minimum", "floor": "ceil", "ceil": "floor"}  # fmt: skip


# --- mutants of a file ---------------------------------------------------------------------------


def variants(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:  # noqa: C901, one line a kind
    """What a node may be changed to: a name of the operator, and the new node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        other = COMPARISONS[type(node.ops[0])]
        yield "comparison", ast.Compare(node.left, [other()], node.comparators)
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield "arithmetic", ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "connective", ast.BoolOp(other, node.values)
        yield "condition dropped", node.values[0]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "sign", node.operand
    if isinstance(node, ast.IfExp):
        yield "branch", ast.IfExp(node.test, node.orelse, node.body)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "constant", ast.Constant(node.value + 1)
        if node.value:
            yield "constant", ast.Constant(0)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "constant", ast.Constant(not node.value)
    name = node.func if isinstance(node, ast.Call) else None
    if isinstance(name, ast.Name) and name.id in CALLS:
        yield "function", ast.Call(ast.Name(CALLS[name.id]), node.args, node.keywords)
    if isinstance(name, ast.Attribute) and name.attr in CALLS:
        called = ast.Attribute(name.value, CALLS[name.attr])
        yield "function", ast.Call(called, node.args, node.keywords)
    if isinstance(node, ast.Return) and ast.unparse(node) not in ("return", "return None"):
        yield "return", ast.Return(ast.Constant(None))
    if isinstance(node, ast.AugAssign) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield "statement dropped", ast.Pass()


def mutants_of(path: Path) -> dict[int, list[dict[str, Any]]]:
    """Mutants of a file by line; annotations, messages of errors and docstrings have none."""
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    left = set()
    for node in ast.walk(tree):
        parts = [getattr(node, name, None) for name in ("annotation", "returns")]
        parts += getattr(node, "decorator_list", [])
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Subscript | ast.Assert):
            parts.append(node.slice if isinstance(node, ast.Subscript) else node)
            if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Name):
                parts.pop()
        for part in parts:
            if part is not None:
                left.update(id(inner) for inner in ast.walk(part))
    found: dict[int, list[dict[str, Any]]] = {}
    for node in ast.walk(tree):
        if id(node) in left or getattr(node, "end_lineno", None) != getattr(node, "lineno", 0):
            continue
        for kind, new in variants(node):
            old = ast.get_source_segment(text, node)
            found.setdefault(node.lineno, []).append({
                "file": str(path.relative_to(ROOT)), "line": node.lineno, "kind": kind,
                "start": node.col_offset, "end": node.end_col_offset, "old": old,
                "new": written(new),
            })  # fmt: skip
    return found


def written(node: ast.AST) -> str:
    """Source of a changed node; an expression in brackets, so that it stays one operand."""
    text = ast.unparse(ast.fix_missing_locations(node))
    return f"({text})" if isinstance(node, ast.expr) else text


def held(text: str, mutant: dict[str, Any]) -> str:
    """What stands in a file where a mutant changes it; columns of Python count bytes."""
    line = "".join(text.splitlines()[mutant["line"] - 1 : mutant["line"]]).encode()
    return line[mutant["start"] : mutant["end"]].decode(errors="replace")


def changed(text: str, mutant: dict[str, Any]) -> str:
    """A file with its mutant in."""
    assert held(text, mutant) == mutant["old"], mutant
    lines = text.splitlines(keepends=True)
    line = lines[mutant["line"] - 1].encode()
    new = line[: mutant["start"]] + mutant["new"].encode() + line[mutant["end"] :]
    lines[mutant["line"] - 1] = new.decode()
    return "".join(lines)


# --- the steps -----------------------------------------------------------------------------------


def cover(arguments: list[str]) -> int:
    """Run the suite once with the lines and the seconds of each test."""
    KEPT.mkdir(parents=True, exist_ok=True)
    settings = KEPT / "coveragerc"
    sources = "\n    ".join(str(ROOT / "tightmargin" / room) for room in ROOMS)
    settings.write_text(f"[run]\nsource =\n    {sources}\ndata_file = {KEPT / 'coverage'}\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "mutants",
         f"--cov-config={settings}",
         "--cov", "--cov-context=test", "--cov-report=", f"--junitxml={KEPT / 'times.xml'}",
         *arguments],
        cwd=ROOT, check=False, env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
    ).returncode  # fmt: skip


def pytest_runtest_protocol(item: Any, nextitem: Any) -> bool:
    """Run a test as if it were the last: nothing that it has made is left for the next one."""
    from _pytest.runner import runtestprotocol

    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    runtestprotocol(item, nextitem=None)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    for name, module in list(sys.modules.items()):
        if name.startswith("tests."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
    return True


def contexts() -> dict[str, dict[int, list[str]]]:
    """Tests that run each line, by file."""
    import coverage

    data = coverage.CoverageData(str(KEPT / "coverage"))
    data.read()
    found: dict[str, dict[int, list[str]]] = {}
    for name in data.measured_files():
        path = Path(name).resolve()
        if ROOT not in path.parents:
            continue
        lines = data.contexts_by_lineno(name)
        tests = {
            line: sorted({c.rpartition("|")[0] for c in by if c.endswith(("|run", "|setup"))})
            for line, by in lines.items()
        }
        found[str(path.relative_to(ROOT))] = {k: v for k, v in tests.items() if v}
    return found


def draw(seed: int, count: int) -> int:
    """Draw lines uniformly from the covered ones, and one mutant of each."""
    rng = random.Random(seed)
    sites: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for file, lines in sorted(contexts().items()):
        for line, mutants in sorted(mutants_of(ROOT / file).items()):
            if line in lines:
                sites[file, line] = mutants
    kernel = [site for site in sites if site[0].startswith(KERNEL)]
    chosen = rng.sample(kernel, min(len(kernel), -(-count // 3)))
    others = [site for site in sites if site not in set(chosen)]
    chosen += rng.sample(others, min(len(others), count - len(chosen)))
    mutants = [rng.choice(sites[site]) for site in sorted(chosen)]
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout.strip()
    head = {"seed": seed, "commit": commit, "lines": len(sites), "kernel": len(kernel)}
    DRAWN.write_text(json.dumps({**head, "mutants": mutants}, indent=1) + "\n")
    print(f"{len(mutants)} mutants of {len(sites)} covered lines, into {DRAWN.relative_to(ROOT)}")
    return 0


def times() -> dict[str, float]:
    """Seconds of each test by its name in a report of pytest."""
    import xml.etree.ElementTree as ElementTree

    found = {}
    for case in ElementTree.parse(KEPT / "times.xml").getroot().iter("testcase"):
        file = case.get("classname", "").replace(".", "/") + ".py"
        found[f"{file}::{case.get('name')}"] = float(case.get("time", "0"))
    return found


def copies(count: int) -> Iterator[Path]:
    """Copies of the tracked files, each with the links and data beside it that tests look for."""
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout.split("\0")
    for _ in range(count):
        folder = Path(tempfile.mkdtemp(prefix="mutants-")) / "checkout"
        for name in filter(None, files):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
        yield folder


def serve() -> int:
    """Fork for each request on stdin: the libraries are loaded once, the product each time."""
    for library in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    gc.freeze()
    for line in sys.stdin:
        asked = json.loads(line)
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.setpgid(0, 0)
            os.close(read)
            try:
                said = failed_first(asked)
            except BaseException:  # the child ends here, whatever happens
                said = {"broken": traceback.format_exc()}
            os.write(write, json.dumps(said).encode())
            os._exit(0)
        os.close(write)
        late = []

        def end(*_: Any, child: int = child, late: list[int] = late) -> None:
            late.append(child)
            os.killpg(child, signal.SIGKILL)

        signal.signal(signal.SIGALRM, end)
        signal.alarm(asked["all"])
        with open(read, "rb") as answer:
            text = answer.read()
        signal.alarm(0)
        os.waitpid(child, 0)
        # A process that a test has started may hold the pipe; one that died has said nothing.
        print(text.decode() or json.dumps({"failed": "no end" if late else "death"}), flush=True)
    return 0


def failed_first(asked: dict[str, Any]) -> dict[str, str]:
    """Run tests up to the first failure: its name, or an empty text."""
    import pytest

    class First:
        name = ""

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed and not self.name:
                self.name = f"{report.nodeid}"

        def pytest_collectreport(self, report: Any) -> None:
            self.pytest_runtest_logreport(report)

    first, null = First(), os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    sys.stdout = sys.stderr = io.StringIO()
    code = pytest.main(
        ["-x", "-q", "-p", "no:cacheprovider", f"--timeout={asked['one']}", *asked["tests"]],
        plugins=[first],
    )
    return {"failed": first.name or (f"exit {int(code)}" if code else "")}


class Place:
    """A copy of the checkout, and the process that runs tests in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        variables = os.environ | {
            "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg",
            "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, ".ci/mutants.py", "serve"], cwd=folder, env=variables, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def failed(self, tests: list[str], seconds: dict[str, float]) -> str:
        """The first of the tests that fails; empty when all pass."""
        taken = [seconds[test] for test in tests]
        one = math.ceil(max(SHORTEST, TIMES * max(taken)))
        asked = {"tests": tests, "one": one, "all": math.ceil(one + 60 + TIMES * sum(taken))}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(asked), file=self.process.stdin, flush=True)
        said = json.loads(self.process.stdout.readline())
        if "broken" in said:
            raise RuntimeError(said["broken"])
        return str(said["failed"])

    def close(self) -> None:
        """End the process and remove the copy."""
        self.process.communicate()
        shutil.rmtree(self.folder.parent)


def outcome(place: Place, mutant: dict[str, Any], tests: dict[str, float]) -> str:
    """`killed` with the test that failed first, or `survived`; the fastest tests run first.

    A test that fails here without the mutant as well says nothing, and is left out.
    """
    target = place.folder / mutant["file"]
    text = target.read_text("utf-8")
    order, size = sorted(tests, key=lambda test: tests[test]), iter(BATCHES)
    while order:
        batch = order[: next(size, BATCHES[-1])]
        target.write_text(changed(text, mutant), "utf-8")
        try:
            first = place.failed(batch, tests)
        finally:
            target.write_text(text, "utf-8")
        alone = [first] if first in tests else batch
        if first and not (unfit := place.failed(alone, tests)):
            return f"killed: {first[:200]}"
        if first and unfit not in tests:
            raise RuntimeError(f"without the mutant {unfit} of {alone[0]} ... {alone[-1]}")
        gone = {unfit} if first else set(batch)
        order = [test for test in order if test not in gone]
    return "survived"


def run(workers: int, only_survivors_of: str | None) -> int:
    """Run every mutant that has no outcome yet, those with little to run first."""
    kept = KEPT / "killed.jsonl"
    drawn = json.loads(DRAWN.read_text())
    mutants = drawn["mutants"]
    files = {m["file"]: ROOT / m["file"] for m in mutants}
    texts = {name: path.read_text("utf-8") for name, path in files.items() if path.exists()}
    if any(held(texts.get(m["file"], ""), m) != m["old"] for m in mutants):
        print(f"these mutants are of commit {drawn['commit']}: check that out, or draw others")
        return 1
    done = {}
    if kept.exists():
        done = {row["mutant"]: row for row in map(json.loads, kept.read_text().splitlines())}
    reach, seconds = contexts(), times()
    wanted = range(len(mutants))
    if only_survivors_of is not None:
        rows = map(json.loads, Path(only_survivors_of).read_text().splitlines())
        wanted = [row["mutant"] for row in rows if row["outcome"] == "survived"]

    def tests_of(k: int) -> dict[str, float]:
        reached = reach.get(mutants[k]["file"], {}).get(mutants[k]["line"], [])
        return {test: seconds.get(test, 1.0) for test in reached}

    def longest(k: int) -> float:
        return sum(tests_of(k).values())

    left = sorted((k for k in wanted if k not in done), key=longest)
    places: Queue[Place] = Queue()
    for folder in copies(workers):
        places.put(Place(folder))

    def one(k: int) -> dict[str, Any]:
        tests, place = tests_of(k), places.get()
        try:
            return {"mutant": k, "tests": len(tests), "outcome": outcome(place, mutants[k], tests)}
        finally:
            places.put(place)

    with ThreadPoolExecutor(workers) as pool, kept.open("a") as stream:
        for running in as_completed([pool.submit(one, k) for k in left]):
            row = running.result()
            stream.write(json.dumps(row) + "\n")
            stream.flush()
            at = mutants[row["mutant"]]
            print(f"{row['mutant']:4d} {at['file']}:{at['line']} {row['outcome'][:90]}", flush=True)
    while not places.empty():
        places.get().close()
    return 0


def table(old: str, new: str) -> int:
    """Print how many mutants two suites kill, in the kernel and elsewhere, and what is left."""
    drawn = json.loads(DRAWN.read_text())
    mutants, rows = drawn["mutants"], []
    for name in (old, new):
        read = map(json.loads, Path(name).read_text().splitlines())
        rows.append({row["mutant"]: row["outcome"].startswith("killed") for row in read})
    print("| mutants of | drawn | killed before | killed now | now, of those killed before |")
    print("|:---|---:|---:|---:|---:|")
    for title, inside in (("kernel and checker", True), ("the rest", False)):
        chosen = [k for k, m in enumerate(mutants) if m["file"].startswith(KERNEL) is inside]
        now = {k for k in chosen if rows[1].get(k)}
        before = {k for k in chosen if rows[0].get(k, k in now)}
        share = 100 * len(before & now) / max(1, len(before))
        print(f"| {title} | {len(chosen)} | {len(before)} | {len(now)} | {share:.1f} % |")
    print("\n| what no test kills | was | became | why |\n|:---|:---|:---|:---|")
    for k, m in enumerate(mutants):
        if not rows[1].get(k):
            was, became = (m[side].replace("|", "\\|") for side in ("old", "new"))
            place = f"{m['file']}:{m['line']}"
            print(f"| `{place}` | `{was}` | `{became}` | {m.get('why', 'not answered')} |")
    return 0


def main() -> int:
    """Read the arguments and run one step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    steps = parser.add_subparsers(dest="step", required=True)
    steps.add_parser("cover")
    steps.add_parser("serve")
    one = steps.add_parser("draw")
    one.add_argument("--seed", type=int, required=True)
    one.add_argument("--count", type=int, default=300)
    one = steps.add_parser("run")
    one.add_argument("--workers", type=int, default=2)
    one.add_argument("--only-survivors-of", help="a killed.jsonl of another suite")
    one = steps.add_parser("table")
    one.add_argument("old")
    one.add_argument("new")
    given, rest = parser.parse_known_args()
    if given.step == "cover":
        return cover(rest)
    if given.step == "serve":
        return serve()
    if rest:
        parser.error(f"unknown arguments: {' '.join(rest)}")
    if given.step == "draw":
        return draw(given.seed, given.count)
    if given.step == "run":
        return run(given.workers, given.only_survivors_of)
    return table(given.old, given.new)


if __name__ == "__main__":
    sys.exit(main())
