"""The table of best known values: exact objectives, kept rows, submissions."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bks import __main__ as table
from benchmarks.bks import counting, rungs
from benchmarks.bks.instances import INSTANCES
from benchmarks.bks.page import disagreements, known, page
from benchmarks.bks.planes import objective_of
from benchmarks.bks.rows import CLOSED, STORE, Row, kept, relative_gap
from benchmarks.bks.submissions import check_folder, parsed, recomputed, submitted
from tests.support.covering import FULL
from tightmargin.solvers import Verdict

ROOT = Path(__file__).parents[2]
INSTRUCTIONS = (ROOT / "docs/benchmarks/bks.md").read_text(encoding="utf-8")
EXAMPLE = re.findall(r"```json\n(.*?)```", INSTRUCTIONS, re.DOTALL)[0]
ROW = Row(
    "n60d2ATj0", 1.0, 10.0, 9.0, "NOT_CERTIFIED", "conflicts", 20.1, 20.0, [1.0, 2.0], 0.5, None,
    [10.0, 10.0], "2026-01-01", {"tightmargin": "0"},
)  # fmt: skip


def test_kept_rows_are_on_the_page_worth_what_they_say_and_contradict_nobody() -> None:
    done, looked = kept(STORE), 0
    text = page(done, submitted(), rungs.kept(), counting.kept())
    assert table.PAGE.read_text(encoding="utf-8") == text
    assert len({row.key for row in done}) >= 75, "all published instances of two features"
    for k, row in enumerate(done):
        instance = INSTANCES[row.instance]
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
