"""One live linear program for outer loops: cuts and changes, and a warm basis between solves.

    live = LiveLP(model)
    while True:
        found = live.resolve()
        g, side = separate(found["w"])
        live.add_cut({"w": g}, upper=side)

The program runs in HiGHS as it is, or as its explicit dual (dualization/dual_form.py), where a cut
is a column: the caller sees the same rows, columns and numbers either way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Readable
from tightmargin.solvers.backends.base import refuse_huge_bounds
from tightmargin.solvers.backends.choice import choose
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.named_values import load_values
from tightmargin.solvers.dualization.when import survives, worthwhile
from tightmargin.solvers.errors import NumberError, ProblemClassError
from tightmargin.solvers.execution.limits import Limits, checked_limits
from tightmargin.solvers.persistent import certificate
from tightmargin.solvers.persistent.checked_numbers import coefficient, finite, interval, within
from tightmargin.solvers.persistent.dual import DualSide
from tightmargin.solvers.persistent.names import Directory
from tightmargin.solvers.persistent.primal import LpSolution, PrimalSide
from tightmargin.solvers.persistent.program import Program
from tightmargin.solvers.persistent.result import LiveResult
from tightmargin.solvers.persistent.row_numbers import RowNumbers
from tightmargin.solvers.result import Certificate
from tightmargin.solvers.standard_form.standard_form import standard_form

FORMS = ("auto", "primal", "dual")


class LiveLP(Readable):
    """A linear program that stays in HiGHS between changes.

    Rows are named by number, added ones being numbered on, or by the name of the constraint or
    cut; variables by name or Pyomo object. What is written to HiGHS is read back and compared.
    Changes made to the Pyomo model itself are not seen: make them here, where they leave the model
    alone, or add a constraint to the model and hand it to `add_cut`. Ctrl-C ends a solve early,
    with status INTERRUPTED, and the next one goes on from its basis.

    Parameters
    ----------
    model : ConcreteModel
        A linear program.
    form : "auto", "primal" or "dual"
        What HiGHS is given; "auto" goes by size, and `form_used` says which it was and why.
    time_limit : float, optional
        Seconds for each resolve.
    seed : int, optional
        Of the solver.
    options : mapping, optional
        HiGHS' own option names.
    log : bool
        Show the solver's log.

    Raises
    ------
    ProblemClassError
        The model is no LP.
    NumberError
        A number HiGHS would lose.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> live = tm.LiveLP(tm.extended_nu_svc_linearised(data, nu=0.1, w_ref=[1.0, 0.0]))
    >>> w = live.resolve()["w"]
    >>> number = live.add_cut({"w": [1.0, 0.0]}, upper=w[0])
    >>> bool(live.resolve()["w"][0] <= w[0] + 1e-9)
    True
    """

    def __init__(
        self,
        model: pyo.ConcreteModel,
        *,
        form: str = "auto",
        time_limit: float | None = None,
        seed: int | None = None,
        options: Mapping[str, Any] | None = None,
        log: bool = False,
    ) -> None:
        if form not in FORMS:
            raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
        self._limits: Limits = checked_limits(time_limit, None, seed, log, options)
        self.model = model
        base = standard_form(model)
        for row in base.exact.scales:  # changes of a row come in its own doubles
            raise NumberError(
                f"row {base.rows.name(row)} has a coefficient that no double is, and the rows of a "
                "live program change in doubles: write one number there"
            )
        found = classify(base)
        if found.problem_class is not ProblemClass.LP:
            raise ProblemClassError(
                f"a live program must be an LP and this model is of class {found.problem_class}: "
                "use solve()"
            )
        if base.n == 0:
            raise ValueError("the model has no variable that is not fixed: nothing to solve")
        choose("highs", ProblemClass.LP, base)
        refuse_huge_bounds("highs", base)
        if form == "dual" and not survives(base):
            raise NumberError(
                "the dual form would lose sides, bounds or coefficients outside [1e-9, 1e15]: "
                "use form='primal' or scale the data"
            )
        reason = worthwhile(base) if form == "auto" else ""
        self.form_used = form if form != "auto" else ("dual" if reason else "primal")
        self.reason = reason
        self._program = Program(base)
        self._directory = Directory(model, self._program)
        self._rows = RowNumbers(model, self._program)
        self._inside: PrimalSide | DualSide | None = None
        self._last: LpSolution | None = None

    def _page(self) -> Page:
        program = self._program
        size = f"{count_text(program.m, 'row')}, {count_text(program.n, 'column')}"
        facts = [
            ("model", str(self.model.name)),
            ("form", f"the {self.form_used}" + (f": {self.reason}" if self.reason else "")),
            ("solved", "not yet" if self._last is None else str(self._last.status)),
            ("next", ".resolve(), .add_cut(), .certificate()"),
        ]
        return Page(f"LiveLP: {size}", facts)

    # --- changes -------------------------------------------------------------------------------

    def add_cut(
        self, cut: Mapping[Any, ArrayLike] | Any, *, lower: Any = None, upper: Any = None,
        name: str | None = None,
    ) -> int:  # fmt: skip
        """Add the row lower <= sum of coefficients times variables <= upper; returns its number.

        Parameters
        ----------
        cut : mapping or Pyomo constraint
            Arrays or numbers by variable, {"w": g, "b": 1.0}; or a linear constraint that was just
            added to the model, which has its own sides and name.
        lower, upper : float, optional
            Sides; equal ones make an equation.
        name : str, optional
            "cut k" by default, k counting the added rows; a constraint has its own.

        Raises
        ------
        NumberError
            NaN, infinity, or coefficients below 1e-9 of the largest, which HiGHS would drop.
        ValueError
            A variable that is unknown, given twice, or of another length; a name that is taken.
        """
        name = self._rows.take(cut, name)
        if isinstance(cut, Mapping):
            row = self._directory.cut(cut, lower, upper, name)
        elif lower is not None or upper is not None:
            raise ValueError(f"{name}: a constraint has its own sides; leave out lower and upper")
        else:
            row = self._directory.constraint(cut)
        program, sides = self._program, (row.lower, row.upper)
        self._change(
            lambda inside: inside.add_row(row.index, row.numbers, *sides, name),
            lambda: program.add_row(row.index, row.numbers, sides, row.scale, name),
        )
        return self._rows.add(name)

    def remove_cut(self, row: Any) -> None:
        """Open both sides of a row, added or of the model; it keeps its number."""
        self.change_sides(row)

    def change_sides(self, row: Any, lower: Any = None, upper: Any = None) -> None:
        """Give a row other sides; None is no side."""
        i = self._rows.find(row)
        owner = f"side of row {self._program.row_name(i)}"
        sides = interval(lower, upper, owner, self._program.factor(i))
        self._change(
            lambda inside: inside.set_row(i, *sides, owner),
            lambda: self._program.set_row(i, *sides),
        )

    def add_column(
        self,
        name: str,
        rows: Mapping[Any, float],
        *,
        cost: float = 0.0,
        lower: float | None = 0.0,
        upper: float | None = None,
    ) -> int:
        """Add a variable with its coefficients by row; returns its column."""
        program = self._program
        taken = [*program.column_names, *program.base.columns.names()]
        if name in taken or self.model.find_component(name) is not None:
            raise ValueError(f"there is a variable {name} already: give the column another name")
        index = np.array([self._rows.find(row) for row in rows], dtype=np.int64)
        if len(np.unique(index)) < len(index):
            raise ValueError(f"column {name}: a row is given twice")
        numbers = np.array([
            coefficient(number, program.factor(int(i)), f"column {name}")
            for i, number in zip(index, rows.values(), strict=True)
        ])  # fmt: skip
        index, numbers = index[numbers != 0], numbers[numbers != 0]
        price = program.base.sense * within(finite(cost, f"cost of {name}"), f"cost of {name}")
        bounds = interval(lower, upper, f"bound of {name}")
        self._change(
            lambda inside: inside.add_column(index, numbers, price, bounds, name),
            lambda: program.add_column(index, numbers, price, bounds, name),
        )
        return program.n - 1

    def change_coefficient(self, row: Any, variable: Any, number: float) -> None:
        """Give a variable (one element) another coefficient in a row."""
        i = self._rows.find(row)
        owner = f"row {self._program.row_name(i)}"
        columns, _, _ = self._directory.numbers(variable, number, owner)
        (j,) = _all_free(columns, variable)
        value = coefficient(number, self._program.factor(i), owner)
        self._change(
            lambda inside: inside.set_entry(i, j, value, owner),
            lambda: self._program.set_entry(i, j, value),
        )

    def change_cost(self, variable: Any, cost: ArrayLike) -> None:
        """Give a variable other costs in the objective, one for each element."""
        owner, sense = f"cost of {variable}", self._program.base.sense
        columns, costs, _ = self._directory.numbers(variable, cost, owner)
        prices = [sense * within(number, owner) for number in costs.tolist()]
        for j, price in zip(_all_free(columns, variable), prices, strict=True):
            self._write_column(j, cost=price)

    def change_bounds(
        self, variable: Any, lower: float | None = None, upper: float | None = None
    ) -> None:
        """Give all elements of a variable other bounds; None is no bound."""
        _, columns, _ = self._directory.find(variable)
        bounds = interval(lower, upper, f"bound of {variable}")
        for j in _all_free(columns, variable):
            self._write_column(j, lower=bounds[0], upper=bounds[1])

    def _write_column(self, j: int, **changed: float) -> None:
        program = self._program
        now = {"cost": program.cost[j], "lower": program.lower[j], "upper": program.upper[j]}
        sent = [float(number) for number in (now | changed).values()]
        owner = program.column_name(j)
        self._change(
            lambda inside: inside.set_column(j, *sent, owner),
            lambda: program.set_column(j, *sent),
        )

    def _change(self, send: Callable[[Any], bool], keep: Callable[[], None]) -> None:
        """Write a change to the solver and, once it stands there, to the program.

        A change that is refused or interrupted leaves the program as it was, and a solver that may
        hold half of it is given up: the next solve starts another from the program.
        """
        inside, self._inside = self._inside, None
        in_place = inside is None or send(inside)
        keep()
        self._last = None
        self._inside = inside if in_place else None

    # --- solving -------------------------------------------------------------------------------

    def resolve(self, time_limit: float | None = None) -> LiveResult:
        """Solve the program as it stands, from the last basis.

        Parameters
        ----------
        time_limit : float, optional
            Seconds, in place of the one given at the start.
        """
        limit = self._limits.time_limit
        if time_limit is not None:
            limit = checked_limits(time_limit).time_limit
        started = time.perf_counter()
        inside, self._inside = self._inside or self._started(), None
        answer = inside.solve(limit)
        self._inside, self._last = inside, answer
        sense = self._program.base.sense
        return LiveResult(
            status=answer.status,
            objective=None if answer.x is None else sense * self._value(answer.x),
            x=answer.x,
            multipliers=answer.y,
            iterations=answer.iterations,
            seconds=time.perf_counter() - started,
            message=answer.message,
            directory=self._directory,
        )

    def _started(self) -> PrimalSide | DualSide:
        if self.form_used == "dual" and not survives(self._program.form()):
            self.form_used, self.reason = "primal", "numbers were added that the dual would lose"
        kind = DualSide if self.form_used == "dual" else PrimalSide
        return kind(self._program, self._limits)

    def _value(self, x: Array) -> float:
        return float(self._program.cost @ x) + self._program.base.objective.constant

    def load_values(self) -> None:
        """Give the model's variables the values of the last resolve."""
        x, base = self._solved().x, self._program.base
        assert x is not None
        load_values(base, x[: base.n])

    def certificate(self) -> Certificate:
        """What our own computation confirms of the last resolve, for the rows as they stand."""
        answer = self._solved()
        return certificate.certificate(self.model, self._program.form(), answer, self._limits)

    def proven_bound(self) -> float | None:
        """A bound on the optimum of the rows as they stand, proven from the last multipliers.

        In rational arithmetic where their repair succeeds, in double precision otherwise; from
        below, or from above when the model maximises. None when neither can be had.
        """
        answer = self._solved()
        return certificate.proven_bound(self.model, self._program.form(), answer, self._limits)

    def _solved(self) -> LpSolution:
        if self._last is None:
            raise ValueError("the program was changed since it was solved: call resolve() first")
        if self._last.x is None:
            raise ValueError(f"the last resolve found no point: {self._last.message}")
        return self._last


def _all_free(columns: NDArray[np.int64], variable: Any) -> list[int]:
    if (columns < 0).any():
        raise ValueError(f"{variable} is fixed, and so no column of the live program")
    return columns.tolist()
