"""Problems drawn by seed, solved, and held to what their verdict must be."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

import tightmargin.cuts  # noqa: F401  (registers searches)
from tests.metamorphic import values
from tests.metamorphic.changes import Trial
from tests.metamorphic.families import FAMILIES
from tests.references.reference_solutions import points
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult, Status, Verdict, solve

Array = NDArray[np.float64]

RELATIVE = 1e-6
# Rows from a cutoff close in on one lifted point, blocks vanish: what is proven is the bound, and
# an exactly feasible point may not be there, or not be found.
TIGHT = ("conic_sdp_lift", "conic_sdp_strengthened")


def drawn(name: str, seed: int, mode: str, size: int | None = None) -> Trial:
    """A problem of an entry: 6 or 8 points in the plane, hyperparameters by seed.

    On the line instead where (w, b) on a sphere would not be in the plane otherwise.
    """
    family, rng = FAMILIES[name], np.random.default_rng(seed)
    d = 1 if family.proof == "directions" and mode == "penalised" else 2
    n = int(rng.choice(family.sizes)) if size is None else size
    data = points(family.kind, int(rng.integers(1000)), n=n, d=d)
    return Trial(name, data, family.draw(rng, data, mode), mode)


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
    proof, verdict = FAMILIES[trial.name].proof, result.certificate.verdict
    assert verdict is not Verdict.NOT_CERTIFIED, result.certificate
    if proof == "certified":
        assert verdict is Verdict.CERTIFIED, result.certificate
    if proof == "directions":
        assert close(result.objective, least_of_all_directions(trial))
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


def least_of_all_directions(trial: Trial) -> float:
    """The least objective over all directions of w, or of (w, b) on the sphere, in the plane.

    The objective at length 1 is <u, w> with one u on every arc between two directions in which
    scores change their order: the least is at an end of an arc, or where w = -u / ||u|| in it.
    """
    value, data, mode = FAMILIES[trial.name].value, trial.data, trial.mode
    assert value is not None
    points = np.hstack([data.X, np.ones((data.n, 1))]) if mode == "penalised" else data.X
    z = data.y[:, None] * points

    def objective(direction: Array) -> float:
        w, b = (direction[:1], float(direction[1])) if mode == "penalised" else (direction, 0.0)
        return value(data, trial.parameters, mode, w, b)

    if z.shape[1] == 1:
        return min(objective(np.array([sign])) for sign in (-1.0, 1.0))
    pairs = combinations(range(data.n), 2)
    steps = [z[i] - z[k] for i, k in pairs if mode != "free" or data.y[i] == data.y[k]]
    turns = [np.arctan2(s[1], s[0]) + turn for s in steps for turn in (-np.pi / 2, np.pi / 2)]
    ends = np.unique(np.mod(turns, 2 * np.pi))
    found = [objective(_unit(angle)) for angle in ends]
    for start, end in zip(ends, np.r_[ends[1:], ends[0] + 2 * np.pi], strict=True):
        two = np.array([_unit(start + share * (end - start)) for share in (0.4, 0.6)])
        risks = [values.risk(data, trial.parameters, mode, *_split(w, mode)) for w in two]
        u = np.linalg.solve(two, risks) if end - start > 1e-6 else np.zeros(2)
        if u.any():
            found.append(objective(-u / np.linalg.norm(u)))
    return min(found)


def _split(direction: Array, mode: str) -> tuple[Array, float]:
    return (direction[:1], float(direction[1])) if mode == "penalised" else (direction, 0.0)


def _unit(angle: float) -> Array:
    return np.array([np.cos(angle), np.sin(angle)])
