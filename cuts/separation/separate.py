"""One separator, every engine: a function that maps a point to the rows that it misses."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.cuts.separation.asking import Asking, Separator, needs_vertices
from tightmargin.cuts.separation.conclude import certificate_of
from tightmargin.cuts.separation.engines import gurobi, highs, live, scip, tree
from tightmargin.cuts.separation.engines.ended import Ended
from tightmargin.cuts.separation.errors import SeparatorError
from tightmargin.cuts.separation.result import SeparationResult
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.parameters import did_you_mean, one_of
from tightmargin.solvers.certify.case import FEASIBILITY_TOLERANCE
from tightmargin.solvers.engines.running import Limits, checked_limits, refuse_bad_budget
from tightmargin.solvers.errors import ProblemClassError
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.names import flat, load_values, named_values
from tightmargin.solvers.model.reader import (
    StandardForm,
    refuse_bad_params,
    refuse_other_objects,
    standard_form,
)
from tightmargin.solvers.model.residuals import primal_residual

Run = Callable[[Asking, Limits, bool], Ended]

AUTO, LIVE, TREE = "auto", "live", "branch-and-bound"
ENGINES = {LIVE: live, TREE: tree, "scip": scip, "gurobi": gurobi, "highs": highs}
AT_VERTICES = (LIVE, "highs", "scip")
ROW_LIMIT = 10_000
TOLERANCE = 1e-7


def separate(
    model: pyo.ConcreteModel,
    f: Separator | Sequence[Separator],
    *,
    engine: str = AUTO,
    fractional: bool = False,
    debug: Any = None,
    tolerance: float = TOLERANCE,
    row_limit: int = ROW_LIMIT,
    prove: float | bool | None = None,
    absolute_gap: float = 0.0,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,
    log: bool = False,
) -> SeparationResult:
    """Solve a model some of whose rows a function finds, with any engine.

    The problem is the model and every row that f can return. The model is left without them, but
    for the values of its variables; `add_to` of the result adds those that were found.

    Parameters
    ----------
    model : ConcreteModel
        Constructed; rows and objective of degree two at most.
    f : function, or sequence of functions
        f(point) returns a list of rows: relations over the variables of `model`, such as
        `model.z[0] + model.z[1] >= 1`, cuts (tm.cuts.Cut), or an empty list where the point misses
        none. `point["z"]` and `point[model.z]` are the values of a variable in the order of its
        index, `point[model.z[3]]` is a number. Of several functions the first one counts that
        finds something. A function is called by its `name`, if it has one, else by its __name__.
    engine : str
        "live": a linear program in HiGHS, from its last basis. "branch-and-bound": our own tree,
        which proves its bound. "scip": a constraint handler. "gurobi": lazy constraints. "highs":
        the model is solved again and again. "auto" takes the first for linear programs, the second
        for models with integer variables that are convex without them, and HiGHS for the rest.
    fractional : bool
        Whether f also sees points of relaxations, whose integer variables are not whole. No point
        is accepted that it has not seen whole. HiGHS shows none.
    debug : mapping or result, optional
        Values by variable name of a point of the problem, an optimum say: a row that cuts it off
        is an error. Rows that hold up to a cutoff keep optima only.
    tolerance : float
        A row that the point misses by less, beside the size of its terms, separates nothing.
    row_limit : int
        Rows at which the run ends.
    prove : float or bool, optional
        Seconds that branch and bound may take to prove the bound that SCIP, Gurobi or HiGHS merely
        claims. By default until it is proven or `time_limit` ends it; False for none.
    absolute_gap : float
        As in `solve`.
    time_limit : float, optional
        Seconds for everything. The accepted point and a bound are kept, as after Ctrl-C.
    threads, seed, options, log
        As in `solve`; options are the engine's.

    Returns
    -------
    SeparationResult
        Its trace says which row did what to the bound.

    Raises
    ------
    SeparatorError
        f raised an error, which is the cause; `result` has what was found before.
    InvalidCutError
        A row cuts off the debug point, or does not follow from its origin.
    TypeError, ValueError
        f returned no list of rows, or a row of another model's variables or that is not linear; bad
        arguments.
    ProblemClassError, SolverNotInstalledError, SizeLimitError, NumberError
        What the engine does not take, before it starts.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = pyo.ConcreteModel()
    >>> model.z = pyo.Var(range(3), domain=pyo.Binary)
    >>> model.objective = pyo.Objective(expr=model.z[0] + 2 * model.z[1] + 3 * model.z[2])
    >>> def two_of_three(point):
    ...     return [sum(model.z.values()) >= 2] if sum(point["z"]) < 2 else []
    >>> found = tm.separate(model, two_of_three)
    >>> found.objective, found.bound
    (3.0, 3.0)
    """
    refuse_other_objects("separate", model)
    limits = checked_limits(time_limit, threads, seed, log, options, absolute_gap)
    one_of("engine", engine, (AUTO, *ENGINES))
    refuse_bad_budget(prove)
    _refuse_bad_numbers(tolerance, row_limit)
    refuse_bad_params(model)
    form = standard_form(model)
    if form.nonlinear:
        raise ProblemClassError(
            f"{form.nonlinear[0].name} is beyond degree two, and no engine takes that here"
        )
    asking = Asking(model, form, _named(f), _point(model, form, debug), tolerance, row_limit)
    name = _engine(engine, asking)
    chosen = ENGINES[name]
    chosen.refuse(asking, limits)
    for word, separator in asking.separators.items():
        if needs_vertices(separator) and name not in AT_VERTICES:
            raise ValueError(
                f"separator {word} cuts vertices off, and engine {name} shows it other points: "
                f"take engine={' or '.join(AT_VERTICES)}"
            )
    began = time.perf_counter()
    ended = chosen.run(asking, limits, fractional)
    result = _result(asking, ended, limits, prove, name, began)
    if asking.error is None:
        return result
    if not asking.failed:
        raise asking.error
    raise SeparatorError(
        f"separator {asking.failed} raised {type(asking.error).__name__}: {asking.error}", result
    ) from asking.error


def _engine(word: str, asking: Asking) -> str:
    """The engine that "auto" stands for."""
    if word != AUTO:
        return word
    for name in (LIVE, TREE):
        try:
            ENGINES[name].refuse(asking, Limits())
        except ProblemClassError:
            continue
        return name
    return "highs" if not asking.base.integer.any() else "scip"


def _result(
    asking: Asking, ended: Ended, limits: Limits, prove: float | bool | None, engine: str,
    began: float,
) -> SeparationResult:  # fmt: skip
    model, form = asking.model, asking.base
    asking.settle(ended.claimed)
    failed = asking.error is not None
    x, certificate = certificate_of(
        asking, ended, limits, False if failed else prove, time.perf_counter() - began
    )
    bound = certificate.bound
    if bound is not None:
        asking.settle(form.sense * bound)
    objective = None if x is None else form.sense * form.value(x)
    if x is not None:
        load_values(form, x)
    status = ended.status
    below = any(np.isfinite(row.cutoff) for row in asking.rows)
    nothing = (Status.OPTIMAL, Status.FEASIBLE, *((Status.INFEASIBLE,) if below else ()))
    if x is None and status in nothing:
        status = Status.LIMIT_NO_SOLUTION
    message = "; ".join(filter(None, (asking.words, ended.message)))
    return SeparationResult(
        status=status,
        stop=ended.stop,
        objective=objective,
        bound=bound,
        values={} if x is None else named_values(model, form, x),
        certificate=certificate,
        rows=tuple(asking.rows),
        trace=tuple(asking.steps),
        engine=engine,
        version=ended.version,
        asked=asking.asked,
        nodes=ended.nodes,
        seconds=time.perf_counter() - began,
        message=message,
        log=ended.log,
        model_name=str(model.name),
    )


# --- what is given -------------------------------------------------------------------------------


def _refuse_bad_numbers(tolerance: float, row_limit: int) -> None:
    if isinstance(tolerance, bool) or not 0 < float(tolerance) < 1:
        raise ValueError(f"tolerance must lie between 0 and 1, got {tolerance!r}")
    if type(row_limit) is not int or row_limit < 1:
        raise ValueError(f"row_limit must be a whole number of at least 1, got {row_limit!r}")


def _named(f: Separator | Sequence[Separator]) -> dict[str, Separator]:
    """Separators by name, with a number behind names that come again."""
    given = list(f) if isinstance(f, Sequence) else [f]
    if not given:
        raise ValueError("f is an empty sequence: give a function that maps a point to rows")
    found: dict[str, Separator] = {}
    for one in given:
        if not callable(one):
            raise TypeError(
                f"f must be a function that maps a point to rows, or several; got {one!r}"
            )
        name = str(getattr(one, "name", getattr(one, "__name__", type(one).__name__)))
        name = "separator" if name == "<lambda>" else name
        again = 2
        while name in found:
            name, again = f"{name.removesuffix(f'_{again - 1}')}_{again}", again + 1
        found[name] = one
    return found


def _point(model: pyo.ConcreteModel, form: StandardForm, debug: Any) -> Array | None:
    """The debug point in the order of the columns.

    Raises ValueError: variables that it lacks or that the model has not; or it is no point of the
        model.
    """
    if debug is None:
        return None
    values = debug if isinstance(debug, Mapping) else getattr(debug, "values", None)
    if not isinstance(values, Mapping):
        raise ValueError(f"debug must map variable names to values, got {type(debug).__name__}")
    x = np.full(form.n, np.nan)
    for name, array in values.items():
        word = name if isinstance(name, str) else str(name.name)
        component = model.find_component(word)
        if component is None or component.ctype is not pyo.Var:
            names = [part.component.name for part in form.columns.parts]
            raise ValueError(
                f"debug: the model has no variable {word!r}{did_you_mean(word, names)}"
            )
        at, _ = form.columns.of(component)
        numbers = flat(component, array)
        if len(numbers) != len(at):
            raise ValueError(f"debug: {word} has {len(at)} elements, got {len(numbers)}")
        x[at[at >= 0]] = numbers[at >= 0]
    if not np.isfinite(x).all():
        missing = form.columns.name(int(np.argmin(np.isfinite(x))))
        raise ValueError(f"debug has no number for {missing}: give a value for every variable")
    missed, where = primal_residual(form, x)
    if missed > FEASIBILITY_TOLERANCE:
        raise ValueError(f"debug is no point of the model: it misses {where} by {missed:.3g}")
    return x
