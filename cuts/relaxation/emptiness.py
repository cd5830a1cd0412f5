"""Whether cuts leave nothing of the polytope: a proof in exact arithmetic, or a solver's word."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.relaxation.relaxation import OPTIONS, Relaxation
from tightmargin.formulations.modeling.affine_rows import dot, total
from tightmargin.solvers.backends import highs
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.persistent.live_lp import LiveLP
from tightmargin.solvers.proofs.exact_lp import exact_lp_bound
from tightmargin.solvers.result import Status
from tightmargin.solvers.standard_form.standard_form import standard_form

FARKAS = "exact rational bound: the objective is {:.9g} or more wherever the cuts hold, not 1"
COLD = "a cold solve finds no point either"
PRICES = (1.0, 1e2, 1e4)
SHRUNK = (1e-4, 1e-8, 1e-2, 1e-6, 0.0)


def emptiness(relaxation: Relaxation, cuts: list[Cut]) -> str:
    """What proves that nothing is left; an empty string when nothing does.

    Nothing is left when the least objective that the cuts allow is above 1. A cut may be
    violated at a high price in that program, so that it has a point; its bound is exact, and
    rows and cuts come from a model that is built anew. Failing that, a cold solve.
    """
    for price in PRICES:
        for shrunk in SHRUNK:
            bound = _least_objective(relaxation, cuts, price, shrunk)
            if bound is not None and bound > 1:
                return FARKAS.format(bound)
            if bound is not None and bound < 1 - 2 * shrunk:
                break  # more than what smaller weights cost is missing: a higher price is due
    model = relaxation.fresh_model()
    _add_rows(relaxation, model, cuts, None)
    cold = LiveLP(model, form="primal", options=OPTIONS | {"presolve": "on"}).resolve()
    return COLD if cold.status is Status.INFEASIBLE else ""


def _least_objective(
    relaxation: Relaxation, cuts: list[Cut], price: float, shrunk: float
) -> float | None:
    """Exact lower bound on -nu rho + sum c_i xi_i + price times the violation of the cuts.

    The multipliers are those of weights c_i that are smaller by a share `shrunk`: so they lie
    strictly inside the limits that the true ones set, and have room to be repaired.
    """
    forms = []
    for factor in (1 - shrunk, 1.0):
        model = relaxation.fresh_model()
        model.level.deactivate()
        model.beyond = pyo.Var(range(len(cuts)), bounds=(0, None))
        _add_rows(relaxation, model, cuts, model.beyond)
        model.objective.deactivate()
        costs = factor * relaxation.problem.hulls.caps
        terms = [dot(costs, model.xi), dot(np.full(len(cuts), price), model.beyond)]
        model.least = pyo.Objective(expr=total(-model.nu * model.rho, *terms))
        forms.append(standard_form(model))
    claim = highs.run(forms[0], classify(forms[0]), Limits())
    proven = None if claim.duals is None else exact_lp_bound(forms[1], claim.duals.rows)
    return None if proven is None else proven.varying


def _add_rows(
    relaxation: Relaxation, model: pyo.ConcreteModel, cuts: list[Cut], beyond: pyo.Var | None
) -> None:
    for k, cut in enumerate(cuts):
        row, side = relaxation.inner_row(cut)
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
