"""Benchmarks at toy size: their routes solve the same problems, and their pages say the truth."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import cvxpy as cp
import highspy
import pytest

from benchmarks import (
    claim,
    conic_forms,
    conic_translation,
    cut_loop,
    fitted_estimators,
    nu_lp,
    nu_lp_memory,
    nu_lp_routes,
    zero_one,
)
from benchmarks.bks import __main__ as bks
from benchmarks.bks import counting, instances, rows, rungs
from benchmarks.bks import page as bks_page
from benchmarks.bks.page import disagreements, known
from benchmarks.bks.planes import objective_of
from benchmarks.bks.rows import CLOSED, Row, relative_gap
from benchmarks.bks.submissions import check_folder, parsed, recomputed, submitted
from benchmarks.classical_concave import PROBLEMS
from benchmarks.concave import INSTANCES
from benchmarks.measuring import quiet
from benchmarks.report import OURS, quoted
from benchmarks.results import __main__ as command
from benchmarks.results import outcomes, record
from benchmarks.results.outcomes import absent, fails, judged, reasons
from benchmarks.results.summary import index
from benchmarks.zero_one import PAGE, STORE, kept, missing
from benchmarks.zero_one_page import WAYS, page, quote, summary
from tests.inside.experiments import everything, printed
from tests.support.cbf_reader import read
from tests.support.covering import FULL
from tightmargin.solvers import Verdict

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _nothing_printed() -> Iterator[None]:
    with quiet():
        yield


def written(page: str) -> str:
    return (ROOT / "benchmarks" / page).read_text(encoding="utf-8")


# --- the routes of a benchmark lead to the same problem ------------------------------------------


def test_every_route_to_the_nu_lp_has_its_optimum() -> None:
    X, y, w_ref = nu_lp_routes.instance(40, 3)
    optima = {}
    for name, route in nu_lp_routes.ROUTES.items():
        found = route(X, y, w_ref)
        if isinstance(found, highspy.Highs):
            found.run()
            optima[name] = found.getInfo().objective_function_value
        else:
            optima[name] = found[0].solve(cp.HIGHS)
    assert len(optima) > 2
    assert list(optima.values()) == pytest.approx([optima[OURS]] * len(optima), abs=1e-8)


def test_every_form_of_the_sdp_and_every_route_to_it_has_its_optimum(tmp_path: Path) -> None:
    X, y = conic_translation.instance(15, 2)
    problem, _ = conic_translation.cvxpy(X, y)
    expected = pytest.approx(problem.solve(cp.SCS, eps=1e-9), rel=1e-6)
    for name, route in conic_forms.ROUTES.items():
        sign = -1 if name == conic_forms.DUAL else 1
        assert sign * route(X, y).objective == expected, name
    with conic_translation.fusion_model(X, y) as fusion:
        fusion.writeTask(str(tmp_path / "model.cbf"))
    assert read(tmp_path / "model.cbf").solved().objective == expected


def test_a_benchmark_runs() -> None:
    (one,) = nu_lp.measure(30, 2, 2)
    assert [line.route for line in one.lines] == [*nu_lp_routes.ROUTES]
    assert all(number > 0 for line in one.lines for number in line.numbers)
    assert one.title in one.markdown()


# --- tables and pages ----------------------------------------------------------------------------


def test_the_pages_hold_every_route_every_instance_and_every_data_set() -> None:
    found = quoted(written("RESULTS.md"))
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert quoted(guide) == found, "run make bench"
    for route in {**nu_lp.ASKED, **nu_lp_memory.ASKED, **cut_loop.ASKED}:
        assert route == OURS or f"| {route} |" in found, f"{route}: run make bench"
    _, classical = written("CONCAVE.md").split("Problems of Floudas & Pardalos")
    assert all(f"| {problem.optimum:g} |" in classical for problem in PROBLEMS)
    assert {i.dimension for i in INSTANCES} == {2, 3, 4, 5, 6, 7, 8, 10}
    fits = written("FITTED_ESTIMATORS.md")
    assert all(fits.count(f"| {name} |") == 2 for name in fitted_estimators.DATA)
    assert f"| {' | '.join(['data', 'n', 'd', *fitted_estimators.NAMES])} |" in fits


def test_kept_runs_contradict_nobody_and_the_page_and_the_guide_show_them(
    data_folder: Path,
) -> None:
    runs, table = kept(STORE, 0.0), zero_one.published(data_folder / "hard_margin_loss")
    assert not missing(runs, WAYS)
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert quote(text, summary(runs, table)) == text
    body = page(runs, table, claim.kept_or_measured()).rpartition("\n\n")[0]
    assert PAGE.read_text(encoding="utf-8").startswith(body), "all but the machine"
    for (instance, C, way), run in runs.items():
        assert run.lower_bound <= runs[instance, C, "numpy"].objective * (1 + 1e-9), way
        if (instance, C) in table:
            known = table[instance, C]
            assert run.lower_bound <= known.upper * (1 + 1e-7)
            assert run.objective >= known.lower * (1 - 1e-7)


# --- best known values: exact objectives, kept rows, submissions ----------------------------------

INSTRUCTIONS = (ROOT / "docs/benchmarks/bks.md").read_text(encoding="utf-8")
EXAMPLE = re.findall(r"```json\n(.*?)```", INSTRUCTIONS, re.DOTALL)[0]
ROW = Row(
    "n60d2ATj0", 1.0, 10.0, 9.0, "NOT_CERTIFIED", "conflicts", 20.1, 20.0, [1.0, 2.0], 0.5, None,
    [10.0, 10.0], "2026-01-01", {"tightmargin": "0"},
)  # fmt: skip


def test_kept_rows_are_on_the_page_worth_what_they_say_and_contradict_nobody() -> None:
    done, looked = rows.kept(rows.STORE), 0
    text = bks_page.page(done, submitted(), rungs.kept(), counting.kept())
    assert bks.PAGE.read_text(encoding="utf-8") == text
    assert len({row.key for row in done}) >= 75, "all published instances of two features"
    for k, row in enumerate(done):
        instance = instances.INSTANCES[row.instance]
        assert row.C in instance.prices
        assert 0 <= row.bound <= row.objective
        if row.verdict == Verdict.CERTIFIED:
            assert row.gap <= 1.001 * CLOSED
        if row.proof is not None:
            assert row.proof[0] <= row.objective
            assert relative_gap(row.proof[1], row.proof[0]) <= 1.001 * CLOSED
        if instance.missing or (k % 16 and not FULL):
            continue
        looked += 1
        value = objective_of(instance.data(), row.w, row.b, row.C)
        assert value == pytest.approx(row.objective, rel=1e-9)
    assert looked
    best = known(done)
    assert disagreements(best) == []
    for rung in rungs.kept():
        assert rung.bound is None or rung.bound <= best[rung.key].objective * (1 + 1e-9)
    assert all(0 <= count.bound <= count.errors <= count.n for count in counting.kept())
    assert len(disagreements(known([replace(ROW, bound=10.5)]))) == 2
    assert len(disagreements(known([replace(ROW, objective=9.5)]))) == 1


# --- submissions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instance": "clustered-n60d3"}, "clustered-n60d2"),
        ({"C": 3}, "C of clustered-n60d2 is one of 0.5, 5"),
        ({"w": [1.0, float("nan")]}, "w is not a list of finite numbers"),
        ({"w": [1.0]}, "w has 1 numbers"),
        ({"objective": 13.0}, "not 13.0 as is stated"),
        ({"licence": "none"}, "unknown fields: licence"),
    ],
)
def test_submissions_are_recomputed_and_bad_ones_refused_by_name(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    assert recomputed(parsed(EXAMPLE, "the example"), "the example") > 0
    (tmp_path / "good.json").write_text(EXAMPLE, encoding="utf-8")
    assert check_folder(tmp_path) == []
    bad = json.dumps(json.loads(EXAMPLE) | change)
    (tmp_path / "x.json").write_text(bad, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"^x\.json: .*{re.escape(said)}"):
        check_folder(tmp_path)


# --- full-size results of the papers: pages that follow from their records ------------------------

NAMES = [one.name for one in everything()]
RECORDS = record.kept()
# Where published.toml has the numbers of a reproduction that prints tables of them.
PRINTS = {
    "bi-vapnik-table2": ("bi_vapnik", "table2"),
    "bi-vapnik-table3-adult": ("bi_vapnik", "table3.adult"),
    "bi-vapnik-table3-wdbc": ("bi_vapnik", "table3.wdbc"),
    **{f"cepeda-gomez-han-table{k}": ("cepeda_gomez_han", f"table{k}") for k in (1, 2, 3, 4)},
    "perez-cruz-figure3": ("perez_cruz", "figure3"),
    "perez-cruz-table1": ("perez_cruz", "table1"),
    "perez-cruz-table3": ("perez_cruz", "table3 figure5"),
}


def test_pages_follow_from_records() -> None:
    assert set(RECORDS) | set(absent()) == set(NAMES), "a record or a reason"
    assert not set(RECORDS) & set(absent())
    pages = {"index.md": index(RECORDS, NAMES)}
    pages |= {f"{name}.md": command.text_of(one) for name, one in RECORDS.items()}
    found = {path.name: path.read_text(encoding="utf-8") for path in record.FOLDER.glob("*.md")}
    assert found == pages, "make results ARGS=--pages"


@pytest.mark.parametrize("name", sorted(set(PRINTS) & set(RECORDS)))
def test_a_finished_record_has_every_number_of_the_print_once(name: str) -> None:
    run = RECORDS[name]
    if not run.finished:
        assert list(judged(run)) == []
        return
    paper, places = PRINTS[name]
    parts = [reduce(getitem, place.split("."), printed(paper)) for place in places.split()]
    texts = [text for part in parts for text in leaves(part)]
    words = [word for text in texts for word in text.split("/") if word != "-"]
    assert Counter(one.cell.printed for one in judged(run)) == Counter(words)


def leaves(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
        return
    for branch in tree.values():
        yield from leaves(branch)


def test_what_differs_or_does_not_hold_has_a_stated_reason_and_every_reason_a_number() -> None:
    for name, one in RECORDS.items():
        used = {id(found.reason) for found in judged(one)}
        assert id(outcomes.UNSTATED) not in used, name
        if one.finished:
            idle = [each.text for each in reasons(name) if id(each) not in used]
            assert idle == [], name
    assert set(outcomes._file()) - {"repeated", "once", "absent", "failing"} <= set(NAMES)
    found = {name for name, one in RECORDS.items() if one.finished and fails(one)}
    assert found == outcomes.failing().keys() & RECORDS.keys()
