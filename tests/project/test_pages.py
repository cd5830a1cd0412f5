"""What pages and docstrings show: their programs run and print what is shown."""

from __future__ import annotations

import contextlib
import dataclasses
import doctest
import inspect
import io
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import tightmargin as tm
from docs.generate.api import public_names
from tests.inside import experiments as inner
from tests.inside.formulations import documented
from tests.support.command_line import run
from tests.support.long_runs import finish, start

ROOT = Path(__file__).parents[2]
README, GUIDE, CERTIFICATES, TUTORIAL, CUTS, FIRST_HOUR = (
    (ROOT / page).read_text(encoding="utf-8")
    for page in ("README.md", "docs/guide.md", "docs/certificates.md", "docs/tutorial.md",
                 "docs/cuts.md", "docs/first_hour.md")
)  # fmt: skip


def programs(text: str) -> list[tuple[str, str]]:
    """Blocks of code with the output that stands below each."""
    return re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, flags=re.S)


def printed_by(code: str, space: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "a page", "exec"), space)
    return out.getvalue()


def agree(shown: str, printed: str) -> bool:
    """Words and signs: seconds and last digits are another machine's, and "..." is anything."""
    want, got = (re.sub(r"\d[\d.]*(e-?\d+)?", "#", text) for text in (shown, printed))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(want, got, flags)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files are written to a folder of the test; the catalogue stays as it is."""
    monkeypatch.chdir(tmp_path)
    known = dict(tm.catalogue)
    yield
    tm.catalogue.clear()
    tm.catalogue.update(known)


# --- tutorial, cuts and the first hour ------------------------------------------------------------


def test_the_tutorial_runs_and_prints_what_it_shows() -> None:
    blocks, space = programs(TUTORIAL), dict[str, Any]()
    assert len(blocks) == 11
    for code, shown in blocks:
        assert agree(shown, printed_by(code, space)), code
    result, edited, excluded = (space[name] for name in ("result", "edited", "excluded"))
    for found, level in ((result, "paper"), (edited, "model")):
        assert found.certificate.verdict.value == "CERTIFIED"
        assert found.certificate.level == level
    assert edited.objective > result.objective * (1 + 1e-6), "the row that was added matters"
    assert excluded.certificate.verdict.value == "CERTIFIED"
    assert excluded.certificate.unproven == ""
    assert excluded.objective >= 36 + 1, "w_0 >= 6 alone costs 36, and a point is given up"
    assert "auto left it to a method" in excluded.message
    assert excluded.certificate.facts["engine"] == "cone-search"
    own, conic, exact = space["mine"].to_frame()["value"]
    assert 0 < own < conic < exact


def test_the_program_of_the_page_on_cuts_prints_what_it_shows() -> None:
    ((code, shown),) = (block for block in programs(CUTS) if block[1])
    assert agree(shown, printed_by(code, {}))


# What another run or machine prints differently: seconds, versions, the course of a search.
PASSING = (
    (r"^  solver .*$", "  solver"),
    (r"\d+ leaves", "# leaves"),
    (r"\S+(?=  CERTIFIED$)", "#"),
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def alike(printed: str, shown: str) -> bool:
    """Whether two outputs have the same words and, up to a thousandth, the same numbers."""
    for pattern, word in PASSING:
        printed, shown = (
            re.sub(pattern, word, text, flags=re.MULTILINE) for text in (printed, shown)
        )
    if NUMBER.sub("#", printed).split() != NUMBER.sub("#", shown).split():
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=1e-3, abs_tol=1e-3) for a, b in pairs)


def test_the_first_hour_prints_what_is_shown() -> None:
    """All sections, one after another in one name space, as a reader runs them."""
    first, *sections = re.split(r"^## \d+\. ", FIRST_HOUR, flags=re.MULTILINE)
    space: dict[str, Any] = {}
    assert len(sections) == 10
    for number, text in enumerate([first, *sections]):
        ((code, shown),) = programs(text)
        said = printed_by(code, space)
        if shown.startswith("...\n"):  # the beginning is left out
            shown = shown.removeprefix("...\n")
            said = "\n".join(said.rstrip().splitlines()[-len(shown.splitlines()) :])
        assert shown or not number, "its output is on the page"
        assert not number or alike(said, shown), f"section {number} prints\n{said}"


# --- README, guide and certificates ---------------------------------------------------------------


def test_the_python_lines_of_the_readme_run() -> None:
    space: dict[str, Any] = {}
    printed_by(programs(README)[0][0], space)
    assert space["result"].certificate.verdict.value == "CERTIFIED"
    assert space["result"].bound == pytest.approx(space["result"].objective, rel=1e-5)


def test_the_wrong_optimum_it_shows_is_claimed_by_solvers_and_caught_here() -> None:
    """The table against what the command prints, and the truth by a search of our own."""
    section = CERTIFICATES.partition("## A real case")[2].partition("\n## ")[0]
    command = section.partition("```\n")[2].partition("```")[0].replace("\\\n", " ").split()
    answer = run(*command[1:], "--json")
    assert answer.code == 1, "some rows are not certified"
    rows = [row for row in answer.json["rows"] if row["status"] != "refused"]
    small = [row for row in rows if row["parameters"]["big_m"] == 1.5]
    derived = [row for row in rows if row["parameters"]["big_m"] == "derived"]
    assert "scip" in {row["solver"] for row in small}
    assert {row["solver"] for row in small} == {row["solver"] for row in derived}
    for row in small:
        assert f"optimal, {row['objective']:.8g} |" in section
        assert row["certificate"].startswith("NOT_CERTIFIED (upper bound only: M[14] = 1.5 is ")
        assert row["certificate"].partition("upper bound only: ")[2].rstrip(")") in section
    for row in derived:
        assert row["certificate"] == "CERTIFIED"
        assert f"{row['objective']:.9g}" in section
    # Whoever does not trust the enumeration can see that a point beats the "optimum".
    spec = command[command.index("--data") + 1]
    data = inner.prepare(inner.load(spec), {"normalise": "zscore"}).data
    found = tm.solve(tm.zero_one_big_m(data, penalty=1.0, big_m="derived"), "scip").values
    margins = data.y * (data.X @ found["w"] + found["b"])
    value = found["w"] @ found["w"] + found["b"] ** 2 + np.count_nonzero(margins < 1 - 1e-6)
    assert value == pytest.approx(derived[0]["objective"], rel=1e-6)
    assert value < 0.7 * small[0]["objective"]


def test_machines_of_equal_capacity_are_one_hyperplane() -> None:
    code = programs(GUIDE.partition("## Capacity set by hand")[2])[0][0]
    data = inner.outlier_data("clustered", n=30, d=2, sigma=0.3, seed=0)
    space = {"tm": tm, "data": data}
    printed_by(code, space)
    w = tm.solve(tm.c_svc(data, C=space["same"].C)).values["w"]
    assert w == pytest.approx(space["row"].point.w, rel=1e-5)
    assert [row.point.norm_bound for row in space["path"].rows] == [0.5, 1.0, 2.0]


def test_papers_on_tap_and_notebooks_are_those_that_there_are() -> None:
    section = GUIDE.partition("## Papers on tap")[2].partition("\n## ")[0]
    papers = re.findall(r"^\| `([a-z-]+)` \|", section, flags=re.MULTILINE)
    names = [one.name for one in inner.everything()]
    assert all(any(name.startswith(f"{paper}-") for paper in papers) for name in names)
    assert all(any(name.startswith(f"{paper}-") for name in names) for paper in papers)
    assert f"the list: {len(names)} tables and figures" in section
    listed = re.findall(r"\]\(notebooks/([^)]+\.ipynb)\)", README)
    assert sorted(listed) == sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))


# --- the recipes of CONTRIBUTING.md ---------------------------------------------------------------

SOLVER = """
import numpy as np
from scipy.optimize import linprog
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import Claim, SolverInfo, Status, register_solver


