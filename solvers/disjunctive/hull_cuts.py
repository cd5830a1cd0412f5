"""Pyomo's cutting plane transformation with every cut proven again, by a bound of our own."""

from __future__ import annotations

import io

import pyomo.environ as pyo
from pyomo.common.log import LoggingIntercept
from pyomo.repn import generate_standard_repn

from tightmargin.solvers.attempts.attempts import run_attempts
from tightmargin.solvers.backends.choice import choose
from tightmargin.solvers.backends.pyomo_plugins import register
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.errors import SolverNotInstalledError
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.proofs.subject import Subject
from tightmargin.solvers.standard_form.standard_form import standard_form

CUTS = "hull_cuts"


def cut_towards_hull(model: pyo.ConcreteModel) -> None:
    """Replace disjunctions by their big-M rows and cuts of their hull relaxation, in place.

    The cuts come from convex separation problems that a solver ends with an error of its own. Each
    is a linear row over variables that the hull relaxation has too, so its least (or largest)
    value over that linear relaxation, a proven bound, is the side it gets; a cut without a bound
    is left out.

    Raises
    ------
    SolverNotInstalledError
        Without ipopt and without Clarabel, one of which solves the separation problems.
    """
    helper = _separating_solver()
    hull = pyo.TransformationFactory("gdp.hull").create_using(model)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(hull)
    hull.origin = None  # a model of its own: nothing of the formulation is asked of it
    with LoggingIntercept(io.StringIO(), "pyomo"):  # it reports every step as a warning
        pyo.TransformationFactory("gdp.cuttingplane").apply_to(
            model, solver=helper, cuts_name=CUTS, bigM=None
        )
    cuts = model.find_component(CUTS)
    for k in list(cuts):
        _prove(hull, cuts, k)


def _separating_solver() -> str:
    if pyo.SolverFactory("ipopt").available(exception_flag=False):
        return "ipopt"
    if SOLVERS["clarabel"].installed:
        register()
        return "clarabel"
    raise SolverNotInstalledError(
        "transformation=cuttingplane needs ipopt or clarabel for its separation problems; "
        "bigm and hull need neither"
    )


def _proven_bound(model: pyo.ConcreteModel) -> float | None:
    """Bound on the optimum of a linear program, in the model's own sense."""
    form = standard_form(model)
    case = Case(model, Subject(form), None, Limits())
    choice = choose("auto", case.classification.problem_class, form)
    bound = run_attempts(choice, case, automatic=True).found.certificate.bound
    return None if bound is None else form.sense * bound


def _prove(hull: pyo.ConcreteModel, cuts: pyo.Constraint, k: int) -> None:
    """Move the side of a cut to where it is proven, or delete the cut."""
    low, body, high = cuts[k].to_bounded_expression(evaluate_bounds=True)
    sense = pyo.minimize if low is not None else pyo.maximize
    for objective in list(hull.component_objects(pyo.Objective)):
        hull.del_component(objective)
    terms = generate_standard_repn(body)
    pairs = zip(terms.linear_coefs, terms.linear_vars, strict=True)
    same = sum(a * hull.find_component(x.name) for a, x in pairs)
    hull.cut = pyo.Objective(expr=same, sense=sense)
    bound = _proven_bound(hull)
    if bound is None:
        del cuts[k]
        return
    bound += terms.constant
    side = min(low, bound) if low is not None else max(high, bound)
    written = body >= side if low is not None else body <= side
    cuts[k].set_value(written)
