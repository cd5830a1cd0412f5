"""The linear relaxation of the outer loop: longest in a direction over Q and the cuts so far.

Algorithm 10's program (9) in the normalisation that makes cuts meaningful: instead of the least
objective at <w_ref, w> = 1 the largest <w_ref, w> at objective <= 1, which without cuts is the
same up to scaling. One live program; points are divided by `unit`, so that weights are of the
order of 1 whatever the data are measured in.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from cuts.cut import Cut
from cuts.cut_scaling import SMALLEST
from cuts.polar import PolarProblem
from formulations.extended_nu_svc import risk, without_norm
from formulations.rows import dot, total
from solvers import highs
from solvers.backend import Limits
from solvers.classify import classify
from solvers.errors import NumberError
from solvers.exact_lp import exact_lp_bound
from solvers.live.result import LiveResult
from solvers.persistent import LiveLP
from solvers.result import Status
from solvers.standard_form import standard_form

Array = NDArray[np.float64]

OPTIONS = {
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "presolve": "off",
}
FARKAS = "exact rational bound: the objective is {:.9g} or more wherever the cuts hold, not 1"
COLD = "a cold solve finds no point either"
PRICES = (1.0, 1e2, 1e4)
SHRUNK = (1e-4, 1e-8, 1e-2, 1e-6, 0.0)
FLAT = 1e-6  # of weights in a box of half width 1: far above the feasibility tolerance
USED = 1e-10  # relative: a smaller multiplier is rounding
RETRIES: tuple[Mapping[str, Any], ...] = (OPTIONS, OPTIONS | {"presolve": "on"}, {})
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

    Attributes
    ----------
    weight : array (k,)
        In the coordinates of the problem's points.
    answer : LiveResult
        The live program's own answer, in its own scale.
    """

    weight: Array
    answer: LiveResult


