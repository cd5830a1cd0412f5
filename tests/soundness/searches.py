"""Paths and searches of our own, each beside an optimum from elsewhere.

What a search says is its value, its lower bound and whether it calls the two proven. Values are
those of points, so below the optimum they are false as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import tightmargin as tm
from tests.references import reference_solutions
from tests.soundness import exact
from tests.soundness import questions as q
from tests.soundness.asking import SECONDS, pair, said_by
from tests.soundness.catalogue import TRIALS, drawn
from tests.soundness.judge import Answer, Case, Said, Truth, optimum


@dataclass(frozen=True)
class Asked:
    """A search, in its own words, for the data and hyperparameters of a catalogue entry."""

    entry: str
    call: Callable[..., Any]
    read: Callable[[Any], Said]
    most: int = 9
    renamed: tuple[str, ...] = ()  # hyperparameters that the search does not take
    modes: tuple[str, ...] = ("free", "penalised", "none")


def of_search(found: Any) -> Said:
    """Searches with an objective, a lower bound and a reason for their end."""
    proven = str(found.stop) in ("proven", "StopReason.PROVEN", "StopReason.PROVEN")
    best = getattr(found, "best", None)
    objective = found.objective if best is None else best.objective
    numbers = {"w": np.ravel(best.weight)} if best is not None else {}
    return pair(objective, found.bound, "CERTIFIED" if proven else "", numbers)


def of_row(row: Any) -> Said:
    """A row of rsvm_path."""
    return pair(row.point.objective, row.point.bound, row.verdict, {"w": row.point.w})


SEARCHES = {
    "cone_search": Asked(
        "zero_one_big_m", tm.search.cone_search, of_search, renamed=("big_m",)
    ),
    "ramp_cone_search": Asked(
        "ramp_big_m", tm.search.ramp_cone_search, of_search, renamed=("big_m",)
    ),
    "conflict_search": Asked(
        "zero_one_big_m", tm.search.conflict_search, of_search, renamed=("big_m",)
    ),
    "hull_search": Asked("extended_nu_svc", tm.search.hull_search, of_search),
    "branch_and_cut": Asked("extended_nu_svc", tm.search.branch_and_cut, of_search),
    "cutting_plane": Asked("extended_nu_svc", tm.search.cutting_plane, of_search),
    "robust_search": Asked(
        "extended_robust_svc", tm.search.robust_search,
        lambda found: pair(
            found.risk, found.bound, "CERTIFIED" if found.stop == "proven" else "", {"w": found.w}
        ),
    ),
    "solve_rsvm": Asked(
        "rsvm", tm.search.solve_rsvm, of_row, renamed=("intercept",), modes=("free",)
    ),
    "decomposition": Asked(
        "rsvm", tm.search.decomposition,
        lambda found: pair(found.point.objective, found.point.bound, found.point.verdict),
        renamed=("intercept",), modes=("free",),
    ),
    "matrix_search": Asked("matrix_svc_bilinear", tm.search.matrix_search, of_search),
    "truncated_search": Asked(
        "multiclass_truncated", tm.search.truncated_search, of_search, renamed=("big_m",)
    ),
    "tighten": Asked(
        "zero_one_big_m", tm.tighten,
        lambda found: pair(found.objective, found.bound), renamed=("big_m",),
    ),
}  # fmt: skip


def search_case(rng: np.random.Generator, index: int) -> Case:
    """A search, asked directly; what it has no clock for ends by itself."""
    name = list(SEARCHES)[index % len(SEARCHES)]
    asked = SEARCHES[name]
    trial = TRIALS[asked.entry]
    trial = type(trial)(
        **(vars(trial) | {"modes": asked.modes, "most": min(trial.most, asked.most)})
    )
    data, parameters, truth, words = drawn(rng, trial)
    given = {k: v for k, v in parameters.items() if k not in asked.renamed}
    label = f"{name} {words}"

    def ask() -> list[Answer]:
        said = asked.read(asked.call(data, **given, time_limit=SECONDS))
        return [Answer(label, said, truth, _below(said, truth))]

    return Case(label, ask)


def _below(said: Said, truth: Truth) -> str:
    """A value of a point below the optimum, whatever the search calls it."""
    if said.objective is None or truth.kind != "optimum":
        return ""
    short = Fraction(truth.value) - Fraction(said.objective)
    if short > truth.slack(said.objective, bound=False):
        return f"value {said.objective:.9g} of a point below the optimum {float(truth.value):.9g}"
    return ""


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
    trial = type(trial)(**(vars(trial) | {"modes": modes.get(name, trial.modes)}))
    data, parameters, truth, words = drawn(rng, trial)
    label = f"{MODELS[name]} {name} {words}"
    descends = name == "soft_margin_svc"
    limits = {"options": {"steps": 2000}} if descends else {"time_limit": SECONDS}

    def ask() -> list[Answer]:
        model = tm.build(name, data, **parameters)
        return [
            Answer(label, said_by(tm.solve(model, method=MODELS[name], **limits), model), truth)
        ]

    return Case(label, ask)


# --- paths ----------------------------------------------------------------------------------------


def conic_path_case(rng: np.random.Generator, index: int) -> Case:
    """conic_path for several penalties and scales: below the 0-1 optimum, at the SDP's value.

    Prices go along with the data's scale or not: the 0-1 optimum is exact at any of them, the
    SDP's is known where cvxpy is asked at a scale near 1.
    """
    mode = str(rng.choice(["penalised", "none"]))
    X, y = q.points(rng, int(rng.integers(2, 8)), int(rng.integers(1, 4)))
    exponent = int(rng.choice([0, 0, 0, 2, -2, -6, 6, 10, -10, 20, -20]))
    along = mode == "none" and rng.random() < 0.5
    if not along:
        exponent = int(rng.integers(-17, 4))
    s = 2.0**exponent
    prices = sorted({float(2.0 ** rng.integers(-6, 10)) for _ in range(int(rng.integers(1, 4)))})
    data = tm.TrainingData(X * s, y)
    scaled = [price / s**2 if along else price for price in prices]
    words = f"conic_path n={data.n} d={data.d} {mode} X*2^{exponent} prices {scaled}"

    def ask() -> list[Answer]:
        path = tm.paths.conic_path(data, penalties=scaled, intercept=mode, time_limit=SECONDS)
        return [answer for row in path.rows for answer in judged(row)]

    def judged(row: Any) -> list[Answer]:
        said = pair(row.objective, row.bound, row.verdict, {"w": row.w, "z": row.z})
        upper = exact.zero_one(data.X, data.y, mode, row.penalty)
        over = ""
        if row.bound > row.objective * (1 + 1e-5) + 1e-9 * data.n * row.penalty:
            over = f"bound {row.bound:.9g} above the value {row.objective:.9g}"
        below = Truth("point", upper, size=data.n * Fraction(row.penalty))
        label = f"{words} at {row.penalty:g}"
        bound_only = pair(None, row.bound)
        answers = [Answer(label, bound_only, below, over, counted=said.proven)]
        if abs(exponent) <= 2 or along:
            factor = s**2 if along else 1.0
            unit = tm.TrainingData(X, y) if along else data
            try:
                known = reference_solutions.theorem_2(
                    unit, mode, penalty=row.penalty * factor
                ).value
            except q.NO_WITNESS:
                return answers
            error = 1e-6 * max(1.0, abs(known)) / factor
            answers.append(Answer(label + " (SDP)", said, optimum(known / factor, error=error)))
        return answers

    return Case(words, ask)


def rsvm_path_case(rng: np.random.Generator, index: int) -> Case:
    """rsvm_path for several H and scales."""
    method = ("auto", "interior", "segments", "auto", "decomposition")[index % 5]
    while True:
        X, y = q.points(rng, int(rng.integers(3, 11)), int(rng.integers(1, 4)))
        exponent = int(rng.choice([0, 0, 3, -3, 10, -10, 20, -20]))
        s = 2.0**exponent
        bounds = sorted({float(2.0 ** rng.integers(-4, 5)) for _ in range(int(rng.integers(1, 4)))})
        unit, data = tm.TrainingData(X, y), tm.TrainingData(X * s, y)
        try:  # powers of two: H times s is one of these again, exactly
            values = {H: reference_solutions.least_loss(unit, "free", H).value for H in bounds}
            break
        except q.NO_WITNESS:
            continue
    words = f"rsvm_path n={data.n} d={data.d} X*2^{exponent} H*s {bounds} by {method}"

    def ask() -> list[Answer]:
        scaled = [H / s for H in bounds]
        path = tm.paths.rsvm_path(data, scaled, method=method, time_limit=SECONDS)
        answers = []
        for row in path.rows:
            value = values[row.point.norm_bound * s]
            truth = optimum(value, error=2e-7 * max(1.0, value), size=data.n)
            said = of_row(row)
            label = f"{words} at {row.point.norm_bound:g}"
            answers.append(Answer(label, said, truth, _below(said, truth)))
        return answers

    return Case(words, ask)


def nu_path_case(rng: np.random.Generator, index: int) -> Case:
    """extended_nu_path over several nu, beside every direction."""
    while True:
        mode = str(rng.choice(["free", "none"]))
        X, y = q.points(rng, int(rng.integers(3, 10)), int(rng.integers(1, 3)))
        exponent = int(rng.choice([0, 0, 3, -3, 10, -10, 20, -20]))
        top = 1.0 if mode != "free" else 2 * min((y > 0).mean(), (y < 0).mean())
        nus = [top * f for f in (0.25, 0.5, 0.9375)]
        unit, data = tm.TrainingData(X, y), tm.TrainingData(X * 2.0**exponent, y)
        try:
            values = {nu: q.on_circle(unit, mode, nu) for nu in nus}
            break
        except q.NO_WITNESS:
            continue
    words = f"extended_nu_path n={data.n} d={data.d} {mode} X*2^{exponent}"

    def ask() -> list[Answer]:
        path = tm.paths.extended_nu_path(data, nus, intercept=mode, time_limit=SECONDS)
        answers = []
        for row in path.rows:
            value = values[min(nus, key=lambda nu: abs(nu - row.nu))]
            factor = 2.0**exponent
            truth = optimum(value * factor, error=1e-7 * max(1.0, abs(value)) * factor, size=factor)
            said = pair(row.objective, row.bound, row.verdict, {"w": row.w, "b": row.b})
            answers.append(Answer(f"{words} at {row.nu:g}", said, truth, _below(said, truth)))
        return answers

    return Case(words, ask)


def norm_limit_case(rng: np.random.Generator, index: int) -> Case:
    """norm_limit: the least loss is that of the linear program, at any scale of the data."""
    X, y = q.points(rng, int(rng.integers(3, 11)), int(rng.integers(1, 4)))
    exponent = int(rng.choice([0, 0, 3, -3, 10, -10, 20, -20]))
    value = q.least_loss(rng, tm.TrainingData(X, y), "free").value()
    words = f"norm_limit n={len(y)} d={X.shape[1]} X*2^{exponent}"

    def ask() -> list[Answer]:
        found = tm.theory.norm_limit(tm.TrainingData(X * 2.0**exponent, y), time_limit=SECONDS)
        said = pair(found.least_loss, found.least_loss_bound, "CERTIFIED" if found.proven else "")
        truth = optimum(value, error=1e-8 * max(1.0, value), size=len(y))
        over = "H_lim: lower above upper" if found.lower > found.upper * (1 + 1e-6) else ""
        return [Answer(words, said, truth, over or _below(said, truth))]

    return Case(words, ask)


def budget_path_case(rng: np.random.Generator, index: int) -> Case:
    """conic_path for several budgets of violations, beside Theorem 2 with the same budget."""
    mode = str(rng.choice(["penalised", "none"]))
    X, y = q.points(rng, int(rng.integers(3, 9)), int(rng.integers(1, 3)))
    exponent = int(rng.choice([0, 3, -3, 10, -10, 20, -20])) if mode == "none" else 0
    budgets = sorted({float(rng.choice([0.125, 0.25, 0.5])) for _ in range(2)})
    unit, data = tm.TrainingData(X, y), tm.TrainingData(X * 2.0**exponent, y)
    words = f"conic_path n={data.n} d={data.d} {mode} X*2^{exponent} budgets {budgets}"

    def ask() -> list[Answer]:
        path = tm.paths.conic_path(data, budgets=budgets, intercept=mode, time_limit=SECONDS)
        answers, factor = [], 4.0**-exponent
        for row in path.rows:
            try:
                value = reference_solutions.theorem_2(unit, mode, budget=row.budget).value
            except q.NO_WITNESS:
                continue
            error = 1e-6 * max(1.0, abs(value)) * factor
            truth = optimum(value * factor, error=error, size=factor)
            said = pair(row.objective, row.bound, row.verdict, {"w": row.w, "z": row.z})
            answers.append(Answer(f"{words} at {row.budget:g}", said, truth, _below(said, truth)))
        return answers

    return Case(words, ask)


PATHS = (conic_path_case, conic_path_case, rsvm_path_case, nu_path_case, budget_path_case,
         norm_limit_case)  # fmt: skip


def path_case(rng: np.random.Generator, index: int) -> Case:
    """A path, or what ends one, by turns."""
    return PATHS[index % len(PATHS)](rng, index // len(PATHS))