def run(form, classification, limits):
    A, low, high = form.A.toarray(), form.row_lower, form.row_upper
    rows = np.vstack([A[np.isfinite(high)], -A[np.isfinite(low)]])
    sides = np.r_[high[np.isfinite(high)], -low[np.isfinite(low)]]
    found = linprog(form.objective.a, rows, sides, bounds=np.column_stack([form.lower, form.upper]))
    status = Status.OPTIMAL if found.status == 0 else Status.ERROR
    return Claim(status, found.x, message=found.message)


register_solver(
    SolverInfo("linprog", "scipy", "scipy", frozenset({ProblemClass.LP}), (0.0, np.inf),
               "BSD, free", 1e-6, "HiGHS behind it"), run)
import tightmargin as tm
data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.3, seed=1)
model = tm.rsvm_relaxed(data)
ours, theirs = tm.solve(model), tm.solve(model, "linprog")
assert theirs.solver == "linprog"
assert theirs.certificate.verdict.value == "CERTIFIED", theirs.certificate.reason
assert abs(ours.objective - theirs.objective) <= 1e-7
try:
    tm.solve(tm.c_svc(data, C=1.0), "linprog")
except tm.errors.ProblemClassError as refusal:
    assert "linprog cannot take QP" in str(refusal)
else:
    raise AssertionError("a QP went to linprog")
"""
METHOD = """
import numpy as np
from tightmargin.solvers import Finding, Method, Status, register_method