class Relaxation:
    """Q with cuts, in HiGHS between solves.

    Parameters
    ----------
    unit : float
        What points are divided by, rounded to a power of two: scaling then changes no digit.
    form : "auto", "primal" or "dual"
    deadline : float
        Of time.perf_counter(); solves after it raise TimeIsUpError.
    rebuilds : bool
        Whether a program that is lost is started anew; not where sides and bounds were changed.
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
        self.model = self._model()
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

    def _model(self) -> pyo.ConcreteModel:
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
                # Left out at the price of the side, as in cuts/cut_scaling.py.
                side += float((np.abs(part) * self.most[name])[small].sum())
                row[name] = np.where(small, 0.0, part)
        return {name: part * factor for name, part in row.items()}, side * factor

    def add(self, cut: Cut) -> None:
        """Add a cut.

        Raises
        ------
        LostNumbersError
            A coefficient that the solver would lose.
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

    # --- solving -------------------------------------------------------------------------------

    def longest(self, direction: Array) -> Found | None:
        """A vertex with the largest <direction, w>; None where nothing is left.

        Raises
        ------
        TimeIsUpError, InterruptedLoopError, LostNumbersError
        """
        self.price("w", -direction / float(np.linalg.norm(direction)))
        answer = self.resolve()
        return None if answer is None else Found(answer["w"] / self.unit, answer)

    def flat_weight(self) -> Array | None:
        """A weight other than 0 with h = 0, if there is one: then P has no end along it.

        Below nu_bar h is never negative, and such a weight is optimal with objective 0: it belongs
        to a hyperplane that separates the classes but for points on it.
        """
        model = self._model()
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

    def used_rows(self, found: Found, cuts: Iterable[Cut]) -> set[str]:
        """Rows of Q and cuts that have a multiplier at a vertex, as LiftedRows names them."""
        duals, problem = found.answer.row_duals, self.problem
        assert duals is not None
        n = len(problem.hulls.caps)
        margins, level = duals[:n], float(duals[n])
        slacks = -margins - level * problem.hulls.caps
        used = {}
        for cut in cuts:
            row, _ = self.inner_row(cut)
            used[cut.name] = float(duals[self._rows[cut.number]])
            slacks = slacks - used[cut.name] * row.get("xi", 0.0)
        used |= {f"margin {i}": price for i, price in enumerate(margins.tolist())}
        used |= {f"xi {i}": price for i, price in enumerate(slacks.tolist())}
        used["level"] = level
        least = USED * max(abs(price) for price in used.values())
        return {name for name, price in used.items() if abs(price) > least}

    def values(self, found: Found) -> dict[str, Array]:
        """A point by variable name, in the coordinates of the data."""
        problem, answer = self.problem, found.answer
        named = problem.split(found.weight)
        if problem.intercept == "free":
            named["b"] = answer["b"] - float(found.weight @ problem.shift)
        return named | {"rho": answer["rho"], "xi": answer["xi"]}

    def lifted_point(self, found: Found) -> Array:
        """All variables (weight, b, rho, xi) of a point, in the order and scale of LiftedRows."""
        answer = found.answer
        free = [float(answer["b"])] if self.problem.hulls.free else []
        return np.r_[answer["w"], free, float(answer["rho"]), answer["xi"]]

    def resolve(self) -> LiveResult | None:
        """Solve the program as it stands; None where nothing is left.

        From its last basis the simplex code is sometimes lost, where from none it is not: then the
        program is started anew, and with presolve and its own tolerances after that. No cut relies
        on the accuracy of these solutions.

        Raises
        ------
        TimeIsUpError, InterruptedLoopError, LostNumbersError
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
        return None if bound is None else -bound * float(np.linalg.norm(direction)) / self.unit

    def reach(self, longest: float) -> dict[str, Array]:
        """Largest |value| of every variable of the data's models over the relaxation.

        Parameters
        ----------
        longest : float
            Bound on ||w||.
        """
        problem = self.problem
        self.price("w", np.zeros(problem.hulls.k))
        most: dict[str, Array] = {}
        for name in ("b", "rho") if problem.hulls.free else ("rho",):
            ends = []
            for sign in (1.0, -1.0):
                self.price(name, sign)
                answer = self.resolve()
                if answer is None:
                    raise LostNumbersError("the relaxation is empty before the first cut")
                ends.append(abs(float(answer[name])))
            self.price(name, 0.0)
            most[name] = np.array(1.01 * max(ends))
        most["xi"] = (1 + problem.nu * most["rho"]) / problem.hulls.caps
        self.most = {"w": np.array(longest * self.unit)} | most
        shift = longest * float(np.linalg.norm(problem.shift))
        b = most["b"] + shift if problem.hulls.free else np.array(longest)
        return {"w": np.array(longest), "b": b, "rho": most["rho"], "xi": most["xi"]}

    def emptiness(self, cuts: list[Cut]) -> str:
        """What proves that nothing is left; an empty string when nothing does.

        Nothing is left when the least objective that the cuts allow is above 1. A cut may be
        violated at a high price in that program, so that it has a point; its bound is exact, and
        rows and cuts come from a model that is built anew. Failing that, a cold solve.
        """
        for price in PRICES:
            for shrunk in SHRUNK:
                bound = self._least_objective(cuts, price, shrunk)
                if bound is not None and bound > 1:
                    return FARKAS.format(bound)
                if bound is not None and bound < 1 - 2 * shrunk:
                    break  # more than what smaller weights cost is missing: a higher price is due
        model = self._model()
        self._add_rows(model, cuts, None)
        cold = LiveLP(model, form="primal", options=OPTIONS | {"presolve": "on"}).resolve()
        return COLD if cold.status is Status.INFEASIBLE else ""

    def _least_objective(self, cuts: list[Cut], price: float, shrunk: float) -> float | None:
        """Exact lower bound on -nu rho + sum c_i xi_i + price times the violation of the cuts.

        The multipliers are those of weights c_i that are smaller by a share `shrunk`: so they lie
        strictly inside the limits that the true ones set, and have room to be repaired.
        """
        forms = []
        for factor in (1 - shrunk, 1.0):
            model = self._model()
            model.level.deactivate()
            model.beyond = pyo.Var(range(len(cuts)), bounds=(0, None))
            self._add_rows(model, cuts, model.beyond)
            model.objective.deactivate()
            costs = factor * self.problem.hulls.caps
            terms = [dot(costs, model.xi), dot(np.full(len(cuts), price), model.beyond)]
            model.least = pyo.Objective(expr=total(-model.nu * model.rho, *terms))
            forms.append(standard_form(model))
        claim = highs.run(forms[0], classify(forms[0]), Limits())
        return None if claim.duals is None else exact_lp_bound(forms[1], claim.duals.rows)

    def _add_rows(self, model: pyo.ConcreteModel, cuts: list[Cut], beyond: pyo.Var | None) -> None:
        for k, cut in enumerate(cuts):
            row, side = self.inner_row(cut)
            body = pyo.quicksum(
                factor * variable
                for name, part in row.items()
                for factor, variable in zip(
                    np.ravel(part).tolist(), model.find_component(name).values(), strict=True
                )
                if factor != 0
            )
            slack = 0.0 if beyond is None else beyond[k]
            model.add_component(cut.name, pyo.Constraint(expr=body - slack <= side))
