"""Row 26: SCIP's incumbent may lie below the optimum, and so may its bound; ours never does.

The instance is kept in instances/superoptimal.json: (w, b) = (1, 1, -2) keeps every point and
costs 6, and brute force finds nothing that costs less.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import tightmargin as tm
from tests.faults.instances import instance
from tests.inside.solvers import SOLVERS
from tests.references.brute_force import zero_one_optima
from tightmargin.solvers import Verdict

KEPT = instance("superoptimal")
DATA = tm.TrainingData(KEPT["X"], KEPT["y"])
OPTIMUM = KEPT["optimum"]
NEGATIVE_GAP = 1e-7  # of the raw numbers, more than rounding can do


def model() -> object:
    return tm.zero_one_big_m(DATA, penalty=KEPT["penalty"], big_m="derived")


def test_row_26_the_optimum_is_what_brute_force_says() -> None:
    best = zero_one_optima(DATA, [KEPT["penalty"]], KEPT["intercept"])[0]
    assert best == pytest.approx(OPTIMUM, rel=1e-8)
    exact = [[Fraction(a) for a in row] for row in DATA.X.tolist()]
    kept = KEPT["hyperplane"]
    w, b = [Fraction(a) for a in kept["w"]], Fraction(kept["b"])
    margins = [
        int(y) * (sum(a * v for a, v in zip(row, w, strict=True)) + b)
        for row, y in zip(exact, DATA.y.tolist(), strict=True)
    ]
    assert min(margins) == 1
    assert sum(v * v for v in w) + b * b == OPTIMUM


@pytest.mark.parametrize(("solver", "big_m"), [("scip", 1000.0), ("gurobi", "derived")])
def test_row_26_the_objective_is_that_of_a_point_that_is_feasible(
    solver: str, big_m: object
) -> None:
    """The hyperplane is stretched until kept points are kept, and the violations are counted."""
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    result = tm.solve(tm.zero_one_big_m(DATA, penalty=KEPT["penalty"], big_m=big_m), solver)
    w, b = result.values["w"], float(result.values["b"])
    assert (DATA.y * (DATA.X @ w + b)).min() >= 1.0
    assert result.objective == pytest.approx(float(w @ w) + b * b, rel=1e-15)
    assert result.objective >= OPTIMUM * (1 - 1e-15)
    assert result.objective == pytest.approx(OPTIMUM, rel=1e-6)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.bound <= OPTIMUM * (1 + 1e-12)
    assert result.absolute_gap >= -1e-12


def test_row_26_a_negative_gap_is_a_flag_and_no_number() -> None:
    """Put the raw number, and a worse one, in the place of the best point known."""
    whole = tm.solve(model())
    for upper, flagged in ((OPTIMUM - NEGATIVE_GAP, False), (OPTIMUM - 1e-2, True)):
        exact = replace(whole, objective=upper)
        tight = [("zero_one_big_m", {"big_m": "derived"})]
        table = tm.compare(
            DATA, tight, exact=exact, parameters={"penalty": KEPT["penalty"], "big_m": "derived"},
            solver="scip",  # whose bound the enumeration closes to the last digits
        )  # fmt: skip
        (row,) = table.rows
        gap = table.absolute_gap(row)
        assert (gap is None) == flagged
        assert gap is None or gap == 0.0, "within the tolerance it is no gap, and not negative"
        assert bool(table.violations()) == flagged
        column = table.to_frame()["absolute gap"]
        assert not (column.astype(float) < -1e-9).any()
        assert np.isnan(column.astype(float).iloc[0]) == flagged
