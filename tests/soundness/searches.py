"""Paths and searches of our own, each beside an optimum from elsewhere.

What a search says is its value, its lower bound and whether it calls the two proven. Values are
those of points, so below the optimum they are false as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

import tightmargin as tm
from tests.references import reference_solutions
from tests.soundness import exact
from tests.soundness import questions as q
from tests.soundness.asking import SECONDS, pair, said_by
from tests.soundness.catalogue import drawn
from tests.soundness.judge import Answer, Case, Said, Truth, optimum
from tests.soundness.questions import TRIALS


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


# --- models solved by searches --------------------------------------------------------------------

# The method that each is solved by.
MODELS = {
    "extended_nu_svc": "auto",
    "min_cvar": "auto",
    "extended_nu_svc_reverse": "auto",
    "extended_nu_svc_polar": "auto",
    "zero_one_big_m": "conflict-search",
    "zero_one_bilinear": "conflict-search",
    "zero_one_kernel": "conflict-search",
    "ramp_big_m": "cone-search",
    "extended_robust_svc": "robust-search",
    "rsvm": "segments",
    "rsvm_dual": "auto",
    "matrix_svc_bilinear": "matrix-search",
    "multiclass_truncated": "truncated-search",
    "soft_margin_svc": "sgd",
}


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


# --- paths ----------------------------------------------------------------------------------------

EXPONENTS = (0, 0, 3, -3, 10, -10, 20, -20)


@dataclass(frozen=True)
class Path:
    """A path over steps of one hyperparameter, for data at scale 1 and times s.

    Attributes
    ----------
    steps : callable(rng, y, mode) -> list
        At scale 1; that of data times s is s^step_power times it.
    call : callable(data, steps, mode, rng) -> path
        The rng chooses a method, where there are several.
    read : callable(row) -> (step, said)
    known : callable(data, mode, step) -> float
        The optimum at scale 1, up to `error`; that of data times s is s^power times it.
    """

    steps: Callable[[np.random.Generator, np.ndarray, str], list[float]]
    call: Callable[[Any, list[float], str, np.random.Generator], Any]
    read: Callable[[Any], tuple[float, Said]]
    known: Callable[[Any, str, float], float]
    modes: tuple[str, ...]
    power: int = 0
    step_power: int = 0
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
        q.PRICED, power=-2,
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
    while True:
        mode = str(rng.choice(path.modes))
        X, y = q.points(rng, int(rng.integers(3, 10)), int(rng.integers(1, 3)))
        exponent = int(rng.choice(EXPONENTS)) if mode != "penalised" else 0
        s = 2.0**exponent
        unit, data = tm.TrainingData(X, y), tm.TrainingData(X * s, y)
        steps = path.steps(rng, y, mode)
        try:
            values = {step: path.known(unit, mode, step) for step in steps}
            break
        except q.NO_WITNESS:
            continue
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
