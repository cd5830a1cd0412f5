"""The house: import rules, one root, no traces of machines, a wheel, and who may say CERTIFIED."""

from __future__ import annotations

import ast
import functools
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FRONT_DOOR = "tightmargin"
FAMILIES = (
    "conic", "matrix", "multiclass", "nu", "probability", "rigorous_svm", "soft_margin", "zero_one",
)  # fmt: skip
ROOMS = ("formulations", "solvers", "cuts", "experiments")


def run(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command without our search path, so that it finds only what is installed for it."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | variables
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True,
        timeout=240, check=False,
    )  # fmt: skip


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def source_files() -> list[Path]:
    """Modules of the distribution, relative to the root."""
    inside = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    door = [path for path in (ROOT / FRONT_DOOR).iterdir() if path.suffix in (".py", ".pyi")]
    return sorted(path.relative_to(ROOT) for path in [*inside, *door])


def installed_path(path: Path) -> Path:
    """Where a file of the root stands in the wheel."""
    return path if path.parts[0] == FRONT_DOOR else FRONT_DOOR / path


def module_name(path: Path) -> str:
    return ".".join(installed_path(path).with_suffix("").parts).removesuffix(".__init__")


# --- who may import whom -------------------------------------------------------------------------


def test_import_rules_hold() -> None:
    rules = run(Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache", cwd=ROOT)
    assert rules.returncode == 0, rules.stdout + rules.stderr
    contracts = len(PROJECT["tool"]["importlinter"]["contracts"])
    assert f"Contracts: {contracts} kept, 0 broken." in rules.stdout


def imported_names(path: Path) -> Iterator[str]:
    for node in ast.walk(tree_of(ROOT / path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = f"{FRONT_DOOR}.{node.module}" if node.level else node.module
            yield module or ""
            yield from (f"{module}.{alias.name}" for alias in node.names)


def test_generic_solver_code_names_no_formulation_in_a_string() -> None:
    """What it does for one belongs to a family, which registers it."""
    from tightmargin.formulations import CATALOGUE

    word = re.compile(rf"\b({'|'.join(map(re.escape, CATALOGUE))})\b")
    for path in source_files():
        if path.parts[0] == "solvers" and path.parts[1] not in (*FAMILIES, "hinge"):
            tree = tree_of(ROOT / path)
            docs = [ast.get_docstring(node, clean=False) for node in ast.walk(tree)
                    if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)]  # fmt: skip
            texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
            named = [t for t in texts if isinstance(t, str) and t not in docs and word.search(t)]
            assert named == [], path


def test_tests_import_nothing_deeper_than_a_room() -> None:
    """A module that moves inside a room is named anew in tests/inside alone."""
    deep = re.compile(rf"{FRONT_DOOR}\.({'|'.join(ROOMS)})\.\w")
    for path in (ROOT / "tests").rglob("*.py"):
        if path.parent != ROOT / "tests" / "inside":
            names = [node.module or "" if isinstance(node, ast.ImportFrom) else alias.name
                     for node in ast.walk(tree_of(path))
                     if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names
                     ]  # fmt: skip
            assert [name for name in names if deep.match(name)] == [], path


def names_listed(file: Path) -> int:
    """The most entries of the catalogue that one list, set, tuple or mapping spells out."""
    from tightmargin.formulations import CATALOGUE

    most = 0
    for node in ast.walk(tree_of(file)):
        items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        words = {item.value for item in items if isinstance(item, ast.Constant)}
        most = max(most, len(words & set(CATALOGUE)))
    return most


def test_the_catalogue_is_listed_in_one_table_of_the_tests() -> None:
    """So that a new formulation is one line there, but for what draws or moves at random."""
    from tests.cases import CASES
    from tightmargin.formulations import CATALOGUE

    assert set(CASES) == set(CATALOGUE)
    others = ("cases.py", "metamorphic/families.py", "soundness/")
    files = {path.relative_to(ROOT / "tests").as_posix(): path
             for path in (ROOT / "tests").rglob("*.py")}  # fmt: skip
    listed = {name: names_listed(f) for name, f in files.items() if not name.startswith(others)}
    assert {name: n for name, n in listed.items() if n > 2 * len(CATALOGUE) / 3} == {}


SOLVER_PACKAGES = [
    "highspy", "gurobipy", "mosek", "clarabel", "scs", "piqp", "pyscipopt", "cvxpy", "sklearn",
]  # fmt: skip
IMPORT_WITHOUT = """
import importlib, json, sys
blocked, modules, root = json.loads(sys.argv[1])
sys.path.insert(0, root)

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ImportError(f"{name} is blocked by the test")

sys.meta_path.insert(0, Refuse())
for name in modules:
    importlib.import_module(name)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_everything_imports_without_solvers_and_the_front_door_loads_none(tmp_path: Path) -> None:
    """Nor with pandas: who asks for a data frame loads it.

    The estimator is one of scikit-learn's by inheritance, and the front door loads it when asked.
    Installed or not: an import stays quick, and a broken solver breaks only its own calls.
    """

    def loaded(blocked: list[str], modules: list[str]) -> set[str]:
        """Top-level names after the import, in a fresh interpreter."""
        argument = json.dumps([blocked, modules, str(ROOT)])
        done = run(sys.executable, "-c", IMPORT_WITHOUT, argument, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return set(json.loads(done.stdout))

    modules = [module_name(path) for path in source_files()]
    modules.remove("tightmargin.experiments.estimators.classifier")
    modules.remove(f"{FRONT_DOOR}.__main__")
    assert FRONT_DOOR in loaded([*SOLVER_PACKAGES, "pandas"], modules)
    found = loaded([], [*(f"{FRONT_DOOR}.{name}" for name in ROOMS), FRONT_DOOR])
    assert found.isdisjoint([*SOLVER_PACKAGES, "pandas", "matplotlib"])


def test_every_row_of_the_fault_table_has_a_test() -> None:
    """By the number in its name."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    name = re.compile(r"^ *def test_(?:row|fault)_(\d\d)_", re.MULTILINE)
    assert {int(row) for text in texts for row in name.findall(text)} == set(range(1, 31))


# --- one root, one list of packages, one version -------------------------------------------------


def test_rooms_are_packages_linked_into_ours_and_imported_by_no_plain_name() -> None:
    """A plain name would be another copy of the module, or a file of the user's."""
    for room in ROOMS:
        link = ROOT / FRONT_DOOR / room
        assert link.is_symlink(), room
        assert link.resolve() == ROOT / room
    for path in source_files():
        assert (ROOT / path.parent / "__init__.py").is_file(), path.parent
        plain = [name for name in imported_names(path) if name.partition(".")[0] in ROOMS]
        assert plain == [], path


def test_versions_agree() -> None:
    version = PROJECT["project"]["version"]
    assert importlib.import_module(FRONT_DOOR).__version__ == version
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == version
    changes = (ROOT / ".github" / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[(Unreleased|{re.escape(version)})\]", changes, re.MULTILINE)


def test_constraints_pin_every_dependency_by_version_only() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][\w.]*", line)] == []
    pinned = {canonicalize_name(name): version for name, version in (s.split("==") for s in lines)}
    assert len(pinned) == len(lines)
    extras = PROJECT["project"]["optional-dependencies"].values()
    for text in [
        *PROJECT["project"]["dependencies"],
        *(text for extra in extras for text in extra),
    ]:
        requirement = Requirement(text)
        if requirement.name != PROJECT["project"]["name"]:
            version = pinned[canonicalize_name(requirement.name)]
            assert version in requirement.specifier, f"{requirement} excludes the tested {version}"
            assert any(s.operator == ">=" for s in requirement.specifier), f"{requirement}: from?"


# --- no traces of a machine ----------------------------------------------------------------------


def traces() -> list[str]:
    """Folders of whoever runs this, and addresses pip is told to fetch from, as expressions."""
    everywhere = {Path("/"), Path("/usr"), Path("/usr/local"), Path(tempfile.gettempdir())}
    here = {ROOT, ROOT.parent, Path.home(), Path(sys.prefix), Path(sys.base_prefix)} - everywhere
    told = run(sys.executable, "-m", "pip", "config", "list", cwd=ROOT).stdout
    told += "\n".join(value for name, value in os.environ.items() if name.startswith("PIP_"))
    addresses = [urlsplit(address) for address in re.findall(r"\b\w+://[^'\"\s]+", told)]
    paths = {*map(str, here), *(a.path.rstrip("/") for a in addresses if a.scheme == "file")}
    hosts = {address.hostname for address in addresses if address.hostname}
    starts = r"(?:(?<=://)|(?<![\w.~/}-]))"
    return [
        rf"{starts}/(?:home|Users)/\w",
        r"--(?:extra-)?index[-_]url",
        *(rf"{starts}{re.escape(path)}(?![\w.-])" for path in sorted(paths)),
        *(rf"(?<![\w.-]){re.escape(host)}(?![\w-])" for host in sorted(hosts)),
    ]


def test_no_tracked_file_names_this_machine_or_a_registry() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: nothing is tracked")
    listed = run("git", "-c", "safe.directory=*", "ls-files", "-z", cwd=ROOT)
    assert listed.returncode == 0, listed.stderr
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert ROOT / "pyproject.toml" in files
    trace = re.compile("|".join(traces()))
    found = []
    for path in files:
        if path.is_file():
            text = path.read_bytes().decode("utf-8", errors="replace")
            found += [f"{path.relative_to(ROOT)}: {hit[0]}" for hit in trace.finditer(text)]
    assert found == []


# --- the wheel -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: a build folder left in the checkout could put deleted modules into it."""
    copy = tmp_path_factory.mktemp("wheel") / "source"
    skipped = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info")
    shutil.copytree(ROOT, copy, ignore=skipped)
    built = run(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", cwd=copy
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = (copy / "dist").glob("*.whl")
    return found


def test_wheel_holds_our_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (about,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
        metadata = archive.read(f"{about}/METADATA").decode()
        scripts = archive.read(f"{about}/entry_points.txt").decode()
    modules = {name for name in names if not name.startswith(f"{about}/")}
    written = {installed_path(path).as_posix() for path in source_files()}
    # Beside the modules: the prints of the papers, their formulas, and the mark of typed code.
    tables = [*(ROOT / "experiments").rglob("published.toml"),
              *(ROOT / "formulations").rglob("*.toml")]  # fmt: skip
    data = {installed_path(path.relative_to(ROOT)).as_posix() for path in tables}
    assert len(data) == 10
    data |= {f"{FRONT_DOOR}/py.typed"}
    assert modules == written | data
    assert f"{about}/licenses/LICENSE" in names
    assert "License-Expression: BSD-3-Clause" in metadata
    assert "tightmargin = tightmargin.experiments.cli.app:main" in scripts


@pytest.mark.slow("an environment is made and the wheel installed into it")
def test_wheel_works_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """Installed into an environment of its own; the solvers come from this one, not the network."""
    environment = tmp_path / "environment"
    made = run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    installed = run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    assert installed.returncode == 0, installed.stdout + installed.stderr

    # Path files inside a folder added this way are not read: an editable checkout stays invisible.
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site_here = run(sys.executable, "-c", where, cwd=tmp_path).stdout.strip()
    site_there = run(python, "-c", where, cwd=tmp_path).stdout.strip()
    Path(site_there, "dependencies.pth").write_text(site_here + "\n", encoding="utf-8")

    # A user's own files of these names beside the notebook are theirs, and ours are found.
    for name in ROOMS:
        (tmp_path / f"{name}.py").write_text("raise ImportError('a file of the user')\n")

    # Two points at -1 and +1: the widest margin is w = 1, b = 0, which costs 1/2.
    (tmp_path / "two.csv").write_text("x,y\n-1,-1\n1,1\n", encoding="utf-8")
    solving = ["solve", "c_svc", "--data", "two.csv", "--set", "C=10", "--json"]
    solved = run(environment / "bin" / "tightmargin", *solving, cwd=tmp_path)
    assert solved.returncode == 0, solved.stderr
    result = json.loads(solved.stdout)
    assert result["objective"] == pytest.approx(0.5, abs=1e-6)
    assert result["certificate"]["verdict"] == "CERTIFIED"


# --- who may prove, and who may say CERTIFIED: the kernel, and nobody else -----------------------

# What is proven of covers by boxes and cuts stands with the searches that need it.
KERNEL = {*(ROOT / "solvers" / "kernel").glob("*.py"), ROOT / "cuts" / "proofs.py"}
# The stand-alone checker imports nothing of ours: what it says, it says of a file it has checked.
REFEREE = ROOT / "solvers" / "proof_files" / "checker.py"
STATEMENTS = {"LowerBound", "FeasiblePoint", "Infeasible", "Unbounded", "Proof"}
EARNED = {"CERTIFIED", "WITHIN_TOLERANCE"}  # what a verdict is by proofs alone


def product_files() -> list[Path]:
    """Modules outside the kernel; the front door holds links to the rooms."""
    inside = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    return sorted(
        path
        for path in [*inside, *(ROOT / FRONT_DOOR).glob("*.py")]
        if path not in KERNEL and path != REFEREE
    )


def forgeries(tree: ast.Module) -> Iterator[str]:
    """Uses of the seal and of the constructors of statements, by whatever name they go."""
    names = {name: name for name in STATEMENTS}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "SEAL":
                    yield f"line {node.lineno}: it takes the seal"
                if alias.name in STATEMENTS and alias.asname:
                    names[alias.asname] = alias.name
        if isinstance(node, ast.Attribute) and node.attr == "SEAL":
            yield f"line {node.lineno}: it takes the seal"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else None
            called = node.func.id if isinstance(node.func, ast.Name) else called
            if called in names:
                yield f"line {node.lineno}: it makes a {names[called]}"


def unearned(tree: ast.Module) -> Iterator[str]:
    """Places where an earned verdict is a value and not something to compare with."""
    allowed: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                sides = [node.left, *node.comparators]
                # `in` has its choices in a tuple, set or list.
                choices = [
                    part
                    for side in sides
                    if isinstance(side, ast.Tuple | ast.Set | ast.List)
                    for part in side.elts
                ]
                allowed |= {id(part) for part in (*sides, *choices)}
            case ast.Dict():  # tables of colours and words, by verdict
                allowed |= {id(key) for key in node.keys}
    for node in ast.walk(tree):
        word = None
        if isinstance(node, ast.Attribute):
            word = node.attr
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = node.value
        if word in EARNED and id(node) not in allowed:
            assert isinstance(node, ast.expr)
            yield f"line {node.lineno}: it says {word}"


def test_nobody_but_the_kernel_proves_or_certifies() -> None:
    files = product_files()
    assert len(files) > 300
    found = {}
    for path in files:
        tree = tree_of(path)
        found[str(path.relative_to(ROOT))] = [*forgeries(tree), *unearned(tree)]
    assert {path: said for path, said in found.items() if said} == {}


PLANTED_PROOFS = (
    "from tightmargin.solvers.kernel.statement import SEAL",
    "import tightmargin.solvers.kernel.statement as s\nseal = s.SEAL",
    "bound = LowerBound(subject=1, words='', seal=object(), varying=0.0)",
    "from tightmargin.solvers.kernel.statement import FeasiblePoint as F\nF()",
)
PLANTED_VERDICTS = (
    "verdict = Verdict.CERTIFIED if proven else Verdict.NOT_CERTIFIED",
    "Certificate(Verdict.CERTIFIED)",
    "verdict = Verdict('CERTIFIED')",
    "record = {'verdict': 'CERTIFIED'}",
)
HONEST = (
    "if row.verdict is Verdict.CERTIFIED: pass",
    "done = verdict in (Verdict.CERTIFIED, Verdict.WITHIN_TOLERANCE)",
    "colours = {Verdict.CERTIFIED: 'green', 'WITHIN_TOLERANCE': 'yellow'}",
    "open_rows = [row for row in rows if str(row.verdict) != 'CERTIFIED']",
)


def test_planted_proofs_and_verdicts_are_found_and_comparisons_allowed() -> None:
    for planted in PLANTED_PROOFS:
        assert list(forgeries(ast.parse(planted))), planted
    for planted in PLANTED_VERDICTS:
        assert list(unearned(ast.parse(planted))), planted
    for honest in HONEST:
        tree = ast.parse(honest)
        assert not [*forgeries(tree), *unearned(tree)], honest
