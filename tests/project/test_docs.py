"""The documentation site builds without warnings, and what it says of the code is so."""

from __future__ import annotations

import ast
import dataclasses
import functools
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from pydoc import locate
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from docs.generate.api import NAMESPACES, TASKS, public_names, task_names
from docs.generate.entries import NAMES, _program, paper_section
from docs.generate.expand import expanded
from docs.generate.families import by_family
from docs.generate.items import items, numbered, section
from tests.cases import CASES, OF_CLASSES, PENALTY, modes
from tests.inside import formulations as inner
from tests.inside.formulations import STRENGTHENED_ROOM as ROOM
from tests.support.formula_values import Values, bounds_of, slack_bound_names
from tightmargin.formulations import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]
of_the_site = pytest.mark.full("builds the documentation, which `make docs` does as well")


class Page:
    """Links, targets and what is loaded of a built page."""

    def __init__(self, text: str) -> None:
        self.links = [unescape(link) for link in re.findall(r'<a\b[^>]*?\bhref="([^"]+)"', text)]
        self.targets = set(re.findall(r'\b(?:id|name)="([^"]*)"', text))
        self.loaded = re.findall(r'<(?:script|img|link)\b[^>]*?\b(?:src|href)="([^"]+)"', text)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site: every warning, and every reference to nothing, is an error."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-E", "-W", "-n", "-q", "-b", "html", "docs"]
    built = subprocess.run(
        [*command, str(target)], cwd=ROOT, env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (built.returncode, built.stderr) == (0, "")
    return target


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    found = {
        path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if "_static" not in path.parts
    }
    assert len(found) > 30
    return found


@of_the_site
@pytest.mark.timeout(900)
def test_every_link_leads_somewhere_and_no_page_needs_the_network_or_this_machine(
    site: Path, pages: dict[str, Page]
) -> None:
    broken, checked = [], 0
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path, fragment = unquote(parts.path), unquote(parts.fragment)
            to = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            checked += 1
            lost = fragment and to in pages and fragment not in pages[to].targets
            if not (site / to).is_file() or lost:
                broken.append(f"{name} -> {path}#{fragment}")
        remote = [link for link in page.loaded if urlsplit(link).scheme in ("http", "https")]
        assert remote == [], name
    assert checked > 1000
    assert broken == []
    for path in [*site.rglob("*.html"), *site.glob("*.js")]:
        if "_static" not in path.parts:
            text = path.read_text(encoding="utf-8")
            assert str(ROOT) not in text, path.name
            assert str(Path.home()) + "/" not in text, path.name


def test_every_public_name_and_every_entry_belongs_to_one_task_or_family() -> None:
    named = {name: place for key in TASKS for name in task_names(TASKS[key]) for place in [key]}
    named |= dict.fromkeys(tm.catalogue, "build")
    assert set(named) == set(public_names()), "a new name belongs to a task"
    assert {place for place in NAMESPACES if place} <= set(tm.__all__)
    grouped = [entry.name for group in by_family().values() for entry in group]
    assert sorted(grouped) == sorted(tm.catalogue)
    page = (ROOT / "docs" / "formulations.md").read_text(encoding="utf-8")
    modules = {entry.build.__module__.split(".", 2)[2] for entry in CATALOGUE.values()}
    assert all(f"`{module.replace('.', '/')}.py`" in page for module in modules)


# --- what the pages are made of ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1/2*norm2(w)", r"\tfrac{1}{2}\,\lVert w\rVert^2"),
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("(a + b)**2", r"\left(a + b\right)^{2}"),
        ("p[i]**2 <= T[i]*z[i]", r"p_{i}^{2} \le T_{i}\,z_{i}"),
        ("sum(i, xi[i], y[i] == 1)", r"\sum_{i\,:\,y_{i} = 1} \xi_{i}"),
        ("(a*sum(i, x[i]))*b", r"\left(a\,\sum_{i} x_{i}\right)\,b"),
        ("-nu*rho + c", r"-\nu\,\rho + c"),
        ("sum(i, c[i])/(1 - d)", r"\frac{\sum_{i} c_{i}}{1 - d}"),
        ("psd([[W, v], [t(v), 1]])", r"\begin{pmatrix} W & v\\ v^\top & 1\end{pmatrix} \succeq 0"),
    ],
)
def test_an_expression_keeps_its_meaning_in_latex(text: str, shown: str) -> None:
    assert inner.latex(text) == shown


def test_what_cannot_be_read_is_refused() -> None:
    table = {"source": "", "note": "", "rows": ["margin y >= 1"]}
    with pytest.raises(ValueError, match="not a row"):
        inner.parsed("c_svc", "here", table)
    with pytest.raises(ValueError, match="unknown mode"):
        inner.parsed("c_svc", "here", table | {"rows": ["margin (sometimes): y >= 1"]})
    for text in ("f(x)", "a @ b", "a if b else c", "x.y"):
        with pytest.raises(ValueError, match="no word for"):
            inner.latex(text)
    with pytest.raises(ValueError, match="no generator"):
        expanded("<!-- generated: nothing -->")
    with pytest.raises(KeyError, match="no formulations"):
        paper_section("nobody")


