"""SCIP with a constraint handler that asks for rows wherever a point could be accepted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tightmargin.cuts.separation.asking import Asking, needs_vertices
from tightmargin.cuts.separation.engines.ended import Ended
from tightmargin.cuts.separation.errors import HaltError
from tightmargin.cuts.separation.found_rows import FoundRow
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines import scip
from tightmargin.solvers.engines.registry import choose
from tightmargin.solvers.engines.running import Limits, StopReason
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.convexity import classify

# Points are asked about after everything else has found nothing wrong with them.
LAST = -5_000_000
# What SCIP concludes from the rows that it sees need not hold with those that are still to come.
RESTRAINED = {
    "misc/allowstrongdualreds": False,
    "misc/allowweakdualreds": False,
    "misc/usesymmetry": 0,
}

# Without anything that changes bounds, SCIP's points are vertices of the rows that there are.
AT_VERTICES = {"propagating/maxrounds": 0, "propagating/maxroundsroot": 0}


def refuse(asking: Asking, limits: Limits) -> None:
    """Raise for a model that SCIP does not take."""
    kind = classify(asking.base).problem_class
    choose("scip", kind, asking.base, timed=limits.time_limit is not None)


def run(asking: Asking, limits: Limits, fractional: bool) -> Ended:
    """One search, with the separators as a constraint that SCIP knows nothing else of."""

    def prepare(model: Any, x: list[Any]) -> None:
        import pyscipopt

        if any(needs_vertices(separator) for separator in asking.separators.values()):
            off = pyscipopt.SCIP_PARAMSETTING.OFF
            model.setPresolve(off)
            model.setHeuristics(off)
            model.setSeparating(off)
            settings = RESTRAINED | AT_VERTICES
        else:
            settings = RESTRAINED
        for name, value in settings.items():
            if name not in limits.options:
                model.setParam(name, value)
        handler = _handler(_Separation(asking, x, pyscipopt.SCIP_STAGE.SOLVING))
        model.includeConshdlr(
            handler, "separators", "rows that are found while the model is solved",
            sepapriority=0, enfopriority=LAST, chckpriority=LAST, sepafreq=1 if fractional else -1,
            needscons=False,
        )  # fmt: skip

    claim = scip.run(asking.base, limits, prepare)
    return Ended(
        _stop(asking, claim), claim.status, claim.message, claim.x, claim.bound,
        version=claim.version, log=claim.log,
    )  # fmt: skip


def _stop(asking: Asking, claim: Claim) -> StopReason:
    if asking.stop is not None:
        return asking.stop
    if claim.status is Status.INTERRUPTED:
        return StopReason.INTERRUPTED
    if claim.status in (Status.OPTIMAL, Status.INFEASIBLE):
        return StopReason.PROVEN
    limits = {"timelimit": StopReason.TIME_LIMIT, "nodelimit": StopReason.NODE_LIMIT}
    return limits.get(claim.message, StopReason.NUMERICAL)


class _Separation:
    """What the constraint handler does, apart from SCIP's words for it.

    Rows that are found at a point of a heuristic cannot be added there, and wait for the next LP.
    """

    def __init__(self, asking: Asking, x: list[Any], solving: int) -> None:
        self.asking, self.x, self.solving = asking, x, solving
        self.waiting: list[FoundRow] = []

    def accepts(self, model: Any, solution: Any) -> bool:
        """Whether nothing is missing at a point; what is waits."""
        point = self._point(model, solution)
        if self._waits_for(point):
            return False
        missed = self._asked(model, point)
        self.waiting += missed or []
        return missed == []

    def added(self, model: Any) -> bool | None:
        """Whether the LP's point misses rows, which are in SCIP then; None where asking failed."""
        point, rows = self._point(model, None), self.waiting
        if not self._waits_for(point):
            missed = self._asked(model, point)
            if not missed:
                return None if missed is None else False
            rows = [*rows, *missed]
        self.waiting = []
        for row in rows:
            self._add(model, row)
        return True

    def _waits_for(self, point: Array) -> bool:
        return any(self.asking.misses(row, point) for row in self.waiting)

    def _asked(self, model: Any, point: Array) -> list[FoundRow] | None:
        if not np.isfinite(point).all():
            return []
        try:
            return self.asking.at(point, *self._place(model), again=True)
        except HaltError:
            model.interruptSolve()
            return None

    def _place(self, model: Any) -> tuple[float | None, int | None]:
        """Bound and number of the node; points are checked before and after the search too."""
        if model.getStage() != self.solving:
            return None, None
        node, bound = model.getCurrentNode(), float(model.getDualbound())
        known = bound if abs(bound) < model.infinity() else None
        return known, None if node is None else int(node.getNumber())

    def _point(self, model: Any, solution: Any) -> Array:
        return np.array([model.getSolVal(solution, variable) for variable in self.x])

    def _add(self, model: Any, row: FoundRow) -> None:
        pairs = zip(row.index.tolist(), row.numbers.tolist(), strict=True)
        terms = sum(number * self.x[j] for j, number in pairs)
        if math.isfinite(row.lower):
            model.addCons(terms >= row.lower, name=row.name)
        if math.isfinite(row.upper):
            model.addCons(terms <= row.upper, name=row.name)


def _handler(separation: _Separation) -> Any:
    """The constraint handler; its class can be made only where pyscipopt is installed."""
    import pyscipopt

    code = pyscipopt.SCIP_RESULT
    enforced = {None: code.INFEASIBLE, True: code.CONSADDED, False: code.FEASIBLE}
    separated = {None: code.DIDNOTFIND, True: code.CONSADDED, False: code.DIDNOTFIND}
    checked = {True: code.FEASIBLE, False: code.INFEASIBLE}

    class Separators(pyscipopt.Conshdlr):
        """No constraint of its own: the rows that it finds are linear ones of SCIP's."""

        def conscheck(self, constraints: Any, solution: Any, *_: Any) -> dict[str, Any]:
            return {"result": checked[separation.accepts(self.model, solution)]}

        def consenfolp(self, *_: Any) -> dict[str, Any]:
            return {"result": enforced[separation.added(self.model)]}

        def consenfops(self, *_: Any) -> dict[str, Any]:
            return {"result": enforced[separation.added(self.model)]}

        def conssepalp(self, *_: Any) -> dict[str, Any]:
            return {"result": separated[separation.added(self.model)]}

        def conslock(self, constraint: Any, locktype: Any, nlockspos: int, nlocksneg: int) -> None:
            """A row may hold any variable down or up."""
            both = nlockspos + nlocksneg
            for variable in separation.x:
                inside = self.model.getTransformedVar(variable)
                self.model.addVarLocksType(inside, locktype, both, both)

    return Separators()
