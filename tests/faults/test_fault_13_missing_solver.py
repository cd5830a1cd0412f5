"""Row 13: a solver that is not installed is named with the command that mends it, and who can.

tests/project/test_refusals.py blocks one package after the other in a process of its own,
tests/project/test_structure.py imports everything with none.
"""

from __future__ import annotations

from typing import Any

import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS
from tests.references.reference_solutions import points
from tightmargin.solvers import SolverNotInstalledError

DATA = points("overlapping", 0, n=6)
MODELS: dict[str, Any] = {
    "LP": tm.extended_nu_svc_linearised(DATA, nu=0.2, w_ref="mean_difference"),
    "QP": tm.c_svc(DATA, C=1.0),
    "SOCP": tm.max_margin_svc(DATA),
    "SDP": tm.conic_sdp(DATA, penalty=1.0),
    "MIQP": tm.zero_one_big_m(DATA, penalty=1.0, big_m=100.0),
}


@pytest.mark.parametrize("kind", MODELS)
def test_row_13_without_solvers_each_refusal_says_what_to_install(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(SOLVERS["highs"]), "installed", property(lambda self: False))
    able = [name for name, solver in SOLVERS.items() if kind in solver.classes]
    for solver in able:
        with pytest.raises(SolverNotInstalledError) as refusal:
            tm.solve(MODELS[kind], solver)
        command = f"{solver} is not installed (pip install {SOLVERS[solver].distribution})"
        assert str(refusal.value).startswith(command)
        assert str(refusal.value).endswith(f"installed solvers for {kind}: none")
    with pytest.raises(SolverNotInstalledError, match=f"takes {kind} models") as refusal:
        tm.solve(MODELS[kind])
    free = {SOLVERS[name].distribution for name in able if SOLVERS[name].free}
    assert set(str(refusal.value).partition("install ")[2].split(" or ")) == free
