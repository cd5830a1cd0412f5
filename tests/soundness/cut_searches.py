"""All searches of the extended nu-SVC beside one another.

Each has to prove its value or to end by a limit that it was given, proven values have to agree, no
bound may exceed a value, and in one dimension and two the optimum is that of every direction.
Points are in general position, on a grid, doubled, or of very unequal classes; nu is anywhere below
nu_bar, next to it, or nu_max where that comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import tightmargin as tm
from tests.inside.formulations import (
    loss_weights,
    reduced_hulls,
    refuse_dependent_features,
    support_value,
)
from tests.references import reference_solutions
from tests.soundness.judge import Answer, Case, Kind, Said, Truth
from tightmargin.formulations import TrainingData
from tightmargin.solvers import nu_range

SECONDS = 20.0
AGREE = 5e-6  # relative: twice what two searches may leave open, and more
MODES = ("free", "penalised", "none")
SHAPES = ("general", "grid", "doubled", "unequal")
SHARES = (0.05, 0.3, 0.6, 0.95, 0.999, 1 - 1e-5)  # of nu_bar
COUNTS = {1: (6, 30), 2: (8, 24), 3: (12, 18), 4: (14, 18)}  # points, by dimension
GIVEN = ("time_limit", "round_limit")

cutting_plane = tm.search.cutting_plane
WAYS: dict[str, Callable[..., Any]] = {
    "projected": cutting_plane,
    "lifted": partial(cutting_plane, space="lifted"),
    "literal": partial(cutting_plane, strategy="literal"),
    "branch_and_cut": tm.search.branch_and_cut,
    "hull_search": tm.search.hull_search,
}


@dataclass(frozen=True)
class Instance:
    """Data and parameters of one comparison."""

    label: str
    data: TrainingData
    nu: float
    intercept: str


def instance(seed: int, number: int) -> Instance | None:
    """One by its number; None where what was drawn is no problem below nu_bar."""
    return _instance(np.random.default_rng((seed, number)), number)


def some_instance(rng: np.random.Generator, number: int) -> Instance:
    """The first that is a problem, of the kind that belongs to the number."""
    while True:
        found = _instance(rng, number)
        if found is not None:
            return found


def _instance(rng: np.random.Generator, number: int) -> Instance | None:
    d, mode = 1 + number % 4, MODES[number // 4 % 3]
    shape = SHAPES[number // 12 % 4]
    n = int(rng.integers(*COUNTS[d], endpoint=True))
    data = _points(rng, shape, n, d)
    try:
        refuse_dependent_features(data, mode)
    except ValueError:
        return None
    found = nu_range(data, intercept=mode)
    share = float(rng.choice(SHARES))
    at_end = found.positive_at_end and rng.random() < 0.7
    nu = found.nu_max if at_end else share * found.nu_bar
    if nu <= 0 or found.side(nu) >= 0:
        return None
    words = "nu_max" if at_end else f"{share:g} nu_bar"
    return Instance(f"#{number} {shape} n={n} d={d} {mode} nu={words}", data, nu, mode)


def _points(rng: np.random.Generator, shape: str, n: int, d: int) -> TrainingData:
    share = 0.35 if shape == "unequal" else 0.5
    y = np.where(rng.random(n) < share, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    if shape == "grid":
        return TrainingData(rng.integers(-2, 3, (n, d)).astype(float), y)
    X = rng.standard_normal((n, d)) + 0.2 * y[:, None]
    if shape == "doubled":
        chosen = rng.integers(0, n // 2, n - n // 2)
        X[n // 2 :] = X[chosen]
        y[n // 2 :] = np.where(rng.random(len(chosen)) < 0.8, y[chosen], -y[chosen])
    return TrainingData(X, y)


def optimum(own: Instance) -> float | None:
    """By every direction, in one dimension and two."""
    hulls = reduced_hulls(own.data, nu=own.nu, intercept=own.intercept)
    if hulls.k == 1:
        return min(support_value(hulls, np.array([side])) for side in (1.0, -1.0))
    if own.data.d == 2 and own.intercept != "penalised":
        caps = loss_weights(own.data, "uniform")
        found = reference_solutions.nu_risk_on_circle(own.data, own.intercept, own.nu, caps)
        return float(found.value)
    return None


def faults(own: Instance, seconds: float = SECONDS) -> tuple[list[str], Counter[str]]:
    """What the searches get wrong on an instance, and how each ended."""
    wrong: list[str] = []
    ends: Counter[str] = Counter()
    size = float(np.abs(own.data.X).max())
    proven, bounds = {"by every direction": optimum(own)}, {}
    for name, search in WAYS.items():
        found = search(own.data, nu=own.nu, intercept=own.intercept, time_limit=seconds)
        ends[f"{name}: {found.stop}"] += 1
        bounds[name] = found.bound
        if found.proven:
            proven[name] = found.best.objective
        elif str(found.stop) not in GIVEN:
            wrong.append(f"{name} ended {found.stop}: {found.message}")
    known = {name: value for name, value in proven.items() if value is not None}
    if not known:
        return wrong, ends
    least, most = min(known.values()), max(known.values())
    room = AGREE * abs(least) + 1e-9 * size
    if most - least > room:
        wrong.append(f"proven values differ: {known}")
    for name, bound in bounds.items():
        if bound > least + 1e-9 * (abs(least) + size):
            wrong.append(f"{name} has the bound {bound:.12g} above the value {least:.12g}")
    return wrong, ends


def searches_case(rng: np.random.Generator, index: int) -> Case:
    """One instance, all searches."""
    own = some_instance(rng, index)

    def ask() -> list[Answer]:
        wrong, ends = faults(own)
        proven = all(end.endswith("proven") for end in ends)
        return [Answer(own.label, Said(), Truth(Kind.POINT), "; ".join(wrong), counted=proven)]

    return Case(own.label, ask)
