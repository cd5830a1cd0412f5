"""Minimise a concave function, or solve a linear program with a reverse convex row, by one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from tightmargin.cuts.concave.assumed_concave import (
    ASSUMPTION,
    AssumedConcave,
    ConcaveClaim,
    cut_until_nothing,
    words_of,
)
from tightmargin.cuts.concave.methods import CUT_LIMIT, MOST_CUT_COLUMNS, refuse_limit
from tightmargin.cuts.concave.outcome import BRANCH_AND_CUT, CUTTING_PLANE
from tightmargin.cuts.concave.reading import ConcaveProgram, read_concave
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines.registry import unknown_option
from tightmargin.solvers.engines.running import Limits, checked_limits
from tightmargin.solvers.model.names import load_values, named_values
from tightmargin.solvers.model.reader import StandardForm, refuse_other_objects, standard_form
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.solve import solve


def minimise_concave(
    model: pyo.ConcreteModel,
    objective: Callable[[Array], float] | None = None,
    gradient: Callable[[Array], ArrayLike] | None = None,
    *,
    variables: Any = None,
    method: str = BRANCH_AND_CUT,
    time_limit: float | None = None,
    seed: int | None = None,
    absolute_gap: float = 0.0,
    options: Mapping[str, Any] | None = None,
) -> SolveResult | ConcaveClaim:
    """Minimise a concave quadratic function, or maximise a convex one, over a polytope.

    The same as ``solve(model, method=...)``, for models with linear rows, bounds and

        min  c'x - x'Qx,   Q semidefinite,

    and convex quadratic rows besides if there are any.

    What it costs depends on the rank of Q, not on the number of variables that are only linear.

    With `objective` and `gradient` the function is one of Python, over a bounded polytope. That it
    is concave is then an assumption, and what is found a claim that names it, never a certificate.

    Parameters
    ----------
    model : ConcreteModel
        Continuous variables, with bounds or without; values of the result are loaded into it.
        Without an objective where a function is given.
    objective : callable(array (k,)) -> float, optional
        A concave function of the values of `variables`, beyond the polytope too: the ends of the
        steps along its edges lie there.
    gradient : callable(array (k,)) -> array (k,), optional
        Its gradient, or a supergradient.
    variables : Var or sequence of variables, optional
        What the function is of, in its order.
    method : str
        "branch-and-cut" by default; every word that `solve` takes for such a model.
    time_limit : float, optional
        Seconds; what is proven by then is kept.
    seed : int, optional
        Of the vertices that local searches start from.
    absolute_gap : float
        In the units of the objective: a proven gap of so much is closed too.
    options : mapping, optional
        ``node_limit`` of branch and cut; ``cut_limit`` of the cutting plane, which is what a
        function gets, and its ``strategy``: "concavity", or "literal" with facial cuts.

    Returns
    -------
    SolveResult or ConcaveClaim
        CERTIFIED where point and bound are proven and the gap is closed; unbounded and infeasible
        models are proven to be so. A ConcaveClaim for a function of Python.

    Raises
    ------
    TypeError
        Anything but a Pyomo model that is constructed.
    ValueError
        An integer variable, a row that is not convex, an objective that is not concave; it is
        named.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(range(2), bounds=(-1, 2))
    >>> model.row = pyo.Constraint(expr=model.x[0] + 2 * model.x[1] <= 4)
    >>> model.goal = pyo.Objective(expr=-model.x[0] ** 2 - model.x[1] ** 2 + model.x[0])
    >>> result = tm.cuts.minimise_concave(model)
    >>> result.objective, result.certificate.verdict.value
    (-6.0, 'CERTIFIED')
    """
    if objective is not None or gradient is not None or variables is not None:
        refuse_other_objects("minimise_concave", model)
        return _claimed(
            model, objective, gradient, variables, method=method,
            limits=checked_limits(time_limit, None, seed, False, options, absolute_gap),
        )  # fmt: skip
    program = _read("minimise_concave", model)
    outside = np.flatnonzero(~program.convex)
    if len(outside):
        number, _ = program.directions.rows[int(outside[0])]
        name = program.form.quadratic[number].data.name
        raise ValueError(
            f"row {name} is not convex: minimise_concave takes convex rows only, and solve takes it"
        )
    words: dict[str, Any] = {"time_limit": time_limit, "seed": seed, "options": options}
    return solve(model, method=method, absolute_gap=absolute_gap, **words)


def solve_lrcp(
    model: pyo.ConcreteModel,
    *,
    method: str = BRANCH_AND_CUT,
    time_limit: float | None = None,
    seed: int | None = None,
    absolute_gap: float = 0.0,
    options: Mapping[str, Any] | None = None,
) -> SolveResult:
    """Solve a linear program with one reverse convex row more (an LRCP).

    The same as ``solve(model, method=...)``, for models with a linear objective, linear rows and
    bounds, and one row

        x'Qx + b'x >= r,   Q semidefinite,

    such as ``||x||^2 >= r``; it may be an equation, and there may be convex quadratic rows besides.
    Its optimum is irrational as a rule: the point that is returned is a
    rational one next to it, which meets every row exactly, and the gap to the bound says how near.

    Parameters
    ----------
    model : ConcreteModel
    method, time_limit, seed, absolute_gap, options
        As of `minimise_concave`.

    Returns
    -------
    SolveResult
        As of `minimise_concave`.

    Raises
    ------
    TypeError
        Anything but a Pyomo model that is constructed.
    ValueError
        An integer variable, an objective that is not linear, no reverse convex row or several, any
        other row that is not convex; it is named.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(range(2), bounds=(0, 2))
    >>> model.row = pyo.Constraint(expr=model.x[0] ** 2 + model.x[1] ** 2 >= 1)
    >>> model.goal = pyo.Objective(expr=2 * model.x[0] + model.x[1])
    >>> result = tm.cuts.solve_lrcp(model)
    >>> round(result.objective, 6), result.certificate.verdict.value
    (1.0, 'CERTIFIED')
    """
    program = _read("solve_lrcp", model)
    if not program.is_lrcp:
        count = int((~program.convex).sum())
        raise ValueError(
            "solve_lrcp takes a linear objective and one reverse convex row, got "
            + (f"{count} reverse convex rows" if count != 1 else "a quadratic objective")
        )
    words: dict[str, Any] = {"time_limit": time_limit, "seed": seed, "options": options}
    return solve(model, method=method, absolute_gap=absolute_gap, **words)


def _read(asked: str, model: pyo.ConcreteModel) -> ConcaveProgram:
    refuse_other_objects(asked, model)
    return read_concave(standard_form(model))


def _claimed(
    model: pyo.ConcreteModel,
    objective: Any,
    gradient: Any,
    variables: Any,
    *,
    method: str,
    limits: Limits,
) -> ConcaveClaim:
    """The minimum of a function that is taken to be concave."""
    for name, given in (("objective", objective), ("gradient", gradient)):
        if not callable(given):
            raise TypeError(f"{name} must be a function of an array, got {given!r}")
    if variables is None:
        raise ValueError("variables: say of which variables the objective is a function")
    if method not in (BRANCH_AND_CUT, CUTTING_PLANE):
        raise ValueError(f"method {method} takes no function: it gets {CUTTING_PLANE}")
    for name in limits.options:
        if name != CUT_LIMIT:
            raise unknown_option(f"method {CUTTING_PLANE}", name, (CUT_LIMIT,))
    refuse_limit(limits, CUT_LIMIT)
    if list(model.component_data_objects(pyo.Objective, active=True)):
        raise ValueError("the model has an objective of its own beside the function: deactivate it")
    form = standard_form(model)
    if form.integer.any() or form.quadratic or form.psd or form.nonlinear:
        raise ValueError("a function is minimised over linear rows and continuous variables only")
    if form.n > MOST_CUT_COLUMNS:
        raise ValueError(f"the model has {form.n} variables, more than {MOST_CUT_COLUMNS}")
    assumed = AssumedConcave(objective, gradient, _places(form, variables))
    x, value, bound, cuts, stop = cut_until_nothing(
        form, assumed, seed=limits.seed or 0, time_limit=limits.time_limit,
        absolute_gap=limits.absolute_gap, cut_limit=limits.options.get(CUT_LIMIT),
    )  # fmt: skip
    load_values(form, x)
    values = named_values(model, form, x)
    return ConcaveClaim(values, value, bound, ASSUMPTION, cuts, stop, words_of(stop, cuts))


def _places(form: StandardForm, variables: Any) -> NDArray[np.int64]:
    """Columns of variables, in their order."""
    indexed = getattr(variables, "is_indexed", lambda: False)()
    listed = list(variables.values()) if indexed else variables
    listed = [listed] if hasattr(listed, "is_variable_type") else list(listed)
    known = {id(column): j for j, column in enumerate(form.columns)}
    for variable in listed:
        if id(variable) not in known:
            raise ValueError(f"variables: {variable} is in no row of the model, or fixed")
    return np.array([known[id(variable)] for variable in listed], dtype=np.int64)
