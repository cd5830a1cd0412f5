"""Problems solved, and held to what their verdict must be."""

from __future__ import annotations

import functools

import tightmargin.cuts  # noqa: F401  (registers searches)
from tests.metamorphic.changes import Trial, drawn
from tests.metamorphic.families import FAMILIES
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult, Status, Verdict, solve

RELATIVE = 1e-6
# Rows from a cutoff close in on one lifted point, blocks vanish: what is proven is the bound, and
# an exactly feasible point may not be there, or not be found.
TIGHT = ("conic_sdp_lift", "conic_sdp_strengthened")


@functools.cache
def solved_first(name: str, mode: str) -> SolveResult:
    """Result of a problem of the catalogue's table as it stands."""
    return solved(drawn(name, mode))


def solved(trial: Trial, solver: str = "auto") -> SolveResult:
    """Result of a problem; an assertion when it is less than it must be."""
    build = CATALOGUE[trial.name].build
    result = solve(build(trial.data, **trial.parameters, intercept=trial.mode), solver)
    if trial.name in TIGHT:
        assert result.objective is not None, result.certificate
        assert result.bound is not None, result.certificate
        size = max(1.0, abs(result.objective))
        assert abs(result.objective - result.bound) <= RELATIVE * size, result.certificate
        return result
    assert result.status is Status.OPTIMAL, result.certificate
    verdict = result.certificate.verdict
    assert verdict is not Verdict.NOT_CERTIFIED, result.certificate
    assert verdict is Verdict.CERTIFIED or not FAMILIES[trial.name].certified, result.certificate
    return result


def proven_gap(result: SolveResult) -> float:
    """How far a certified objective may be from the optimum; 0 where no bound of ours closes it."""
    if result.certificate.verdict is not Verdict.CERTIFIED:
        return 0.0
    assert result.absolute_gap is not None
    return abs(result.absolute_gap)


def close(found: float | None, expected: float, more: float = 0.0) -> bool:
    """Equal to 1e-6 relative and `more` absolute, which is what the certificates leave open."""
    assert found is not None
    return abs(found - expected) <= RELATIVE * max(abs(found), abs(expected)) + more
