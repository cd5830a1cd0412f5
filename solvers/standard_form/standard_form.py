"""A Pyomo model read once into arrays: what every back end and every certificate works from.

    minimise   1/2 x'P x + q'x + offset
    s.t.       row_lower <= A x <= row_upper
               lower <= x'Q_k x + a_k'x <= upper        quadratic rows
               F_k x + g_k is semidefinite              rows of
               tightmargin.formulations.modeling.semidefinite.psd
               lower <= x <= upper,  x_j integer for some j

Reading refuses NaN and infinite numbers by row and variable name. Fixed variables are constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.affine_rows import AffineRows
from tightmargin.formulations.modeling.rotated_cones import RotatedCones
from tightmargin.formulations.modeling.semidefinite import order, psd_entries
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.exact_arithmetic import rounded_down, rounded_up
from tightmargin.solvers.standard_form.array_rows import ArrayRows, read_arrays
from tightmargin.solvers.standard_form.columns import Columns, Rows, holding, side, value_of
from tightmargin.solvers.standard_form.constants import number
from tightmargin.solvers.standard_form.exact_ends import (
    ExactEnds,
    above,
    inner_row,
    inwards,
    outwards,
)
from tightmargin.solvers.standard_form.expressions import read
from tightmargin.solvers.standard_form.inexact import Inexact, InexactError, scale_to_doubles
from tightmargin.solvers.standard_form.polynomial import Key, Number, Polynomial, merge, plus
from tightmargin.solvers.standard_form.quadratic import (
    LocalQuadratic,
    Quadratic,
    QuadraticRow,
    Sides,
    doubles_below,
)
from tightmargin.solvers.standard_form.readable import refuse_unread_components
from tightmargin.solvers.standard_form.rotated_cone_rows import read_cones
from tightmargin.solvers.standard_form.sparse_assembly import Matrix, assemble

__all__ = [
    "LocalQuadratic",
    "PsdRow",
    "Quadratic",
    "QuadraticRow",
    "StandardForm",
    "standard_form",
]


@dataclass(frozen=True, eq=False, repr=False)
class PsdRow(Printed):
    """The matrix with row-wise lower triangle F x + g (k (k + 1) / 2 entries) is semidefinite."""

    F: sp.csr_matrix
    g: Array
    data: Any

    @property
    def order(self) -> int:
        """Order k of the matrix."""
        return order(len(self.g))


@dataclass(frozen=True, eq=False, repr=False)
class StandardForm(Printed):
    """Arrays of a model; see the module's docstring.

    Attributes
    ----------
    columns : sequence
        Pyomo variables in the order of x, made when asked for.
    objective : Quadratic
        Of the minimisation: P = 2 Q. Its sign is flipped when the model maximises.
    sense : int
        +1 minimise, -1 maximise.
    matrix : csr_matrix or csc_matrix
        Coefficients of the linear rows, in the order in which they were put together; `A` has them
        row by row and `columnwise` column by column.
    rows : Rows
        Pyomo constraints of A, in order, made when asked for.
    nonlinear : tuple
        Constraints (or the objective) that are not quadratic.
    exact : ExactEnds
        Sides of linear rows, and bounds, that no double is. The doubles here are next to them,
        outwards, as those of the objective and of quadratic rows are below what they stand for (see
        `Quadratic.lost`): what is proven of every point of the arrays is true of the model's.
    """

    columns: Columns
    lower: Array
    upper: Array
    integer: NDArray[np.bool_]
    objective: Quadratic
    sense: int
    matrix: Matrix
    row_lower: Array
    row_upper: Array
    rows: Rows
    quadratic: tuple[QuadraticRow, ...]
    psd: tuple[PsdRow, ...]
    nonlinear: tuple[Any, ...]
    exact: ExactEnds = field(default_factory=ExactEnds)

    def _title(self) -> str:
        goal = "minimise" if self.sense > 0 else "maximise"
        return f"StandardForm: {goal} over {count_text(self.n, 'column')}"

    def _page(self) -> Page:
        counts = {
            "whole": int(np.count_nonzero(self.integer)),
            "linear rows": len(self.rows),
            "quadratic rows": len(self.quadratic),
            "semidefinite rows": len(self.psd),
            "neither": len(self.nonlinear),
        }
        facts = [(word, str(count)) for word, count in counts.items() if count]
        return Page(self._title(), facts)

    @property
    def n(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @cached_property
    def A(self) -> sp.csr_matrix:  # noqa: N802  (the letter of every LP text)
        """Coefficients of the linear rows, row by row."""
        return self.matrix.tocsr()

    @cached_property
    def columnwise(self) -> sp.csc_matrix:
        """Coefficients of the linear rows, column by column."""
        return self.matrix.tocsc()

    @cached_property
    def sizes(self) -> sp.csr_matrix:
        """Absolute values of `A`, with its own indices."""
        return sp.csr_matrix((np.abs(self.A.data), self.A.indices, self.A.indptr), self.A.shape)

    @cached_property
    def largest(self) -> Array:
        """Size of the largest coefficient of each linear row; 0 without any."""
        found = self.sizes.max(axis=1).toarray() if self.n else 0 * self.row_lower
        return np.asarray(found).ravel()

    @cached_property
    def P(self) -> sp.csc_matrix:  # noqa: N802  (the letter of every QP text)
        """Hessian of the objective."""
        return (2 * self.objective.Q).tocsc()

    @property
    def goal(self) -> Any:
        """The objective where it is beyond degree two, which no array holds; None otherwise."""
        found = (part for part in self.nonlinear if part.ctype is pyo.Objective)
        return next(found, None)

    def value(self, x: Array) -> float:
        """Objective of the minimisation at a point; beyond degree two Pyomo evaluates it."""
        if self.goal is None:
            return self.objective.at(x)
        with holding(self.columns, x):
            return self.sense * value_of(self.goal.expr)

    def impossible_row(self) -> str:
        """What is wrong with a linear row that has no variable and cannot hold; or nothing."""
        empty = np.diff(self.A.indptr) == 0
        found = np.flatnonzero(empty & ((self.row_lower > 0) | (self.row_upper < 0)))
        return (
            f"row {self.rows.name(int(found[0]))} has no variable and cannot hold"
            if found.size
            else ""
        )

    @property
    def rounded(self) -> str:
        """Something whose numbers no doubles are, by name; empty where there is nothing."""
        for k in self.exact.sides:
            return f"a side of row {self.rows.name(k)}"
        for j in {**self.exact.bounds, **self.exact.open}:
            return f"a bound of {self.columns.name(j)}"
        for row in self.quadratic:
            if row.is_rounded:
                return f"row {row.data.name}"
        return "the objective" if self.objective.lost or self.objective.rest else ""

    def sides_of(self, row: int) -> tuple[Number, Number]:
        """Sides of a linear row of the model."""
        low, high = self.exact.sides.get(row, (None, None))
        return (
            float(self.row_lower[row]) if low is None else low,
            float(self.row_upper[row]) if high is None else high,
        )

    def __post_init__(self) -> None:
        """Forget sides of the model where other ones were put in their place."""
        kept = {}
        for k, (low, high) in self.exact.sides.items():
            below = low if low is not None and rounded_down(low) == self.row_lower[k] else None
            above_it = high if high is not None and rounded_up(high) == self.row_upper[k] else None
            if below is not None or above_it is not None:
                kept[k] = below, above_it
        if kept != self.exact.sides:
            object.__setattr__(self, "exact", replace(self.exact, sides=kept))

    @cached_property
    def inner(self) -> StandardForm:
        """Doubles each of whose points is one of the model, up to equations that no double meets.

        The form itself where all its numbers are those of the model.
        """
        if not self.exact and not any(row.is_rounded for row in self.quadratic):
            return self  # the objective moves no point
        row_lower, row_upper = inwards(self.row_lower, self.row_upper, self.exact.sides)
        lower, upper = inwards(self.lower, self.upper, self.exact.bounds)
        quadratic = tuple(inner_row(row) for row in self.quadratic)
        for j, (low, high) in self.exact.open.items():
            lower[j] = max(lower[j], above(lower[j])) if low else lower[j]
            upper[j] = min(upper[j], -above(-upper[j])) if high else upper[j]
        return replace(
            self, row_lower=row_lower, row_upper=row_upper, lower=lower, upper=upper,
            quadratic=quadratic,
        )  # fmt: skip

    @property
    def is_quadratic(self) -> bool:
        """Whether anything is quadratic."""
        return self.objective.Q.nnz > 0 or bool(self.quadratic)

    def point(self) -> Array:
        """Present values of the columns (NaN where none)."""
        return self.columns.gathered().values


@dataclass
class _Row:
    """A row as it is read: low <= polynomial <= high."""

    read: Polynomial
    low: Number
    high: Number
    data: Any
    scale: Fraction | None = None  # by which it was multiplied


@dataclass
class _Reading:
    """Rows of a model by kind, as they are found."""

    arrays: list[ArrayRows] = field(default_factory=list)
    linear: list[_Row] = field(default_factory=list)
    cones: list[QuadraticRow] = field(default_factory=list)
    quadratic: list[_Row] = field(default_factory=list)
    semidefinite: list[tuple[list[Polynomial], Any]] = field(default_factory=list)
    nonlinear: list[Any] = field(default_factory=list)
    inexact: list[Inexact] = field(default_factory=list)


def standard_form(model: pyo.ConcreteModel, *, closely: bool = False) -> StandardForm:
    """Read the active part of a model.

    Parameters
    ----------
    closely : bool
        Whether an objective whose constant or squares have to give something up for costs of
        variables whose sign is not known counts as one that cannot be charged: far from 0 they give
        up too much.

    Raises
    ------
    InexactError
        A number in a row or the objective, such as the sum of 0.1 and 0.2, that no double is and
        that cannot be charged here: `representable` states the model in other rows.
    NumberError
        NaN or infinity in a coefficient, side or bound, naming the row and variable.
    ValueError
        More than one active objective.
    """
    refuse_unread_components(model)
    columns, found = Columns(model), _Reading()
    for component in model.component_objects(pyo.Constraint, active=True, descend_into=True):
        if isinstance(component, AffineRows):
            rows, constraints = read_arrays(component, columns)
            found.arrays.append(rows)
        elif isinstance(component, RotatedCones):
            cones, constraints = read_cones(component, columns)
            found.cones += cones
        else:
            constraints = component.values()
        for constraint in constraints:
            if constraint.active:
                _read_constraint(constraint, columns, found)
    goal, sense, goal_data = _objective(model, columns)
    if goal is None:
        found.nonlinear.append(goal_data)
        goal = Polynomial()
    columns.seal()
    n = len(columns)
    held = columns.gathered()
    low, high = held.lower, held.upper
    row_lower, row_upper, sides = _sides(found)
    objective = _quadratic(goal, n, sense, goal_data, (low, high), found.inexact, closely=closely)
    quadratic = tuple(_quadratic_row(row, low, high, found.inexact) for row in found.quadratic)
    if found.inexact:
        raise InexactError(found.inexact, columns)
    ends = columns.ends()
    first = sum(len(part.numbers) for part in found.arrays)
    return StandardForm(
        columns=columns,
        lower=low,
        upper=high,
        integer=held.integer,
        objective=objective,
        sense=sense,
        matrix=assemble(found.arrays, _matrix([row.read for row in found.linear], n), n),
        row_lower=row_lower,
        row_upper=row_upper,
        rows=Rows(
            [(part.component, part.numbers) for part in found.arrays],
            [row.data for row in found.linear],
        ),
        quadratic=(*found.cones, *quadratic),
        psd=tuple(
            PsdRow(_matrix(entries, n), np.array([e.constant for e in entries]), data)
            for entries, data in found.semidefinite
        ),
        nonlinear=tuple(found.nonlinear),
        exact=ExactEnds(
            sides,
            {j: exact for j, (exact, _) in ends.items() if exact != (None, None)},
            {j: excluded for j, (_, excluded) in ends.items() if any(excluded)},
            {k: row.scale for k, row in enumerate(found.linear, first) if row.scale is not None},
        ),
    )


def _read_constraint(constraint: Any, columns: Columns, into: _Reading) -> None:
    """Read one ordinary constraint into the list of its kind."""
    label = f"row {constraint.name}"
    low, body, high = constraint.to_bounded_expression()
    lower, upper = (None if end is None else number(end) for end in (low, high))
    entries = psd_entries(body)
    if entries is not None:
        if lower != 0 or upper is not None:
            raise ValueError(f"{label}: a semidefinite row must read smallest_eigenvalue >= 0")
        polynomials = [read(entry, columns, label) for entry in entries]
        if any(entry is None or entry.products for entry in polynomials):
            raise ValueError(f"{label}: entries of a semidefinite row must be affine")
        kept = [e for e in polynomials if e is not None]
        into.semidefinite.append((kept, constraint))
        into.inexact += [Inexact(constraint, e, set(e.exact)) for e in kept if e.exact]
        return
    for end, empty, word in ((lower, -math.inf, "lower"), (upper, math.inf, "upper")):
        side(end, empty, f"{label}: {word} side")
    lower, upper = -math.inf if lower is None else lower, math.inf if upper is None else upper
    polynomial = read(body, columns, label)
    if polynomial is None:
        into.nonlinear.append(constraint)
        return
    row = _Row(polynomial, lower, upper, constraint)
    if polynomial.products:
        into.quadratic.append(row)
        return
    if polynomial.exact and (lost := {key for key in polynomial.exact if key}):
        scale = scale_to_doubles(polynomial, None if lower != upper else lower)
        if scale is None:
            into.inexact.append(Inexact(constraint, polynomial, lost))
        else:
            row = _times(row, scale)
    into.linear.append(row)


def _times(row: _Row, scale: Fraction) -> _Row:
    """A linear row, multiplied by a number above 0 that makes its coefficients doubles."""
    read = Polynomial()
    for key, value in row.read.numbers().items():
        read.add(key, value * scale)
    merge(read)
    ends = [end if math.isinf(end) else _multiplied(end, scale) for end in (row.low, row.high)]
    return _Row(read, ends[0], ends[1], row.data, scale)


def _multiplied(end: Number, scale: Fraction) -> Number:
    """A side times a number: a double where it is one."""
    exact = Fraction(end) * scale
    return float(exact) if exact == Fraction(float(exact)) else exact


def _sides(found: _Reading) -> tuple[Array, Array, dict[int, Sides]]:
    """Sides of all linear rows less the constants of their bodies, next to them outwards.

    With those that no double is, by row.
    """
    sides: dict[int, Sides] = {}
    first = 0
    for part in found.arrays:
        sides |= {first + k: pair for k, pair in part.sides.items()}
        first += len(part.numbers)
    lows, highs = [], []
    for k, row in enumerate(found.linear, first):
        low, high, read = row.low, row.high, row.read
        if read.constants:
            constant = read.exact.get((), read.constant)
            low, high = (end if math.isinf(end) else plus(end, -constant) for end in (low, high))
        if low.__class__ is Fraction or high.__class__ is Fraction:
            if low == high:
                found.inexact.append(Inexact(row.data, row.read, {()}))
            low, high, sides[k] = outwards(low, high)
        lows.append(low)
        highs.append(high)
    return (
        np.concatenate([*(part.lower for part in found.arrays), np.array(lows, dtype=np.float64)]),
        np.concatenate([*(part.upper for part in found.arrays), np.array(highs, dtype=np.float64)]),
        sides,
    )


def _objective(model: pyo.ConcreteModel, columns: Columns) -> tuple[Polynomial | None, int, Any]:
    found = list(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    if len(found) > 1:
        raise ValueError(
            f"{len(found)} objectives are active ({', '.join(o.name for o in found[:3])}): "
            "deactivate all but one"
        )
    if not found:
        return Polynomial(), 1, None
    goal = read(found[0].expr, columns, f"objective {found[0].name}")
    return goal, 1 if found[0].sense == pyo.minimize else -1, found[0]


def _matrix(rows: Sequence[Polynomial], n: int) -> sp.csr_matrix:
    parts = [row.linear() for row in rows]
    counts = [len(index) for index, _ in parts]
    indices = np.concatenate([np.zeros(0, dtype=np.int64), *(index for index, _ in parts)])
    numbers = np.concatenate([np.zeros(0), *(a for _, a in parts)])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    matrix = sp.csr_matrix((numbers, indices, indptr), shape=(len(rows), n))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _quadratic_row(row: _Row, low: Array, high: Array, inexact: list[Inexact]) -> QuadraticRow:
    """A quadratic row in doubles that excludes no point of it."""
    lower, upper, sides = outwards(row.low, row.high)
    if not row.read.exact:
        return QuadraticRow(_local_quadratic(row.read), lower, upper, row.data, sides=sides)
    sign = 1 if upper < math.inf else -1
    outer, lost, stuck = doubles_below(row.read, sign, low, high, squares=True)
    inside, _, _ = doubles_below(row.read, -sign, low, high, squares=True)
    both = lower > -math.inf and upper < math.inf
    if both:
        inexact.append(Inexact(row.data, row.read, set(row.read.exact)))
    elif stuck:
        inexact.append(Inexact(row.data, row.read, {(j,) for j in stuck}))
    return QuadraticRow(
        _local_quadratic(outer), lower, upper, row.data, lost, sides, _local_quadratic(inside)
    )


def _local_quadratic(read: Polynomial) -> LocalQuadratic:
    entries: dict[tuple[int, int], float] = {}
    for i, j, v in read.products:
        for pair in ((i, j), (j, i)):
            entries[pair] = entries.get(pair, 0.0) + v / 2
    linear: dict[int, float] = {}
    index, coefficients = read.linear()
    for k, a in zip(index.tolist(), coefficients.tolist(), strict=True):
        linear[k] = linear.get(k, 0.0) + a
    columns = sorted({*linear, *(i for (i, _), v in entries.items() if v)})
    at = {column: k for k, column in enumerate(columns)}
    kept = [(at[i], at[j], v) for (i, j), v in entries.items() if v]
    return LocalQuadratic(
        index=np.array(columns, dtype=np.int64),
        i=np.array([i for i, _, _ in kept], dtype=np.int64),
        j=np.array([j for _, j, _ in kept], dtype=np.int64),
        v=np.array([v for *_, v in kept], dtype=np.float64),
        a=np.array([linear.get(column, 0.0) for column in columns]),
        constant=read.constant,
    )


def _quadratic(
    read: Polynomial,
    n: int,
    sense: int,
    data: Any,
    bounds: tuple[Array, Array],
    inexact: list[Inexact],
    *,
    closely: bool,
) -> Quadratic:
    """The objective of the minimisation in doubles that are nowhere above it."""
    lost: dict[Key, Fraction] = {}
    rest = Fraction(0)
    if read.exact:
        doubles, more, stuck = doubles_below(read, sense, *bounds, squares=not closely)
        lost = {key: sense * value for key, value in more.items()}
        if stuck:
            inexact.append(Inexact(data, read, {(j,) for j in stuck}))
        low, high = bounds
        signed = all(low[k[0]] >= 0 or high[k[0]] <= 0 for k in read.exact if len(k) == 1)
        if signed:  # the constant gave nothing up for others: proofs leave it out as it is
            rest = lost.pop((), rest)
        read = doubles
    index, coefficients = read.linear()
    a = np.bincount(index, weights=coefficients, minlength=n).astype(np.float64)
    if not read.products:
        return Quadratic(sp.csr_matrix((n, n)), sense * a, sense * read.constant, lost, rest)
    i, j, v = (np.array([p[k] for p in read.products]) for k in range(3))
    half = sp.coo_matrix((v / 2, (i.astype(int), j.astype(int))), shape=(n, n))
    Q = (half + half.T).tocsr()
    Q.eliminate_zeros()
    return Quadratic(sense * Q, sense * a, sense * read.constant, lost, rest)