def run(origin, limits):
    X, y = origin.data.X, origin.data.y
    apart, middle = X[y > 0].mean(0) - X[y < 0].mean(0), (X[y > 0].mean(0) + X[y < 0].mean(0)) / 2
    w = 2 * apart / (apart @ apart)
    b = -w @ middle
    xi = np.maximum(0, 1 - y * (X @ w + b))
    return Finding({"w": w, "b": np.asarray(b), "xi": xi}, Status.FEASIBLE, "means")


register_method(Method("means", ("c_svc",), run, "the machine between the means"))
import tightmargin as tm
data = tm.TrainingData([[0.0], [2.0]], [-1, 1])
found = tm.solve(tm.c_svc(data, C=10.0), method="means")
assert found.solver == "tightmargin" and found.certificate.facts["engine"] == "means"
assert found.certificate.verdict.value == "CERTIFIED"  # here the means are the support vectors
wide = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.3, seed=1)
open_ = tm.solve(tm.c_svc(wide, C=10.0), method="means")
best = tm.solve(tm.c_svc(wide, C=10.0))
assert open_.certificate.verdict.value == "NOT_CERTIFIED"
assert open_.bound <= best.objective + 1e-6 <= open_.objective
"""


@pytest.mark.parametrize("program", [SOLVER, METHOD], ids=["solver", "method"])
def test_a_recipe_works_in_a_folder_of_its_own(program: str, tmp_path: Path) -> None:
    """scipy's linprog as a solver, and the mean of the two classes as a method of c_svc."""
    code, _, stderr = finish(start(script=program, cwd=tmp_path))
    assert code == 0, stderr


# --- the lines that notebooks ask their readers to change -----------------------------------------

# Notebook, cells to run, a line and what a reader may write there, and what has to be printed.
CHANGES = [
    ("02_rigorous_svm_and_equivalences", "01 14 17 18",
     "for share in (1.0, 0.85, 0.7):", "for share in (0.75, 2.0):",
     r"cap 0.75 H: .*\ncap 2.00 H: optimum 115.615"),
    ("03_robust_svm_and_ladder", "01 08 16 18",
     "mine = np.exp(-distance)", "mine = np.ones(data.n)",
     r"all equal +(bound .*)\nmine +\1\n"),
]  # fmt: skip


@pytest.mark.slow("the cells of a notebook up to the change, and those after it")
@pytest.mark.parametrize(("notebook", "numbers", "line", "other", "printed"), CHANGES)
def test_a_line_to_change_may_be_changed(
    notebook: str, numbers: str, line: str, other: str, printed: str
) -> None:
    document = json.loads((ROOT / "notebooks" / f"{notebook}.ipynb").read_text(encoding="utf-8"))
    cells = {c["id"][-2:]: "".join(c["source"]) for c in document["cells"]}
    code = "\n".join(cells[number] for number in numbers.split())
    assert code.count(line) == 1
    with matplotlib.rc_context({"backend": "agg"}):
        said = printed_by(code.replace(line, other), {})
        plt.close("all")
    assert re.search(printed, said)


# --- docstrings: every parameter is documented, every example prints what it says -----------------

NAMES = public_names()
DIGITS = re.compile(r"(?<![\w.])[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?![\w.]*\w)")


class Checker(doctest.OutputChecker):
    """Whole numbers are equal; others agree to the digits that the docstring prints."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        numbers = list(zip(DIGITS.findall(want), DIGITS.findall(got), strict=False))
        return (
            len(numbers) == len(DIGITS.findall(want)) == len(DIGITS.findall(got))
            and all(same(*pair) for pair in numbers)
            and super().check_output(DIGITS.sub("#", want), DIGITS.sub("#", got), optionflags)
        )


def same(want: str, got: str) -> bool:
    mantissa, _, power = want.partition("e")
    if "." not in mantissa and not power:
        return want == got
    room = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    return abs(float(want) - float(got)) <= 1.000001 * room


def parameters_of(thing: Any) -> list[str]:
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return []
    if dataclasses.is_dataclass(thing):
        return [field.name for field in dataclasses.fields(thing) if field.name[0] != "_"]
    return list(inspect.signature(thing).parameters)


def described(thing: Any) -> set[str]:
    """A dataclass says what its fields are under Attributes."""
    text = (inspect.getdoc(thing) or "").replace("Attributes\n----------", "Parameters\n----------")
    return documented(text)


def failures(name: str, text: str) -> tuple[int, str]:
    """Examples that a text has, and what is wrong with them."""
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    report = io.StringIO()
    runner = doctest.DocTestRunner(
        Checker(), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    runner.run(example, out=report.write)
    return len(example.examples), report.getvalue()


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_parameter_is_documented_and_every_example_prints_what_it_says(name: str) -> None:
    assert set(parameters_of(NAMES[name])) - described(NAMES[name]) == set()
    with contextlib.redirect_stderr(io.StringIO()):
        count, report = failures(name, inspect.getdoc(NAMES[name]) or "")
    assert count > 0, "no example"
    assert report == ""
