"""Questions about 0-1 and ramp loss, their relaxations, matrices and several classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.references import matrix as matrices
from tests.references import multiclass, reference_solutions
from tests.references import ramp_l1 as l1
from tests.soundness import exact
from tests.soundness.questions import BOUND_ON_B, NoWitnessError, Question, one_of


def zero_one(rng: np.random.Generator, data: Any, mode: str) -> Question:
    penalty = one_of(rng, 0.0625, 0.5, 2.0, 64.0)
    return Question(
        {"penalty": penalty, "big_m": "derived"},
        lambda: exact.zero_one(data.X, data.y, mode, penalty),
        {"penalty": -2},
        -2,
        error=0.0,
    )


def stated_m(rng: np.random.Generator, data: Any, mode: str) -> Question:
    if rng.random() < 0.3:
        return below_zero_one(rng, data, mode)
    penalty, M = one_of(rng, 0.25, 1.0, 4.0), one_of(rng, 2.0, 10.0, 50.0) * np.ones(data.n)
    value = lambda: reference_solutions.relaxation(data, mode, penalty, M).value  # noqa: E731
    return Question({"penalty": penalty, "big_m": M}, value, {"penalty": -2}, -2)


def stated_hinge(rng: np.random.Generator, data: Any, mode: str) -> Question:
    if rng.random() < 0.3:
        return below_zero_one(rng, data, mode)
    penalty, M = one_of(rng, 0.25, 1.0, 4.0), one_of(rng, 2.0, 10.0, 50.0) * np.ones(data.n)
    value = lambda: reference_solutions.hinge(data, mode, 1.0, penalty / M).value  # noqa: E731
    return Question({"penalty": penalty, "big_m": M}, value, {"penalty": -2}, -2)


def ramp(rng: np.random.Generator, data: Any, mode: str) -> Question:
    C = one_of(rng, 0.25, 1.0, 4.0)
    value = lambda: reference_solutions.ramp_optimum(data, mode, C)  # noqa: E731
    return Question({"C": C, "big_m": "derived"}, value, {"C": -2}, -2)


def ramp_relaxed(rng: np.random.Generator, data: Any, mode: str) -> Question:
    C, M = one_of(rng, 0.25, 1.0, 4.0), one_of(rng, 4.0, 20.0)
    value = lambda: reference_solutions.ramp_relaxation(data, mode, C, M)  # noqa: E731
    return Question({"C": C, "big_m": M * np.ones(data.n)}, value, {"C": -2}, -2)


def ramp_l1(rng: np.random.Generator, data: Any, mode: str) -> Question:
    C = one_of(rng, 0.25, 1.0, 4.0)
    value = lambda: l1.ramp_l1_optimum(data, mode, C)  # noqa: E731
    return Question({"C": C, "big_m": "derived"}, value, {"C": -1}, -1)


def ramp_l1_relaxed(rng: np.random.Generator, data: Any, mode: str) -> Question:
    C, M = one_of(rng, 0.25, 1.0, 4.0), one_of(rng, 4.0, 20.0)
    value = lambda: l1.ramp_l1_relaxation(data, mode, C, M)  # noqa: E731
    return Question({"C": C, "big_m": M * np.ones(data.n)}, value, {"C": -1}, -1)


def hull_of_choices(rng: np.random.Generator, data: Any, mode: str) -> Question:
    found = without_m(rng, data, mode)
    words = {"norm": str(rng.choice(["disjuncts", "objective"]))}
    return replace(found, parameters=found.parameters | words, upper=True)


def sdp(rng: np.random.Generator, data: Any, mode: str) -> Question:
    penalty = one_of(rng, 0.125, 1.0, 8.0)
    free = {"intercept_bound": BOUND_ON_B} if mode == "free" else {}
    top = BOUND_ON_B if mode == "free" else None
    value = lambda: reference_solutions.theorem_2(data, mode, penalty=penalty, bound_on_b=top).value  # noqa: E731
    # A bound far from the weights costs a conic solver, which the witness is, two digits.
    error = 1e-5 if mode == "free" else 1e-6
    return Question({"penalty": penalty, **free}, value, {"penalty": -2}, -2, error=error)


def sdp_budget(rng: np.random.Generator, data: Any, mode: str) -> Question:
    budget = one_of(rng, 0.125, 0.25, 0.5)
    free = {"intercept_bound": BOUND_ON_B} if mode == "free" else {}
    top = BOUND_ON_B if mode == "free" else None
    value = lambda: reference_solutions.theorem_2(data, mode, budget=budget, bound_on_b=top).value  # noqa: E731
    error = 1e-5 if mode == "free" else 1e-6
    return Question({"budget": budget, **free}, value, {}, -2, error=error)


def fixed(rng: np.random.Generator, data: Any, mode: str) -> Question:
    if mode == "free":
        raise NoWitnessError
    penalty = one_of(rng, 0.125, 1.0, 8.0)
    columns = data.X if mode == "none" else np.column_stack([data.X, np.ones(data.n)])
    gamma = rng.integers(0, 5, size=data.n) / 4
    top = np.linalg.eigvalsh(columns.T @ (gamma[:, None] * columns))[-1]
    gamma = gamma if top == 0 else gamma * 2.0 ** np.floor(np.log2(0.99 / top))
    value = lambda: reference_solutions.fixed_strengthening(data, mode, penalty, gamma)  # noqa: E731
    powers = {"penalty": -2, "strengthening": -2}
    return Question({"penalty": penalty, "strengthening": gamma}, value, powers, -2, error=1e-6)


def below_zero_one(rng: np.random.Generator, data: Any, mode: str) -> Question:
    """A relaxation whose own optimum nobody knows: what it bounds is known."""
    return replace(zero_one(rng, data, mode), upper=True)


def without_m(rng: np.random.Generator, data: Any, mode: str) -> Question:
    found = zero_one(rng, data, mode)
    return replace(found, parameters={"penalty": found.parameters["penalty"]})


def lift(rng: np.random.Generator, data: Any, mode: str) -> Question:
    found = without_m(rng, data, mode)
    return replace(found, parameters=found.parameters | {"partners": "none"}, upper=True)


def rank_one(rng: np.random.Generator, data: Any, mode: str) -> Question:
    found = without_m(rng, data, mode)
    words: dict[str, Any] = {"partners": 1 + int(rng.integers(3)), "groups": [(0, data.n - 1)]}
    words |= {"intercept_bound": "derived"} if mode == "free" else {}
    return replace(found, parameters=found.parameters | words, upper=True)


def strengthened(rng: np.random.Generator, data: Any, mode: str) -> Question:
    found = without_m(rng, data, mode)
    words = {"conflicts": str(rng.choice(["none", "pairs"]))}
    return replace(found, parameters=found.parameters | words, upper=True)


# --- matrices and classes -------------------------------------------------------------------------


def matrix(rng: np.random.Generator, data: Any, mode: str) -> Question:
    ridge = one_of(rng, 0.125, 1.0)
    value = lambda: reference_solutions.hinge(data, mode, ridge / 2, 1.0).value  # noqa: E731
    return Question({"ridge": ridge, "shape": "2x2"}, value, {"ridge": 2}, 0)


def matrix_rank(rng: np.random.Generator, data: Any, mode: str) -> Question:
    ridge = one_of(rng, 0.125, 1.0)
    value = lambda: matrices.rank_one_on_circle(data, 2, mode, ridge)  # noqa: E731
    return Question({"ridge": ridge, "shape": "2x2", "rank": 1}, value, {"ridge": 2}, 0, error=1e-6)


def matrices_of_classes(rng: np.random.Generator, data: Any, mode: str) -> Question:
    ridge = one_of(rng, 0.0625, 0.5)
    value = lambda: multiclass.matrix_machine(data, mode, ridge, (2, 2), rank=1)  # noqa: E731
    return Question({"ridge": ridge, "shape": "2x2", "rank": 1}, value, {"ridge": 2}, 0)


def nuclear_of_classes(rng: np.random.Generator, data: Any, mode: str) -> Question:
    ridge, tau = one_of(rng, 0.0625, 0.5), one_of(rng, 0.125, 0.5)
    value = lambda: multiclass.matrix_machine(data, mode, ridge, (2, 2), tau=tau)  # noqa: E731
    words = {"ridge": ridge, "shape": "2x2", "tau": tau}
    return Question(words, value, {"ridge": 2, "tau": 1}, 0)


def matrix_projection(rng: np.random.Generator, data: Any, mode: str) -> Question:
    ridge = one_of(rng, 0.125, 1.0)
    value = lambda: matrices.projection(data, (2, 2), mode, ridge, 1)  # noqa: E731
    return Question({"ridge": ridge, "shape": "2x2", "rank": 1}, value, {"ridge": 2}, 0, error=1e-6)


def matrix_nuclear(rng: np.random.Generator, data: Any, mode: str) -> Question:
    ridge, tau = one_of(rng, 0.125, 1.0), one_of(rng, 0.25, 1.0)
    value = lambda: matrices.nuclear(data, (2, 2), mode, ridge, tau)  # noqa: E731
    powers = {"ridge": 2, "tau": 1}
    return Question({"ridge": ridge, "shape": "2x2", "tau": tau}, value, powers, 0, error=1e-6)


def classes(rng: np.random.Generator, data: Any, mode: str) -> Question:
    ridge = one_of(rng, 0.0625, 0.25)
    value = lambda: float(multiclass.hinge_of_classes(data, mode, ridge).problem.value)  # noqa: E731
    return Question({"ridge": ridge}, value, {"ridge": 2}, 0)


def truncated(rng: np.random.Generator, data: Any, mode: str) -> Question:
    ridge, level = one_of(rng, 0.0625, 0.25), one_of(rng, -1.0, -0.5)
    value = lambda: multiclass.truncated_by_sets(data, mode, ridge, 1 - level)[0]  # noqa: E731
    parameters = {"ridge": ridge, "truncation": level, "big_m": "derived"}
    return Question(parameters, value, {"ridge": 2}, 0)


def truncated_relaxed(rng: np.random.Generator, data: Any, mode: str) -> Question:
    ridge, M = one_of(rng, 0.0625, 0.25), np.full(data.n, 50.0)

    def value() -> float:
        return multiclass.relaxation_of_classes(data, mode, ridge, 1.5, M)

    parameters = {"ridge": ridge, "truncation": -0.5, "big_m": M}
    return Question(parameters, value, {"ridge": 2}, 0)
