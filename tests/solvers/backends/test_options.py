"""Options a solver does not have, and values it does not take, are refused in one sentence."""

from __future__ import annotations

import re

import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS
from tests.references.reference_solutions import points
from tightmargin.solvers import LiveLP

DATA = points("overlapping", 1)
NAMES = {
    "highs": "simplex_iteration_limit", "clarabel": "max_iter", "scip": "limits/nodes",
    "scs": "max_iters", "piqp": "max_iter", "gurobi": "NodeLimit",
}  # fmt: skip


@pytest.mark.parametrize("solver", NAMES)
@pytest.mark.parametrize("value", ["many", None, [3]])
def test_a_value_of_the_wrong_kind_is_refused(solver: str, value: object) -> None:
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is an extra")
    name = NAMES[solver]
    sentence = f"{solver} cannot take {value!r} for its option {name}"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        tm.solve(tm.c_svc(DATA, C=1.0), solver, options={name: value})


@pytest.mark.parametrize("solver", NAMES)
def test_a_misspelt_name_is_refused_with_the_nearest_one(solver: str) -> None:
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is an extra")
    name = NAMES[solver]
    with pytest.raises(
        ValueError, match=f"{solver} has no option '{name}s'; did you mean .*{name}"
    ):
        tm.solve(tm.c_svc(DATA, C=1.0), solver, options={f"{name}s": 3})


@pytest.mark.parametrize("solver", NAMES)
def test_a_good_value_reaches_the_solver(solver: str) -> None:
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is an extra")
    result = tm.solve(tm.c_svc(DATA, C=1.0), solver, options={NAMES[solver]: 5000})
    assert result.options == {NAMES[solver]: 5000}
    assert result.objective is not None


def test_a_live_program_refuses_alike() -> None:
    model = tm.extended_nu_svc_linearised(DATA, nu=0.1, w_ref="mean_difference")
    with pytest.raises(ValueError, match="highs cannot take 'fast' for its option time_limit"):
        LiveLP(model, options={"time_limit": "fast"}).resolve()
