"""Paths and searches of our own, each beside an optimum from elsewhere, and beside one another.

Values are those of points, so below the optimum they are false as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import tightmargin as tm
from tests.inside.formulations import (
    refuse_dependent_features,
)
from tests.references import reference_solutions
from tests.soundness import exact
from tests.soundness import questions as q
from tests.soundness.asking import SECONDS, pair, said_by
from tests.soundness.catalogue import drawn
from tests.soundness.judge import Answer, Case, Said, Truth, found_out, optimum
from tests.soundness.questions import TRIALS
from tightmargin.formulations import TrainingData
from tightmargin.solvers import nu_range


@dataclass(frozen=True)
class Asked:
    """A search, in its own words, for the data and hyperparameters of a catalogue entry."""

    entry: str
    call: Callable[..., Any]
    read: Callable[[Any], Said]
    most: int = 9
    renamed: tuple[str, ...] = ()  # hyperparameters that the search does not take
    modes: tuple[str, ...] = q.ALL


def of_search(found: Any) -> Said:
    """Searches with an objective, a lower bound and a reason for their end."""
    best = getattr(found, "best", None)
    objective = found.objective if best is None else best.objective
    numbers = {"w": np.ravel(best.weight)} if best is not None else {}
    return pair(objective, found.bound, "CERTIFIED" if found.stop == "proven" else "", numbers)


def of_row(row: Any) -> Said:
    """A row of rsvm_path."""
    return pair(row.point.objective, row.point.bound, row.verdict, {"w": row.point.w})


WITHOUT_M: dict[str, Any] = {"renamed": ("big_m",)}
RIGOROUS: dict[str, Any] = {"renamed": ("intercept",), "modes": ("free",)}
SEARCHES = {
    "cone_search": Asked("zero_one_big_m", tm.search.cone_search, of_search, **WITHOUT_M),
    "ramp_cone_search": Asked("ramp_big_m", tm.search.ramp_cone_search, of_search, **WITHOUT_M),
    "conflict_search": Asked("zero_one_big_m", tm.search.conflict_search, of_search, **WITHOUT_M),
    "hull_search": Asked("extended_nu_svc", tm.search.hull_search, of_search),
    "branch_and_cut": Asked("extended_nu_svc", tm.search.branch_and_cut, of_search),
    "cutting_plane": Asked("extended_nu_svc", tm.search.cutting_plane, of_search),
    "robust_search": Asked(
        "extended_robust_svc", tm.search.robust_search,
        lambda found: pair(
            found.risk, found.bound, "CERTIFIED" if found.stop == "proven" else "", {"w": found.w}
        ),
    ),
    "solve_rsvm": Asked("rsvm", tm.search.solve_rsvm, of_row, **RIGOROUS),
    "decomposition": Asked(
        "rsvm", tm.search.decomposition,
        lambda found: pair(found.point.objective, found.point.bound, found.point.verdict),
        **RIGOROUS,
    ),
    "matrix_search": Asked("matrix_svc_bilinear", tm.search.matrix_search, of_search),
    "truncated_search": Asked(
        "multiclass_truncated", tm.search.truncated_search, of_search, **WITHOUT_M
    ),
    "tighten": Asked(
        "zero_one_big_m", tm.tighten,
        lambda found: pair(found.objective, found.bound), **WITHOUT_M,
    ),
}  # fmt: skip


def search_case(rng: np.random.Generator, index: int) -> Case:
    """A search, asked directly; what it has no clock for ends by itself."""
    name = list(SEARCHES)[index % len(SEARCHES)]
    asked = SEARCHES[name]
    trial = TRIALS[asked.entry]
    trial = replace(trial, modes=asked.modes, most=min(trial.most, asked.most))
    data, parameters, truth, words = drawn(rng, trial)
    given = {k: v for k, v in parameters.items() if k not in asked.renamed}
    label = f"{name} {words}"

    def ask() -> list[Answer]:
        said = asked.read(asked.call(data, **given, time_limit=SECONDS))
        return [_answer(label, said, truth)]

    return Case(label, ask)


def _answer(label: str, said: Said, truth: Truth, extra: str = "") -> Answer:
    """With what is wrong of a value below the optimum, whatever the search calls it."""
    if said.objective is not None and truth.kind == "optimum" and not extra:
        short = Fraction(truth.value) - Fraction(said.objective)
        if short > truth.slack(said.objective, bound=False):
            extra = f"value {said.objective:.9g} below the optimum {float(truth.value):.9g}"
    return Answer(label, said, truth, extra)


# The method that each is solved by.
MODELS = {
    "extended_nu_svc": "auto", "min_cvar": "auto", "extended_nu_svc_reverse": "auto",
    "extended_nu_svc_polar": "auto", "zero_one_big_m": "conflict-search",
    "zero_one_bilinear": "conflict-search", "zero_one_kernel": "conflict-search",
    "ramp_big_m": "cone-search", "extended_robust_svc": "robust-search", "rsvm": "segments",
    "rsvm_dual": "auto", "matrix_svc_bilinear": "matrix-search",
    "multiclass_truncated": "truncated-search", "soft_margin_svc": "sgd",
}  # fmt: skip


def searched_case(rng: np.random.Generator, index: int) -> Case:
    """A model of the catalogue through the search that knows it."""
    name = list(MODELS)[index % len(MODELS)]
    trial = TRIALS[name]
    modes = {"rsvm": ("free",), "rsvm_dual": ("free",), "soft_margin_svc": ("none",)}
    data, parameters, truth, words = drawn(rng, replace(trial, modes=modes.get(name, trial.modes)))
    label = f"{MODELS[name]} {name} {words}"
    descends = name == "soft_margin_svc"
    limits = {"options": {"steps": 2000}} if descends else {"time_limit": SECONDS}

    def ask() -> list[Answer]:
        model = tm.build(name, data, **parameters)
        result = tm.solve(model, method=MODELS[name], **limits)
        return [Answer(label, said_by(result, model), truth)]

    return Case(label, ask)


EXPONENTS = (0, 0, 3, -3, 10, -10, 20, -20)


@dataclass(frozen=True)
class Path:
    """A path over steps of one hyperparameter, for data at scale 1 and times s."""

    steps: Callable[[np.random.Generator, np.ndarray, str], list[float]]  # at scale 1
    call: Callable[[Any, list[float], str, np.random.Generator], Any]
    read: Callable[[Any], tuple[float, Said]]  # the step and what is said of it
    known: Callable[[Any, str, float], float]  # the optimum at scale 1, up to `error`
    modes: tuple[str, ...]
    power: int = 0  # of s by which the optimum is multiplied
    step_power: int = 0  # and the steps
    error: float = 1e-6


def _some_powers(rng: np.random.Generator, low: int, high: int) -> list[float]:
    return sorted({float(2.0 ** rng.integers(low, high)) for _ in range(int(rng.integers(1, 4)))})


def _hyperplane(row: Any) -> Said:
    point = {name: getattr(row, name) for name in ("w", "b", "z") if hasattr(row, name)}
    return pair(row.objective, row.bound, row.verdict, point)


METHODS = ("auto", "interior", "segments", "auto", "decomposition")
PATHS = {
    "rsvm_path": Path(
        lambda rng, y, mode: _some_powers(rng, -4, 5),
        lambda data, steps, mode, rng: tm.paths.rsvm_path(
            data, steps, method=str(rng.choice(METHODS)), time_limit=SECONDS
        ),
        lambda row: (row.point.norm_bound, of_row(row)),
        lambda data, mode, H: reference_solutions.least_loss(data, mode, H).value,
        ("free",), step_power=-1, error=2e-7,
    ),
    "extended_nu_path": Path(
        lambda rng, y, mode: [
            q.nu_max(tm.TrainingData(np.zeros((len(y), 1)), y), mode) * share
            for share in (0.25, 0.5, 0.9375)
        ],
        lambda data, steps, mode, rng: tm.paths.extended_nu_path(
            data, steps, intercept=mode, time_limit=SECONDS
        ),
        lambda row: (row.nu, _hyperplane(row)),
        q.on_circle, ("free", "none"), power=1, error=1e-7,
    ),
    "conic_path of budgets": Path(
        lambda rng, y, mode: sorted({float(rng.choice([0.125, 0.25, 0.5])) for _ in range(2)}),
        lambda data, steps, mode, rng: tm.paths.conic_path(
            data, budgets=steps, intercept=mode, time_limit=SECONDS
        ),
        lambda row: (row.budget, _hyperplane(row)),
        lambda data, mode, budget: reference_solutions.theorem_2(data, mode, budget=budget).value,
        q.PRICED, power=-2, error=5e-6,  # what the witness knows, not more
    ),
}  # fmt: skip


def path_case(rng: np.random.Generator, index: int) -> Case:
    """A path, or what ends one, by turns."""
    turns = (conic_path_case, conic_path_case, norm_limit_case, *PATHS)
    chosen = turns[index % len(turns)]
    return _row_by_row(rng, chosen) if isinstance(chosen, str) else chosen(rng)


def _row_by_row(rng: np.random.Generator, name: str) -> Case:
    """Each row beside the optimum at its step; drawn again where no witness knows it."""
    path = PATHS[name]

    def draw() -> Any:
        mode = str(rng.choice(path.modes))
        X, y = q.points(rng, int(rng.integers(3, 10)), int(rng.integers(1, 3)))
        unit, steps = tm.TrainingData(X, y), path.steps(rng, y, mode)
        return mode, X, y, {step: path.known(unit, mode, step) for step in steps}

    mode, X, y, values = q.again(draw)
    exponent = int(rng.choice(EXPONENTS)) if mode != "penalised" else 0
    s, steps = 2.0**exponent, list(values)
    data = tm.TrainingData(X * s, y)
    label = f"{name} n={data.n} d={data.d} {mode} X*2^{exponent} {steps}"
    factor = s**path.power

    def ask() -> list[Answer]:
        # Steps are of few digits, or as they were given: each is one of these again.
        asked = [step * s**path.step_power for step in steps]
        answers = []
        for row in path.call(data, asked, mode, rng).rows:
            at, said = path.read(row)
            value = values[min(steps, key=lambda step: abs(step - at / s**path.step_power))]
            error = path.error * max(1.0, abs(value)) * factor
            truth = optimum(value * factor, error=error, size=data.n * factor)
            answers.append(_answer(f"{label} at {at:g}", said, truth))
        return answers

    return Case(label, ask)


def conic_path_case(rng: np.random.Generator) -> Case:
    """conic_path for several penalties and scales: below the 0-1 optimum, at the SDP's value.

    Prices go along with the data's scale or not: the 0-1 optimum is exact at any of them, the
    SDP's is known where cvxpy is asked at a scale near 1.
    """
    mode = str(rng.choice(q.PRICED))
    X, y = q.points(rng, int(rng.integers(2, 8)), int(rng.integers(1, 4)))
    along = mode == "none" and rng.random() < 0.5
    exponent = int(rng.choice([0, 2, -2, -6, 6, 10, -10, 20, -20]) if along
                   else rng.integers(-17, 4))  # fmt: skip
    s = 2.0**exponent
    data, prices = tm.TrainingData(X * s, y), _some_powers(rng, -6, 10)
    scaled = [price / s**2 if along else price for price in prices]
    words = f"conic_path n={data.n} d={data.d} {mode} X*2^{exponent} prices {scaled}"

    def ask() -> list[Answer]:
        path = tm.paths.conic_path(data, penalties=scaled, intercept=mode, time_limit=SECONDS)
        return [answer for row in path.rows for answer in judged(row)]

    def judged(row: Any) -> list[Answer]:
        said, label = _hyperplane(row), f"{words} at {row.penalty:g}"
        upper = exact.zero_one(data.X, data.y, mode, row.penalty)
        over = ""
        if row.bound > row.objective * (1 + 1e-5) + 1e-9 * data.n * row.penalty:
            over = f"bound {row.bound:.9g} above the value {row.objective:.9g}"
        below = Truth("point", upper, size=data.n * Fraction(row.penalty))
        answers = [Answer(label, pair(None, row.bound), below, over, counted=said.proven)]
        if abs(exponent) > 2 and not along:
            return answers
        factor = s**2 if along else 1.0
        unit = tm.TrainingData(X, y) if along else data
        try:
            known = reference_solutions.theorem_2(unit, mode, penalty=row.penalty * factor).value
        except q.NO_WITNESS:
            return answers
        error = 1e-6 * max(1.0, abs(known)) / factor
        return [*answers, Answer(f"{label} (SDP)", said, optimum(known / factor, error=error))]

    return Case(words, ask)


def norm_limit_case(rng: np.random.Generator) -> Case:
    """norm_limit: the least loss is that of the linear program, at any scale of the data."""
    X, y = q.points(rng, int(rng.integers(3, 11)), int(rng.integers(1, 4)))
    exponent = int(rng.choice(EXPONENTS))
    value = q.least_loss(tm.TrainingData(X, y), "free")
    words = f"norm_limit n={len(y)} d={X.shape[1]} X*2^{exponent}"

    def ask() -> list[Answer]:
        found = tm.theory.norm_limit(tm.TrainingData(X * 2.0**exponent, y), time_limit=SECONDS)
        said = pair(found.least_loss, found.least_loss_bound, "CERTIFIED" if found.proven else "")
        truth = optimum(value, error=1e-8 * max(1.0, value), size=len(y))
        over = "H_lim: lower above upper" if found.lower > found.upper * (1 + 1e-6) else ""
        return [_answer(words, said, truth, over)]

    return Case(words, ask)


LONG = 20.0  # seconds
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
    """Data and parameters of one comparison: points in general position, on a grid, doubled, or of
    very unequal classes; nu anywhere below nu_bar, next to it, or nu_max where that comes first.
    """

    label: str
    data: TrainingData
    nu: float
    intercept: str


def some_instance(rng: np.random.Generator, number: int) -> Instance:
    """The first that is a problem below nu_bar, of the kind that belongs to the number."""
    return q.again(lambda: instance(rng, number), ValueError)


def instance(rng: np.random.Generator, number: int) -> Instance:
    d, mode = 1 + number % 4, MODES[number // 4 % 3]
    shape = SHAPES[number // 12 % 4]
    n = int(rng.integers(*COUNTS[d], endpoint=True))
    data = _points(rng, shape, n, d)
    refuse_dependent_features(data, mode)
    found = nu_range(data, intercept=mode)
    share = float(rng.choice(SHARES))
    at_end = found.positive_at_end and rng.random() < 0.7
    nu = found.nu_max if at_end else share * found.nu_bar
    if nu <= 0 or found.side(nu) >= 0:
        raise q.NoWitnessError
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


def by_directions(own: Instance) -> float | None:
    """By every direction, in one dimension and two."""
    try:
        return float(q.on_circle(own.data, own.intercept, own.nu))
    except q.NoWitnessError:
        return None


def faults(own: Instance, seconds: float = LONG) -> tuple[list[str], Counter[str]]:
    """What the searches get wrong on an instance, and how each ended."""
    wrong: list[str] = []
    ends: Counter[str] = Counter()
    size = float(np.abs(own.data.X).max())
    proven, bounds = {"by every direction": by_directions(own)}, {}
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
    least = min(known.values())
    if max(known.values()) - least > AGREE * abs(least) + 1e-9 * size:
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
        return [found_out(own.label, "; ".join(wrong), certified=proven)]

    return Case(own.label, ask)
