"""Changes of the data under which an optimum is known, and what hyperparameters become.

The relation of the optimum is exact, so that it needs no reference value. What is the same for all
entries is derived here; factors that differ stand in families.py.

- rows in another order, with the hyperparameters of the points: the same problem;
- labels flipped: (-w, -b) has the same u_i. What names a class changes places;
- X Q with Q orthogonal: Q'w has the same u_i and length, and so have reference weights;
- X + 1 t' with a free intercept: b - <w, t> has the same u_i and costs nothing;
- each point twice: the same (w, b), every sum over points doubled;
- a column of zeros: its weight costs and does nothing, so it is 0;
- a column twice, over sqrt(2): [x, x] / sqrt(2) = [x, 0] Q with Q a turn by 45 degrees, hence the
  same as the column beside a column of zeros;
- c X: see families.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tightmargin.cuts  # noqa: F401  (registers searches)
from tests.cases import CASES, UNPRICED
from tests.metamorphic.families import FAMILIES
from tests.references.reference_solutions import points
from tightmargin.formulations import CATALOGUE, TrainingData
from tightmargin.solvers import SolveResult, Status, Verdict, solve

Array = NDArray[np.float64]
Parameters = dict[str, Any]

INTEGER = (
    "zero_one_big_m", "zero_one_bilinear", "zero_one_kernel", "zero_one_disjunctive",
    "ramp_big_m", "ramp_l1_big_m",
)  # fmt: skip
OF_POINTS = ("big_m", "strengthening")  # hyperparameters with a number for each point
ROOT2 = np.sqrt(2.0)


@dataclass(frozen=True, eq=False)
class Trial:
    """One problem: an entry, its points, its hyperparameters, the mode of its intercept."""

    name: str
    data: TrainingData
    parameters: Parameters
    mode: str


@dataclass(frozen=True, eq=False)
class Change:
    """Two problems with optimum after = factor * optimum before."""

    before: Trial
    after: Trial
    factor: float = 1.0


def drawn(name: str, mode: str, n: int | None = None) -> Trial:
    """The problem of the catalogue's table, on few points where that is asked for."""
    case = CASES[name]
    data = case.data if n is None else points("overlapping", 4, n=n)
    words = case.words_of(mode)
    if name == "conic_sdp_budget":  # for an optimum other than 0
        words |= {"budget": 0.03} | ({"intercept_bound": 2.0} if mode == "free" else {})
    return Trial(name, data, {word: words[word] for word in words if word != "intercept"}, mode)


def _per_point(parameters: Parameters, move: Callable[[Array], Array]) -> Parameters:
    """Hyperparameters with those of the points moved."""
    return {
        name: move(value) if name in OF_POINTS and isinstance(value, np.ndarray) else value
        for name, value in parameters.items()
    }


def moved(trial: Trial, X: Any, y: Any = None, **parameters: Any) -> Trial:
    """The problem with other points, and with other values of some hyperparameters."""
    data = TrainingData(X, trial.data.y if y is None else y)
    return replace(trial, data=data, parameters=trial.parameters | parameters)


def permuted(trial: Trial, rng: np.random.Generator) -> Change:
    order = rng.permutation(trial.data.n)
    p = _per_point(trial.parameters, lambda v: v[order])
    return Change(trial, moved(trial, trial.data.X[order], trial.data.y[order], **p))


def flipped(trial: Trial, rng: np.random.Generator) -> Change:
    p = dict(trial.parameters)
    if p.get("class_weight"):
        p["class_weight"] = p["class_weight"][::-1]  # in label order
    if "pi" in p:
        p["pi"] = 1 - p["pi"]  # costs 1 - pi of the positive points, pi of the others
    if "w_ref" in p:
        p["w_ref"] = -p["w_ref"]
    return Change(trial, moved(trial, trial.data.X, -trial.data.y, **p))


