"""Row 7: nu outside its range is refused with the range; inside it, the side is named.

tests/formulations/nu/test_extended.py and tests/project/test_equivalences.py prove the ends against
other solvers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.formulations import loss_weights, slack_prices
from tests.references.reference_solutions import points

DATA = points("unbalanced", 0, n=12)  # 4 positive, 8 negative
LARGEST = 2 * 4 / 12
BY_NU: list[Callable[..., pyo.ConcreteModel]] = [
    tm.nu_svc, tm.nu_svc_dual, tm.extended_nu_svc, tm.extended_nu_svc_ball,
    tm.extended_nu_svc_reverse, tm.extended_nu_svc_polar,
]  # fmt: skip


@pytest.mark.parametrize("build", BY_NU)
def test_row_07_outside_its_range_the_sentence_says_where_nu_is_and_why(
    build: Callable[..., pyo.ConcreteModel],
) -> None:
    above = LARGEST * 1.001
    with pytest.raises(ValueError, match=r"nu must lie in \(0, 0.666667\]") as refusal:
        build(DATA, nu=above)
    for words in ("nu_max = 2 min(n_pos, n_neg) / n", "4 positive and 8 negative", "infeasible"):
        assert words in str(refusal.value)
    with pytest.raises(ValueError, match="nu must be a positive finite number"):
        build(DATA, nu=0.0)
    set_later = build(DATA, nu=0.3)
    set_later.nu.set_value(above)
    with pytest.raises(ValueError, match="nu_max"):
        tm.solve(set_later)
    if build in (tm.extended_nu_svc_reverse, tm.extended_nu_svc_polar):  # unbounded above nu_bar
        set_later.nu.set_value(tm.theory.nu_range(DATA).nu_bar * 1.05)
        words = r"is above nu_bar \(nu_bar = .*nu_max = .*take extended_nu_svc_ball"
        with pytest.raises(ValueError, match=words):
            tm.solve(set_later)


@pytest.mark.parametrize("beta", [0.3, 1.0, True])
def test_row_07_beta_has_the_same_range_turned_round(beta: Any) -> None:
    with pytest.raises(ValueError, match=r"beta must be a number in \[1 - nu_max, 1\) = \[0.3333"):
        tm.min_cvar(DATA, beta=beta)


@pytest.mark.parametrize(
    ("counts", "class_balance"),
    [((7, 42), "balanced"), ((3, 95), "uniform")],
)
def test_row_07_prices_of_slacks_reach_nu_max(counts: tuple[int, int], class_balance: str) -> None:
    """In rational numbers, and no further above what they stand for than by a rounding."""
    n = sum(counts)
    data = tm.TrainingData(np.arange(n)[:, None], np.repeat([1, -1], counts))
    prices, weights = slack_prices(data, class_balance), loss_weights(data, class_balance)
    assert sum(map(Fraction, prices)) >= 1
    for label in (1, -1):
        share = sum(map(Fraction, prices[data.y == label]))
        assert 2 * share >= Fraction(tm.theory.nu_range(data, class_balance=class_balance).nu_max)
    assert prices == pytest.approx(weights, rel=5e-16)
