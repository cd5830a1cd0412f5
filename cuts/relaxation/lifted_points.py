"""Answers of the relaxation in the lifted space: all variables, their multipliers, their reach."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.relaxation.relaxation import Found, LostNumbersError, Relaxation
from tightmargin.formulations.data.arrays import Array

USED = 1e-10  # relative: a smaller multiplier is rounding


def values_at(problem: PolarProblem, found: Found) -> dict[str, Array]:
    """A point by variable name, in the coordinates of the data."""
    answer = found.answer
    named = problem.split(found.weight)
    if problem.intercept == "free":
        named["b"] = answer["b"] - float(found.weight @ problem.shift)
    return named | {"rho": answer["rho"], "xi": answer["xi"]}


def lifted_point(problem: PolarProblem, found: Found) -> Array:
    """All variables (weight, b, rho, xi) of a point, in the order and scale of LiftedRows."""
    answer = found.answer
    free = [float(answer["b"])] if problem.hulls.free else []
    return np.r_[answer["w"], free, float(answer["rho"]), answer["xi"]]


def used_rows(relaxation: Relaxation, found: Found, cuts: Iterable[Cut]) -> set[str]:
    """Rows of Q and cuts that have a multiplier at a vertex, as LiftedRows names them."""
    duals, problem = found.answer.row_duals, relaxation.problem
    assert duals is not None
    n = len(problem.hulls.caps)
    margins, level = duals[:n], float(duals[n])
    slacks = -margins - level * problem.hulls.caps
    used = {}
    for cut in cuts:
        row, _ = relaxation.inner_row(cut)
        used[cut.name] = relaxation.multiplier(cut, found)
        slacks = slacks - used[cut.name] * row.get("xi", 0.0)
    used |= {f"margin {i}": price for i, price in enumerate(margins.tolist())}
    used |= {f"xi {i}": price for i, price in enumerate(slacks.tolist())}
    used["level"] = level
    least = USED * max(abs(price) for price in used.values())
    return {name for name, price in used.items() if abs(price) > least}


def reach_of(relaxation: Relaxation, longest: float) -> dict[str, Array]:
    """Largest |value| of every variable of the data's models over the relaxation.

    relaxation: without cuts yet; `most` is set, and its costs are changed.
    longest: bound on ||w||.
    Raises LostNumbersError, TimeIsUpError, InterruptedLoopError.
    """
    problem = relaxation.problem
    relaxation.price("w", np.zeros(problem.hulls.k))
    most: dict[str, Array] = {}
    for name in ("b", "rho") if problem.hulls.free else ("rho",):
        ends = []
        for sign in (1.0, -1.0):
            relaxation.price(name, sign)
            answer = relaxation.resolve()
            if answer is None:
                raise LostNumbersError("the relaxation is empty before the first cut")
            ends.append(abs(float(answer[name])))
        relaxation.price(name, 0.0)
        most[name] = np.array(1.01 * max(ends))
    most["xi"] = (1 + problem.nu * most["rho"]) / problem.hulls.caps
    relaxation.most = {"w": np.array(longest * relaxation.unit)} | most
    shift = longest * float(np.linalg.norm(problem.shift))
    b = most["b"] + shift if problem.hulls.free else np.array(longest)
    return {"w": np.array(longest), "b": b, "rho": most["rho"], "xi": most["xi"]}
