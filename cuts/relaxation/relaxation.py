"""The linear relaxation of the outer loop: longest in a direction over Q and the cuts so far.

Algorithm 10's program (9) in the normalisation that makes cuts meaningful: instead of the least
objective at <w_ref, w> = 1 the largest <w_ref, w> at objective <= 1, which without cuts is the
same up to scaling. One live program; points are divided by `unit`, so that weights are of the
order of 1 whatever the data are measured in.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.cut.scaling import SMALLEST
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.affine_rows import dot
from tightmargin.formulations.nu.extended import risk, without_norm
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.live_lp import LiveLP, LiveResult
from tightmargin.solvers.model.claim import Status

OPTIONS = {
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "presolve": "off",
}
FLAT = 1e-6  # of weights in a box of half width 1: far above the feasibility tolerance
RETRIES: tuple[Mapping[str, Any], ...] = (OPTIONS, OPTIONS | {"presolve": "on"}, {})
ROUNDED = 1e-13  # of a length: more than a norm of a few numbers and two products round
LEAST_TIME = 1e-3  # seconds left that are still worth a solve


def power_of_two(number: float) -> float:
    """The largest power of two up to a positive number."""
    return math.ldexp(1.0, math.frexp(number)[1] - 1)


class TimeIsUpError(Exception):
    """The time limit passed."""


class InterruptedLoopError(Exception):
    """Ctrl-C was pressed."""


class LostNumbersError(Exception):
    """A linear program ended without an answer to build on."""


@dataclass(frozen=True, eq=False)
class Found:
    """An optimal point of the relaxation.

    weight (k,): in the coordinates of the problem's points.
    answer: the live program's own answer, in its own scale.
    """

    weight: Array
    answer: LiveResult


class Relaxation:
    """Q with cuts, in HiGHS between solves.

    unit: what points are divided by, rounded to a power of two: scaling then changes no digit.
    deadline: of time.perf_counter(); solves after it raise TimeIsUpError.
    rebuilds: whether a program that is lost is started anew; not where sides and bounds were
        changed.
    """

    def __init__(
        self,
        problem: PolarProblem,
        unit: float,
        form: str = "auto",
        deadline: float = np.inf,
        rebuilds: bool = True,
    ) -> None:
        self.problem, self.unit, self.deadline = problem, power_of_two(unit), deadline
        self.solves = 0
        self.model = self.fresh_model()
        self.form, self.rebuilds = form, rebuilds
        self.most: dict[str, Array] = {}  # largest |value| of its variables, as far as known
        self._held: dict[int, Cut] = {}
        self._costs: dict[str, ArrayLike] = {}
        self._start()

    def _start(self, options: Mapping[str, Any] = OPTIONS) -> None:
        """A live program from scratch, with the cuts and the costs that are held."""
        self.live = LiveLP(self.model, form=self.form, options=options)
        self._rows: dict[int, int] = {}
        for cut in self._held.values():
            self._write(cut)
        for name, cost in self._costs.items():
            self.live.change_cost(name, cost)

    def price(self, name: str, cost: ArrayLike) -> None:
        """Give a variable other costs."""
        self.live.change_cost(name, cost)
        self._costs[name] = cost

    def fresh_model(self) -> pyo.ConcreteModel:
        """Q without cuts, divided by `unit`, as an ordinary model."""
        problem = self.problem
        inner = problem.inner_data(self.unit)
        mode = "free" if problem.hulls.free else "none"
        m = without_norm(inner, problem.nu, problem.hulls.caps, "takeda", mode)
        m.level = pyo.Constraint(expr=risk(m, inner, problem.hulls.caps, "takeda") <= 1)
        m.objective = pyo.Objective(expr=dot(np.ones(inner.d), m.w))
        return m

    # --- cuts ----------------------------------------------------------------------------------

    def inner_row(self, cut: Cut) -> tuple[dict[str, Array], float]:
        """Coefficients of a cut for the variables of the relaxation, and its side."""
        problem = self.problem
        parts = dict(cut.coefficients)
        w = problem.weight_part(parts)
        if problem.intercept == "free" and "b" in parts:
            w = w - float(parts["b"]) * problem.shift
        row = {"w": w / self.unit}
        names = ("rho", "xi") if problem.intercept != "free" else ("b", "rho", "xi")
        row |= {name: parts[name] for name in names if name in parts}
        largest = max(float(np.abs(part).max(initial=0.0)) for part in row.values())
        factor, side = power_of_two(1 / largest), cut.rhs
        for name, part in row.items():
            small = (np.abs(part) <= 2 * SMALLEST * largest) & (part != 0)
            if small.any() and name in self.most:
                # Left out at the price of the side, as in cuts/cut/scaling.py.
                side += float((np.abs(part) * self.most[name])[small].sum())
                row[name] = np.where(small, 0.0, part)
        return {name: part * factor for name, part in row.items()}, side * factor

    def add(self, cut: Cut) -> None:
        """Add a cut.

        Raises LostNumbersError: a coefficient that the solver would lose.
        """
        self._write(cut)
        self._held[cut.number] = cut

    def _write(self, cut: Cut) -> None:
        row, side = self.inner_row(cut)
        try:
            self._rows[cut.number] = self.live.add_cut(row, upper=side)
        except NumberError as error:
            raise LostNumbersError(f"{cut.name}: {error}") from None

    def remove(self, cut: Cut) -> None:
        """Take a cut out."""
        self.live.remove_cut(self._rows.pop(cut.number))
        del self._held[cut.number]

    def multiplier(self, cut: Cut, found: Found) -> float:
        """Of a cut at an optimal point."""
        assert found.answer.row_duals is not None
        return float(found.answer.row_duals[self._rows[cut.number]])

    # --- solving -------------------------------------------------------------------------------

    def longest(self, direction: Array) -> Found | None:
        """A vertex with the largest <direction, w>; None where nothing is left.

        Raises TimeIsUpError, InterruptedLoopError, LostNumbersError.
        """
        self.price("w", -direction / float(np.linalg.norm(direction)))
        answer = self.resolve()
        return None if answer is None else Found(answer["w"] / self.unit, answer)

    def flat_weight(self) -> Array | None:
        """A weight other than 0 with h = 0, if there is one: then P has no end along it.

        Below nu_bar h is never negative, and such a weight is optimal with objective 0: it belongs
        to a hyperplane that separates the classes but for points on it.
        """
        model = self.fresh_model()
        model.w.setlb(-1.0)
        model.w.setub(1.0)
        live = LiveLP(model, form="primal", options=OPTIONS)
        live.change_sides("level", None, 0.0)
        for axis in np.eye(self.problem.hulls.k):
            for sign in (1.0, -1.0):
                live.change_cost("w", sign * axis)
                answer = live.resolve()
                self.solves += 1
                if answer.status is Status.OPTIMAL and np.abs(answer["w"]).max() > FLAT:
                    return answer["w"] / self.unit
        return None

    def resolve(self) -> LiveResult | None:
        """Solve the program as it stands; None where nothing is left.

        From its last basis the simplex code is sometimes lost, where from none it is not: then the
        program is started anew, and with presolve and its own tolerances after that. No cut relies
        on the accuracy of these solutions.

        Raises TimeIsUpError, InterruptedLoopError, LostNumbersError.
        """
        answer = self._run()
        for options in RETRIES if self.rebuilds else ():
            if answer.status in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED):
                break
            self._start(options)
            answer = self._run()
        if answer.status is Status.OPTIMAL:
            return answer
        if answer.status is Status.INFEASIBLE:
            return None
        raise LostNumbersError(f"a linear program ended with {answer.status}: {answer.message}")

    def _run(self) -> LiveResult:
        left = self.deadline - time.perf_counter()
        if left < LEAST_TIME:
            raise TimeIsUpError
        self.solves += 1
        answer = self.live.resolve(left if np.isfinite(left) else None)
        if answer.status is Status.INTERRUPTED:
            raise InterruptedLoopError
        if answer.status is not Status.OPTIMAL and time.perf_counter() > self.deadline:
            raise TimeIsUpError
        return answer

    def proven_length(self, direction: Array) -> float | None:
        """A proven bound on <direction, w> over the relaxation; None when none can be had.

        Minus infinity where nothing is left.
        """
        if self.longest(direction) is None:
            return -np.inf
        bound = self.live.proven_bound()
        if bound is None:
            return None
        length = -bound * float(np.linalg.norm(direction)) / self.unit
        return length + ROUNDED * abs(length)
