"""Disjunctive models become mixed-integer ones on a copy; values travel back by name."""

from __future__ import annotations

import io
from typing import Any

import pyomo.environ as pyo
from pyomo.common.log import LoggingIntercept
from pyomo.contrib.fbbt.fbbt import compute_bounds_on_expr
from pyomo.core.expr.visitor import identify_variables
from pyomo.gdp import Disjunct, Disjunction, GDP_Error
from pyomo.repn import generate_standard_repn

from tightmargin.formulations.catalogue import Origin
from tightmargin.solvers.attempts import run_attempts
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.engines.pyomo_interface import register
from tightmargin.solvers.engines.registry import SOLVERS, choose
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.errors import SolverNotInstalledError
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.model.reader import standard_form
from tightmargin.solvers.model.rewrites import is_disjunctive, to_indicators

# --- Pyomo's cutting plane transformation with every cut proven again, by a bound of our own -----


CUTS = "hull_cuts"


def cut_towards_hull(model: pyo.ConcreteModel) -> None:
    """Replace disjunctions by their big-M rows and cuts of their hull relaxation, in place.

    The separation problems are solved with rounding. So the side of each cut becomes its proven
    bound over the linear hull relaxation; a cut without one is left out.
    """
    if pyo.SolverFactory("ipopt").available(exception_flag=False):
        helper = "ipopt"
    elif SOLVERS["clarabel"].installed:
        helper = "clarabel"
        register()
    else:
        raise SolverNotInstalledError(
            "transformation=cuttingplane needs ipopt or clarabel for its separation problems; "
            "bigm and hull need neither"
        )
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
    form = standard_form(hull)
    case = Case(hull, Subject(form), None, Limits())
    choice = choose("auto", case.classification.problem_class, form)
    bound = run_attempts(choice, case, automatic=True).found.certificate.bound
    if bound is None:
        del cuts[k]
        return
    bound = form.sense * bound + terms.constant
    side = min(low, bound) if low is not None else max(high, bound)
    written = body >= side if low is not None else body <= side
    cuts[k].set_value(written)


def without_disjunctions(
    model: pyo.ConcreteModel, transformation: str | None = None
) -> pyo.ConcreteModel:
    """The model, or a copy after the transformation that is given, or that it was built for."""
    if not is_disjunctive(model):
        return model
    return transformed(model, transformation or transformation_of(model))


def transformation_of(model: pyo.ConcreteModel) -> str:
    """How the disjunctions of a model are to be replaced: as its builder was told, or by big-M."""
    origin = getattr(model, "origin", None)
    if not isinstance(origin, Origin):
        return "bigm"
    # A disjunction that a user added to an entry without any has no word of its own.
    return str(origin.parameters.get("transformation", "bigm"))


def transformed(model: pyo.ConcreteModel, method: str) -> pyo.ConcreteModel:
    """Copy of a disjunctive model with the disjunctions replaced.

    method: names of Pyomo's gdp transformations. The constants of "bigm" come from the bounds of
        the variables; "mbigm" solves small problems for them, with HiGHS; "cuttingplane" needs
        ipopt or Clarabel. "indicator" is our own and keeps every row as an implication.
    Raises SolverNotInstalledError: the solver that the transformation itself needs is missing.
    Raises ValueError: a variable of a Disjunction has no bound, or Pyomo cannot replace it for
        another reason.
    """
    copy = model.clone()
    if method == "indicator":
        to_indicators(copy)
        return copy
    if method == "cuttingplane":
        cut_towards_hull(copy)
        return copy
    options: dict[str, Any] = {}
    if method == "mbigm":
        if not SOLVERS["highs"].installed:
            raise SolverNotInstalledError(
                "transformation=mbigm needs highs for its small problems; bigm, hull and indicator "
                "need no solver"
            )
        options = {"solver": pyo.SolverFactory("highs"), "threads": 1}
    try:
        pyo.TransformationFactory(f"gdp.{method}").apply_to(copy, **options)
    except GDP_Error as why:
        message = str(why).partition("\n")[0].rstrip(".")
        raise ValueError(
            _unlimited_row(model) or f"gdp.{method} refuses the model: {message}"
        ) from why
    return copy


def _unlimited_row(model: pyo.ConcreteModel) -> str:
    """The row of a Disjunction that has no M, and which bounds are missing; nothing for none."""
    parts = (
        (row, disjunction)
        for disjunction in model.component_data_objects(Disjunction, active=True)
        for part in disjunction.disjuncts
        for row in part.component_data_objects(
            pyo.Constraint, active=True, descend_into=(pyo.Block, Disjunct)
        )
    )
    for row, disjunction in parts:
        low, high = compute_bounds_on_expr(row.body)
        if (low is None and row.has_lb()) or (high is None and row.has_ub()):
            missing = [
                f"{v.name} has no {side} bound"
                for v in identify_variables(row.body, include_fixed=False)
                for side, end in (("lower", v.lb), ("upper", v.ub))
                if end is None
            ]
            reason = " and ".join(missing[:2]) or "the bounds of its variables do not limit it"
            return (
                f"row {row.name} of Disjunction {disjunction.name} cannot be switched off, since "
                f"{reason}: give its variables bounds that some optimum meets"
            )
    return ""


def copy_values(source: pyo.ConcreteModel, target: pyo.ConcreteModel) -> None:
    """Set the variables of a model from the variables of the same names in another."""
    for variable in target.component_data_objects(pyo.Var, descend_into=(pyo.Block, Disjunct)):
        other = source.find_component(variable.name)
        if other is not None and other.value is not None:
            variable.set_value(other.value, skip_validation=True)