def test_a_formula_without_remarks_has_no_column_for_them() -> None:
    for formula in inner.formulas().values():
        head, _, *rows = _program(formula).splitlines()
        wide = head == "| | | |"
        assert {row.count(" | ") for row in rows} == {2 if wide else 1}


# --- the formulas on the pages of the papers are those of the built models ------------------------

FORMULAS = inner.formulas()
# Shown but not evaluated: a disjunction has no slack, and matrices of several classes have a row of
# their own for each class.
SHOWN_ONLY = {"zero_one_disjunctive", "conic_sdp_rank_one",
              "ramp_l1_big_m", "ramp_l1_relaxed", "zero_one_disjunctive_relaxed",
              "multiclass_matrix_projection", "multiclass_matrix_nuclear"}  # fmt: skip
WEIGHTS, CLASS_WEIGHTS = (2.5, 0.75), (0.5, 2.0, 1.25)


def decided_bounds(data: Any, mode: str) -> Any:
    """Bounds under which some points are decided, as w = 0 with the best constant label allows."""
    bounds = inner.closed_slack_bounds(data, penalty=PENALTY, intercept=mode)
    lower, upper = bounds.lower.copy(), bounds.upper.copy()
    if mode == "none":  # there w = 0 violates every point, by 1
        lower[0] = 0.25
    else:
        label = 1.0 if data.n_pos >= data.n_neg else -1.0
        lower[np.flatnonzero(data.y != label)[0]] = 0.25
        upper[np.flatnonzero(data.y == label)[0]] = 0.0
    return dataclasses.replace(bounds, lower=lower, upper=upper, conflicts=((2, 3), (1, 4, 5)))


@functools.cache
def model_of(name: str, mode: str) -> tuple[Any, dict[str, Any]]:
    """A small model of the entry with unequal weights where it has any, and further names."""
    case = CASES[name]
    extra: dict[str, Any] = {}
    y = case.data.y
    more: dict[str, Any] = {}
    if name in OF_CLASSES:
        more["class_weight"] = CLASS_WEIGHTS[: case.data.n_classes]
        extra["c"] = np.array(more["class_weight"])
    elif "class_weight" in case.entry.parameters:
        more["class_weight"] = WEIGHTS
        extra["s"] = np.where(y > 0, WEIGHTS[1], WEIGHTS[0])
    if "class_balance" in case.entry.parameters:
        more["class_balance"] = "balanced"
        extra["c"] = np.where(y > 0, 0.5 / (y > 0).sum(), 0.5 / (y < 0).sum())
    if name == "conic_sdp_strengthened":
        bounds = decided_bounds(case.data, mode)
        more |= {"slack_bounds": bounds, "conflicts": "none"}
        stated = inner.stated_bounds(case.data, bounds, None, "none", PENALTY, mode)
        extra |= slack_bound_names(stated, ROOM)
    parameters = case.words_of(mode, **more)
    model = case.entry.build(case.data, **parameters)
    if name == "extended_robust_svc":
        offset = inner.offset_limit(case.data, **case.words) if mode == "free" else 0.0
        columns = [case.data.X, *([np.ones((case.data.n, 1))] if mode == "penalised" else [])]
        sizes = np.linalg.norm(np.hstack(columns), axis=1) + offset
        extra["big_m"] = sizes + sizes.max()
    if name == "conic_fixed":
        extra["gamma"] = parameters["strengthening"]
    rng = np.random.default_rng(7)
    for variable in model.component_data_objects(pyo.Var):
        variable.set_value(float(rng.normal()) + 0.1, skip_validation=True)
    return model, extra


def differences(formula: inner.Formula, mode: str) -> list[str]:
    """Where the formula and the model of its entry disagree, in words."""
    model, extra = model_of(formula.name, mode)
    values = Values(formula, model, extra)
    found = []
    free = mode == "free" and formula.minimise_free
    if (objective := values.of(formula.minimise_free if free else formula.minimise)) != (
        pytest.approx(pyo.value(model.objective), rel=1e-9, abs=1e-9)
    ):
        found.append(f"objective {objective} is {pyo.value(model.objective)}")
    rows = {row.name: row for row in formula.rows if mode in row.modes}
    components = {
        each.local_name: each
        for each in model.component_objects(pyo.Constraint, active=True)
        if len(each)
    }
    if set(rows) != set(components):
        found.append(f"rows {sorted(rows)} are {sorted(components)}")
    for name in set(rows) & set(components):
        for key, row in components[name].items():
            keys = key if isinstance(key, tuple) else (key,)
            at = dict(zip(rows[name].indices, keys if rows[name].indices else (), strict=True))
            given, ours = values.of(rows[name].text, **at), _slacks(row)
            given, ours = sorted(given), sorted(ours)
            same = len(given) == len(ours) and all(
                _same(a, b) for a, b in zip(given, ours, strict=True)
            )
            if not same:
                found.append(f"{name}[{key}] {given} is {ours}")
                break
    return found + _bound_differences(formula, values, model)


