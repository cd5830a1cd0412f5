"""Minimise a concave function, or solve a linear program with a reverse convex row, by one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyomo.environ as pyo

from tightmargin.cuts.concave.outcome import BRANCH_AND_CUT
from tightmargin.cuts.concave.reading import ConcaveProgram, read_concave
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.standard_form.readable import refuse_other_objects
from tightmargin.solvers.standard_form.standard_form import standard_form


def minimise_concave(
    model: pyo.ConcreteModel,
    *,
    method: str = BRANCH_AND_CUT,
    time_limit: float | None = None,
    seed: int | None = None,
    absolute_gap: float = 0.0,
    options: Mapping[str, Any] | None = None,
) -> SolveResult:
    """Minimise a concave quadratic function, or maximise a convex one, over a polytope.

    The same as ``solve(model, method=...)``, for models with linear rows and bounds and

        min  c'x - x'Qx,   Q semidefinite.

    What it costs depends on the rank of Q, not on the number of variables that are only linear.

    Parameters
    ----------
    model : ConcreteModel
        Continuous variables, with bounds or without; values of the result are loaded into it.
    method : str
        "branch-and-cut" by default; every word that `solve` takes for such a model.
    time_limit : float, optional
        Seconds; what is proven by then is kept.
    seed : int, optional
        Of the vertices that local searches start from.
    absolute_gap : float
        In the units of the objective: a proven gap of so much is closed too.
    options : mapping, optional
        ``node_limit`` of branch and cut.

    Returns
    -------
    SolveResult
        CERTIFIED where point and bound are proven and the gap is closed; unbounded and infeasible
        models are proven to be so.

    Raises
    ------
    TypeError
        Anything but a Pyomo model that is constructed.
    ValueError
        An integer variable, a row that is not linear, an objective that is not concave; it is
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
    program = _read("minimise_concave", model)
    if len(program.constants):
        name = program.form.quadratic[0].data.name
        raise ValueError(f"row {name} is quadratic: minimise_concave takes linear rows only")
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

    such as ``||x||^2 >= r``. Its optimum is irrational as a rule: the point that is returned is a
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
        other row that is not linear; it is named.

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
        count = len(program.constants)
        raise ValueError(
            "solve_lrcp takes a linear objective and one reverse convex row, got "
            + (f"{count} quadratic rows" if count != 1 else "a quadratic objective")
        )
    words: dict[str, Any] = {"time_limit": time_limit, "seed": seed, "options": options}
    return solve(model, method=method, absolute_gap=absolute_gap, **words)


def _read(asked: str, model: pyo.ConcreteModel) -> ConcaveProgram:
    refuse_other_objects(asked, model)
    return read_concave(standard_form(model))
