"""Relations with a solver that is named, so that each back end reads changed data alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metamorphic.certified import close, drawn, proven_gap, solved
from tests.metamorphic.changes import KINDS, modes
from tests.support.covering import FULL

NAMED = [
    ("extended_nu_svc_linearised", "highs"),
    ("extended_nu_svc_linearised", "clarabel"),
    ("extended_nu_svc_linearised_dual", "scip"),
    ("c_svc", "highs"),
    ("c_svc_dual", "clarabel"),
    ("nu_svc", "clarabel"),
    ("conic_sdp_dual", "clarabel"),
]
SAFE = [name for name, kind in KINDS.items() if not kind.dependent]


@pytest.mark.parametrize(("name", "solver"), NAMED)
@settings(max_examples=3 if FULL else 1)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_the_optimum_of_a_named_solver_follows_the_data(
    name: str, solver: str, seed: int, data: st.DataObject
) -> None:
    kind = data.draw(st.sampled_from([kind for kind in SAFE if modes(name, kind)]))
    mode = data.draw(st.sampled_from(modes(name, kind)))
    change = KINDS[kind].make(drawn(name, seed, mode), np.random.default_rng([seed, 1]))
    before, after = solved(change.before, solver), solved(change.after, solver)
    assert before.solver == after.solver == solver
    assert before.objective is not None
    gaps = change.factor * proven_gap(before) + proven_gap(after)
    assert close(after.objective, change.factor * before.objective, gaps)