def _slacks(row: Any) -> list[tuple[str, float]]:
    body = pyo.value(row.body)
    if row.equality:
        return [("==", body - pyo.value(row.upper))]
    sides = []
    if row.lower is not None:
        sides.append((">=", body - pyo.value(row.lower)))
    if row.upper is not None:
        sides.append((">=", pyo.value(row.upper) - body))
    return sides


def _same(given: tuple[str, float], ours: tuple[str, float]) -> bool:
    """Equal slacks; an equation may be written with its sides exchanged."""
    signs = (1, -1) if given[0] == "==" else (1,)
    return given[0] == ours[0] and any(
        sign * given[1] == pytest.approx(ours[1], rel=1e-9, abs=1e-9) for sign in signs
    )


def _bound_differences(formula: inner.Formula, values: Values, model: Any) -> list[str]:
    domain = {bounds_of(text)[0]: bounds_of(text)[1:] for text in formula.domain}
    found = []
    for variable in model.component_objects(pyo.Var, descend_into=False):
        if variable.local_name in formula.boxed:
            continue
        lower, upper, binary = domain.get(variable.local_name, (None, None, False))
        for key, entry in variable.items():
            at = {"i": key}
            stated = [None if side is None else values.of(side, **at) for side in (lower, upper)]
            ours = [entry.lb, entry.ub]
            same = all(
                (a is None) == (b is None) and (a is None or a == pytest.approx(b))
                for a, b in zip(stated, ours, strict=True)
            )
            if not same or binary != entry.is_binary():
                found.append(f"{variable.local_name}[{key}]: {stated}, {binary} is {ours}")
                break
    return found


@pytest.mark.parametrize(
    ("name", "mode"),
    [(name, mode) for name in sorted(set(FORMULAS) - SHOWN_ONLY) for mode in modes(name)],
)
def test_a_formula_has_the_value_the_rows_and_the_bounds_of_its_model(name: str, mode: str) -> None:
    """At random points: objective, slack of every row, bounds of every variable."""
    assert FORMULAS[name].source == CATALOGUE[name].source
    assert differences(FORMULAS[name], mode) == []


# --- the numbered items of each paper: all of them, and what they name exists ---------------------

# Equations, statements, algorithms, tables and figures, counted in the printed papers.
COUNTS = {
    "takeda_sugiyama": 13 + 12 + 3,
    "perez_cruz": 40 + 3 + 3 + 5,
    "bi_vapnik": 21 + 9 + 3 + 1,
    "cepeda_gomez_han": 25 + 5 + 4 + 2,
    "lee": 11 + 5 + 4 + 2 + 8 + 2 + 1,
}


@pytest.mark.parametrize("paper", NAMES)
def test_every_number_stands_in_the_list_once(paper: str) -> None:
    listed = [each for item in items(paper) for each in item.single]
    assert sorted(listed) == sorted(numbered(paper))
    assert len(set(listed)) == len(listed) == COUNTS[paper]
    page = (ROOT / "docs" / "papers" / f"{paper}.md").read_text(encoding="utf-8")
    assert f"<!-- generated: items {paper} -->" in page
    assert section(paper).count("\n| ") == len(items(paper)) + 1


@functools.cache
def functions(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def resolved(name: str) -> Any:
    return locate(name.replace("tm.", "tightmargin.", 1) if name.startswith("tm.") else name)


@pytest.mark.parametrize("paper", NAMES)
def test_what_an_item_names_is_there_or_a_reason_is(paper: str) -> None:
    for item in items(paper):
        assert item.says
        if item.reason:
            assert not item.test
            continue
        for name in item.here:
            assert name == "tightmargin reproduce" or name in CATALOGUE or callable(resolved(name))
        assert item.here
        file, _, function = item.test.partition("::")
        assert function in functions(file), item.test


def test_a_builder_of_a_numbered_equation_is_in_a_list() -> None:
    """Unless no number of a paper is its own, as with relaxations and duals that are ours."""
    listed = {each for paper in NAMES for item in items(paper) for each in item.here}
    for name, entry in CATALOGUE.items():
        own = [paper for paper, words in NAMES.items() if entry.source.startswith(words)]
        has_number = any(f"{NAMES[paper]}, (" in entry.source for paper in own)
        assert name in listed or not has_number, entry.source
