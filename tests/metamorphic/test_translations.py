"""What moving the origin does where the intercept is priced, bounded or absent.

A free intercept follows for nothing, so its optimum stays: test_relations.py. A price on b only
adds to the objective, and b = 0 is one of the choices of b; hence, wherever the origin lies,

    optimum(free) <= optimum(penalised) <= optimum(none),

and the first of the three does not move. Where b is on the sphere with w no order is known.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.metamorphic.certified import RELATIVE
from tests.metamorphic.changes import Trial, drawn, translated
from tests.metamorphic.families import FAMILIES
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import Status, Verdict, solve

ORDERED = [name for name, family in FAMILIES.items() if family.least == "hyperplane"]

NEAR_ZERO = 1e-9


def in_mode(trial: Trial, mode: str) -> Trial:
    p = dict(trial.parameters)
    if "intercept_bound" in p:
        p["intercept_bound"] = None
    if "w_ref" in p and mode == "penalised":
        p["w_ref"] = np.append(p["w_ref"], 0.0)
    return Trial(trial.name, trial.data, p, mode)


def least(trial: Trial) -> float:
    """Optimum of the minimisation behind an entry; infinite when it is proven infeasible.

    Then its dual is proven unbounded.
    """
    build, dual = CATALOGUE[trial.name].build, FAMILIES[trial.name].dual
    # Optima may be 0; what at_most allows beside that is asked of the certificate.
    model = build(trial.data, **trial.parameters, intercept=trial.mode)
    result = solve(model, absolute_gap=NEAR_ZERO)
    if result.status is (Status.UNBOUNDED if dual else Status.INFEASIBLE):
        assert result.certificate.verdict is Verdict.CERTIFIED
        return np.inf
    assert result.certificate.verdict is not Verdict.NOT_CERTIFIED, result.certificate
    assert result.objective is not None
    return -result.objective if dual else result.objective


def at_most(small: float, large: float) -> bool:
    allowed = RELATIVE * max(abs(small), abs(large)) + NEAR_ZERO
    return large == np.inf or small <= large + allowed


@pytest.mark.parametrize("name", ORDERED[:: 1 if FULL else 3])
def test_a_price_on_the_intercept_and_its_absence_only_cost(name: str) -> None:
    there = translated(drawn(name, "free"), np.random.default_rng(1)).after
    free, penalised, none = (least(in_mode(there, mode)) for mode in ("free", "penalised", "none"))
    assert at_most(free, penalised)
    assert at_most(penalised, none)
