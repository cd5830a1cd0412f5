"""Cases of the catalogue: an entry, data, a scale, a solver; and the cases of its estimators."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import tightmargin as tm
from tests.soundness import questions as q
from tests.soundness import relaxations as r
from tests.soundness.asking import SECONDS, said_by, solving, some_solver
from tests.soundness.judge import Answer, Case, Kind, Truth

FREE, ALL = ("free", "none"), ("free", "penalised", "none")
# Powers of two by which data are multiplied; with a penalised intercept the problem is not
# homogeneous, and its data are drawn at the scale.
EXPONENTS = (0, 0, 0, 0, -3, 3, -10, 10, 20, -20, 26, -26)


@dataclass(frozen=True)
class Trial:
    """How an entry is tried.

    Attributes
    ----------
    sign : int
        -1 of a dual, which minimises minus the value.
    data : str
        any, separable, matrices (2 x 2) or classes.
    most : int
        Points; enumeration takes few.
    paper : bool
        The optimum is the paper's unless numbers M are stated: then it is the model's.
    """

    draw: q.Draw
    sign: int = 1
    data: str = "any"
    most: int = 12
    modes: tuple[str, ...] = ALL
    features: int = 3
    paper: bool = False


TRIALS = {
    "c_svc": Trial(q.c_svc),
    "c_svc_dual": Trial(q.c_svc, -1),
    "soft_margin_svc": Trial(q.soft),
    "soft_margin_svc_dual": Trial(q.soft, -1),
    "kernel_soft_margin_svc": Trial(q.soft),
    "weighted_svc": Trial(q.weighted),
    "hard_margin_svc": Trial(q.hard, data="separable"),
    "hard_margin_svc_dual": Trial(q.hard, -1, data="separable"),
    "max_margin_svc": Trial(q.margin, data="separable"),
    "regularised_svc": Trial(q.regularised),
    "deviance_svc": Trial(q.deviance),
    "hinge_power_svc": Trial(q.hinge_power),
    "nu_svc": Trial(q.nu_svc),
    "nu_svc_dual": Trial(q.nu_svc, -1),
    "extended_nu_svc": Trial(q.extended, modes=ALL, features=2, most=9),
    "extended_nu_svc_reverse": Trial(q.extended, modes=ALL, features=2, most=9),
    "extended_nu_svc_polar": Trial(q.polar, modes=ALL, features=2, most=9),
    "min_cvar": Trial(q.cvar, modes=ALL, features=2, most=9),
    "extended_nu_svc_ball": Trial(q.ball),
    "extended_nu_svc_dual": Trial(q.ball, -1),
    "extended_nu_svc_linearised": Trial(q.linearised),
    "extended_nu_svc_linearised_dual": Trial(q.linearised, -1),
    "extended_robust_svc": Trial(q.robust, most=7, features=2, paper=True),
    "rsvm": Trial(q.rigorous),
    "rsvm_dual": Trial(q.rigorous, -1),
    "rsvm_dual_perspective": Trial(q.rigorous, -1),
    "rsvm_relaxed": Trial(q.least_loss),
    "rsvm_kernel_relaxed": Trial(q.least_loss),
    "reduced_hull_svc": Trial(q.hull),
    "zero_one_big_m": Trial(r.zero_one, most=9, features=2, paper=True),
    "zero_one_bilinear": Trial(r.without_m, most=6, features=2, paper=True),
    "zero_one_kernel": Trial(r.without_m, most=6, features=2, paper=True),
    "zero_one_disjunctive": Trial(r.without_m, most=8, features=2, paper=True),
    "zero_one_relaxed": Trial(r.stated_m, features=2, most=9, paper=True),
    "zero_one_hinge": Trial(r.stated_hinge, features=2, most=9, paper=True),
    "ramp_big_m": Trial(r.ramp, most=5, features=2, paper=True),
    "ramp_relaxed": Trial(r.ramp_relaxed, paper=True),
    "ramp_l1_big_m": Trial(r.ramp_l1, most=5, features=2, paper=True),
    "ramp_l1_relaxed": Trial(r.ramp_l1_relaxed, paper=True),
    "zero_one_disjunctive_relaxed": Trial(r.hull_of_choices, most=8, features=2, paper=True),
    "conic_fixed": Trial(r.fixed, modes=("penalised", "none")),
    "conic_sdp": Trial(r.sdp),
    "conic_sdp_literal": Trial(r.sdp),
    "conic_sdp_eliminated": Trial(r.sdp),
    "conic_sdp_dual": Trial(r.sdp, -1),
    "conic_sdp_budget": Trial(r.sdp_budget),
    "conic_sdp_strengthened": Trial(r.strengthened, most=8, features=2, paper=True),
    "conic_sdp_lift": Trial(r.lift, most=7, features=2, paper=True),
    "conic_sdp_rank_one": Trial(r.rank_one, most=7, features=2, paper=True),
    "matrix_svc_full": Trial(r.matrix, data="matrices"),
    "matrix_svc_bilinear": Trial(r.matrix_rank, data="matrices", most=7),
    "matrix_svc_projection": Trial(r.matrix_projection, data="matrices"),
    "matrix_svc_nuclear": Trial(r.matrix_nuclear, data="matrices"),
    "multiclass_hinge": Trial(r.classes, data="classes", most=8),
    "multiclass_matrix_projection": Trial(r.matrices_of_classes, data="class_matrices", most=8),
    "multiclass_matrix_nuclear": Trial(r.nuclear_of_classes, data="class_matrices", most=8),
    "multiclass_truncated": Trial(r.truncated, data="classes", most=5),
    "multiclass_truncated_relaxed": Trial(r.truncated_relaxed, data="classes", most=8),
}

GROUPS = {
    "hinge": ("c_svc", "c_svc_dual", "soft_margin_svc", "soft_margin_svc_dual",
              "kernel_soft_margin_svc", "weighted_svc"),
    "losses": ("regularised_svc", "deviance_svc", "hinge_power_svc"),
    "margin": ("hard_margin_svc", "hard_margin_svc_dual", "max_margin_svc"),
    "nu": ("nu_svc", "nu_svc_dual", "reduced_hull_svc"),
    "extended_nu": ("extended_nu_svc", "extended_nu_svc_reverse", "extended_nu_svc_polar",
                    "min_cvar", "extended_robust_svc"),
    "linearised": ("extended_nu_svc_ball", "extended_nu_svc_dual", "extended_nu_svc_linearised",
                   "extended_nu_svc_linearised_dual"),
    "rigorous": ("rsvm", "rsvm_dual", "rsvm_dual_perspective", "rsvm_relaxed",
                 "rsvm_kernel_relaxed"),
    "zero_one": ("zero_one_big_m", "zero_one_bilinear", "zero_one_kernel",
                 "zero_one_disjunctive",
                 "zero_one_relaxed", "zero_one_hinge", "zero_one_disjunctive_relaxed"),
    "ramp": ("ramp_big_m", "ramp_relaxed", "ramp_l1_big_m", "ramp_l1_relaxed"),
    "conic": ("conic_sdp", "conic_sdp_literal", "conic_sdp_eliminated", "conic_sdp_dual",
              "conic_sdp_budget", "conic_fixed", "conic_sdp_strengthened",
              "conic_sdp_lift", "conic_sdp_rank_one"),
    "matrix": ("matrix_svc_full", "matrix_svc_bilinear", "matrix_svc_projection",
               "matrix_svc_nuclear"),
    "classes": ("multiclass_hinge", "multiclass_truncated", "multiclass_truncated_relaxed",
                "multiclass_matrix_projection", "multiclass_matrix_nuclear"),
}  # fmt: skip


Drawn = tuple[Any, dict[str, Any], Truth, str]


def draw(rng: np.random.Generator, trial: Trial, kernel: bool) -> Drawn:
    """Data, hyperparameters, optimum, and words for all three; with a kernel the Gram matrix."""
    mode = str(rng.choice(trial.modes))
    of_classes = trial.data in ("classes", "class_matrices")
    n = int(rng.integers(4 if of_classes else 2, trial.most + 1))
    d = (
        4
        if trial.data in ("matrices", "class_matrices")
        else int(rng.integers(1, trial.features + 1))
    )
    X, y = q.points(rng, n, d)
    if trial.data == "separable":
        X, y = q.separated(rng, X)
    exponent = int(rng.choice(EXPONENTS))
    if mode == "penalised":
        X, exponent = X * 2.0 ** np.clip(exponent, -2, 2), 0
    s = 2.0**exponent
    if of_classes:
        labels = rng.permutation(np.arange(n) % 3)
        unit, scaled = tm.MulticlassData(X, labels), tm.MulticlassData(X * s, labels)
    else:
        unit, scaled = tm.TrainingData(X, y), tm.TrainingData(X * s, y)
    asked = trial.draw(rng, unit, mode)
    parameters = {
        name: value * s ** asked.powers[name] if name in asked.powers else value
        for name, value in asked.parameters.items()
    }
    factor = Fraction(2) ** (exponent * asked.power)
    value = asked.value()
    truth = Truth(
        Kind.POINT if asked.upper else Kind.OPTIMUM,
        trial.sign * Fraction(value) * factor,
        error=asked.error * max(1.0, abs(float(value))) * float(factor),
        size=unit.n * factor,
        paper=trial.paper and isinstance(asked.parameters.get("big_m", ""), str),
    )
    words = f"n={n} d={d} {mode} X*2^{exponent} {_short(asked.parameters)}"
    if kernel:  # of the same points: its entries are exact, and its rank is that of X
        scaled, words = tm.GramData((X * s) @ (X * s).T, y), f"Gram {words}"
    return scaled, {"intercept": mode, **parameters}, truth, words


def _short(parameters: dict[str, Any]) -> str:
    return " ".join(
        f"{name}={np.ravel(value)[0]}{'..' if np.size(value) > 1 else ''}"
        for name, value in parameters.items()
    )


def drawn(rng: np.random.Generator, trial: Trial, kernel: bool = False) -> Drawn:
    """The first draw that its witness knows an optimum of."""
    while True:
        try:
            return draw(rng, trial, kernel)
        except q.NO_WITNESS:
            continue


def entry_case(group: str, rng: np.random.Generator, index: int) -> Case:
    """One entry of a group by turns, as the catalogue builds it."""
    name = GROUPS[group][index % len(GROUPS[group])]
    kernel = tm.GramData in tm.catalogue[name].takes and rng.random() < 0.35
    data, parameters, truth, words = drawn(rng, TRIALS[name], kernel)
    solver = some_solver(rng, tm.catalogue[name].problem_class)
    label = f"{name} {words}"
    # Building may refuse as well: a refusal belongs to the answer.
    return Case(
        f"{label} by {solver}",
        lambda: solving(label, tm.build(name, data, **parameters), truth, solver).ask(),
    )


# Entries that give a classifier and need nothing that an estimator does not take.
ESTIMATED = ("c_svc", "soft_margin_svc", "weighted_svc", "nu_svc", "hard_margin_svc",
             "zero_one_big_m", "rsvm", "extended_nu_svc", "ramp_big_m", "conic_sdp")  # fmt: skip


def estimator_case(rng: np.random.Generator, index: int) -> Case:
    """FormulationClassifier(uncertified="raise"): what it fits, it calls certified."""
    name = ESTIMATED[index % len(ESTIMATED)]
    data, parameters, truth, words = drawn(rng, TRIALS[name])
    label = f"estimator {name} {words}"

    def ask() -> list[Answer]:
        machine = tm.FormulationClassifier(
            name, uncertified="raise", time_limit=SECONDS, **parameters
        )
        try:
            machine.fit(data.X, data.y)
        except tm.UncertifiedError as refusal:
            raise ValueError(str(refusal)) from None
        said = said_by(machine.result_)
        if not said.proven:
            return [Answer(label, said, truth, "fitted without CERTIFIED and did not raise")]
        return [Answer(label, said, truth)]

    return Case(label, ask)