def rotated(trial: Trial, rng: np.random.Generator) -> Change:
    d, p = trial.data.d, dict(trial.parameters)
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    if "w_ref" in p:
        p["w_ref"] = np.append(Q.T @ p["w_ref"][:d], p["w_ref"][d:])
    return Change(trial, moved(trial, trial.data.X @ Q, **p))


def translated(trial: Trial, rng: np.random.Generator) -> Change:
    """For a free intercept that has no bound."""
    return Change(trial, moved(trial, trial.data.X + 2 * rng.standard_normal(trial.data.d)))


def points_twice(trial: Trial, rng: np.random.Generator) -> Change:
    family, data = FAMILIES[trial.name], trial.data
    p = _per_point(trial.parameters, lambda v: np.append(v, v))
    p |= {name: p[name] * factor for name, factor in family.twice.items()}
    after = moved(trial, np.vstack([data.X, data.X]), np.append(data.y, data.y), **p)
    return Change(trial, after, family.doubled)


def zero_column(trial: Trial, rng: np.random.Generator) -> Change:
    place = int(rng.integers(trial.data.d + 1))
    return Change(trial, moved(trial, np.insert(trial.data.X, place, 0.0, axis=1)))


def column_twice(trial: Trial, rng: np.random.Generator) -> Change:
    X, j = trial.data.X, int(rng.integers(trial.data.d))
    X = X / np.where(np.arange(trial.data.d) == j, ROOT2, 1.0)
    return Change(trial, moved(trial, np.column_stack([X, X[:, j]])))


def scaled_by(trial: Trial, c: float) -> Change:
    """Points times c, for intercepts without a price."""
    family, p = FAMILIES[trial.name], dict(trial.parameters)
    p |= {name: p[name] * c**power for name, power in family.scaled.items()}
    return Change(trial, moved(trial, trial.data.X * c, **p), c**family.optimum)


def scaled(trial: Trial, rng: np.random.Generator) -> Change:
    return scaled_by(trial, float(2.0 ** rng.uniform(-3, 3)))


@dataclass(frozen=True)
class Kind:
    """A kind of change, and where its relation holds."""

    make: Callable[[Trial, np.random.Generator], Change]
    intercepts: tuple[str, ...] = ("free", "penalised", "none")
    bounded: bool = True  # also for a free intercept with |b| <= intercept_bound
    dependent: bool = False  # the features are affinely dependent afterwards
    turning: bool = False  # it turns the features, or splits one and keeps the length of w
    copies: bool = False  # every point is there twice


KINDS: dict[str, Kind] = {
    "rows in another order": Kind(permuted),
    "labels flipped": Kind(flipped),
    "points rotated": Kind(rotated, turning=True),
    # A price or a bound on b is one on where the origin lies.
    "points translated": Kind(translated, intercepts=("free",), bounded=False),
    "points twice": Kind(points_twice, copies=True),
    "a column of zeros": Kind(zero_column, dependent=True),
    "a column twice": Kind(column_twice, dependent=True, turning=True),
    "points scaled": Kind(scaled, intercepts=UNPRICED),
}


def modes(name: str, kind: str) -> tuple[str, ...]:
    """Modes of the intercept in which a relation holds for an entry."""
    family, change = FAMILIES[name], KINDS[kind]
    if (family.axes and change.turning) or (change.copies and not family.copies):
        return ()
    bound = family.least == "prices"
    return tuple(
        mode
        for mode in CASES[name].intercepts
        if mode in change.intercepts and (change.bounded or not bound or mode != "free")
    )


def size(name: str, kind: str) -> int | None:
    """Number of points to begin with: few where 0-1 variables are to be twice as many."""
    return 4 if KINDS[kind].copies and name in INTEGER else None


# --- problems solved, and held to what their verdict must be --------------------------------------

RELATIVE = 1e-6
# Rows from a cutoff close in on one lifted point, blocks vanish: what is proven is the bound, and
# an exactly feasible point may not be there, or not be found.
TIGHT = ("conic_sdp_strengthened",)


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
