"""Whether cuts leave nothing of the polytope: proven, in one of two ways.

exact      the least objective that the cuts allow is above 1, by multipliers in rational arithmetic
on sphere  cuts over weights alone: with phi = 1 / gamma no w of norm 1 with h(w) < phi keeps all
           rows <a, w> <= phi beta, by multipliers in double precision, all roundings counted
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.relaxation.relaxation import Relaxation
from tightmargin.cuts.search.run import in_unit
from tightmargin.cuts.spatial_branching.node_program import BoxLP
from tightmargin.formulations.modeling.affine_rows import dot, total
from tightmargin.solvers.engines import highs
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.kernel.exact_bounds import exact_lp_bound
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.reader import standard_form

FARKAS = "exact rational bound: the objective is {:.9g} or more wherever the cuts hold, not 1"
ON_SPHERE = (
    "multipliers in double precision, lowered by more than all roundings: no w of norm 1 with an "
    "objective below {:.9g} keeps all cuts"
)
PRICES = (1.0, 1e2, 1e4)
SHRUNK = (1e-4, 1e-8, 1e-2, 1e-6, 0.0)


def emptiness(relaxation: Relaxation, cuts: list[Cut], gamma: float) -> str:
    """What proves that nothing longer than gamma is left; an empty string when nothing does.

    A cut may be violated at a high price in the exact program, so that it has a point; rows and
    cuts come from a model that is built anew. What a smaller share of the weights costs grows as nu
    nears nu_bar, so that a bound below 1 says nothing of the next share.
    """
    for price in PRICES:
        for shrunk in SHRUNK:
            bound = _least_objective(relaxation, cuts, price, shrunk)
            if bound is not None and bound > 1:
                return FARKAS.format(bound)
    return _on_sphere(relaxation, cuts, gamma)


def _on_sphere(relaxation: Relaxation, cuts: list[Cut], gamma: float) -> str:
    """A longest corner beyond gamma would keep the cuts, and so would its direction, scaled."""
    if not all(cut.origin.space == "projected" for cut in cuts):
        return ""
    problem = relaxation.problem
    hulls, unit = in_unit(problem.hulls)
    program = BoxLP(hulls)
    for cut in cuts:
        row = problem.weight_part(cut.coefficients)
        length = float(np.linalg.norm(row))
        program.add_cut(row / length, cut.rhs * unit / length)
    level, ones = 1 / (gamma * unit), np.ones(problem.hulls.k)
    least = program.solve(-ones, ones, level).bound.value
    return ON_SPHERE.format(1 / gamma) if least >= level else ""


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
    proven = None if claim.duals is None else exact_lp_bound(Subject(forms[1]), claim.duals.rows)
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
