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
from dataclasses import dataclass, field
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
from tightmargin.solvers.standard_form.array_rows import ArrayRows, read_arrays
from tightmargin.solvers.standard_form.columns import Columns, Rows, holding, side, value_of
from tightmargin.solvers.standard_form.expressions import number, read
from tightmargin.solvers.standard_form.polynomial import Polynomial
from tightmargin.solvers.standard_form.quadratic import LocalQuadratic, Quadratic, QuadraticRow
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
    def is_quadratic(self) -> bool:
        """Whether anything is quadratic."""
        return self.objective.Q.nnz > 0 or bool(self.quadratic)

    def point(self) -> Array:
        """Present values of the columns (NaN where none)."""
        return self.columns.gathered().values


@dataclass
class _Reading:
    """Rows of a model by kind, as they are found."""

    arrays: list[ArrayRows] = field(default_factory=list)
    linear: list[tuple[Polynomial, float, float, Any]] = field(default_factory=list)
    cones: list[QuadraticRow] = field(default_factory=list)
    quadratic: list[tuple[Polynomial, float, float, Any]] = field(default_factory=list)
    semidefinite: list[tuple[list[Polynomial], Any]] = field(default_factory=list)
    nonlinear: list[Any] = field(default_factory=list)


def standard_form(model: pyo.ConcreteModel) -> StandardForm:
    """Read the active part of a model.

    Raises
    ------
    NumberError
        NaN or infinity in a coefficient, side or bound, naming the row and variable.
    ValueError
        More than one active objective.
    """
    refuse_unread_components(model)
    columns, found = Columns(model), _Reading()
    for component in model.component_objects(pyo.Constraint, active=True, descend_into=True):
        if isinstance(component, AffineRows):
            found.arrays.append(read_arrays(component, columns))
            constraints = component.touched()
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
    row_lower, row_upper = _sides(found)
    return StandardForm(
        columns=columns,
        lower=held.lower,
        upper=held.upper,
        integer=held.integer,
        objective=_quadratic(goal, n, sense),
        sense=sense,
        matrix=assemble(found.arrays, _matrix([row for row, *_ in found.linear], n), n),
        row_lower=row_lower,
        row_upper=row_upper,
        rows=Rows(
            [(part.component, part.numbers) for part in found.arrays],
            [data for *_, data in found.linear],
        ),
        quadratic=(
            *found.cones,
            *(
                QuadraticRow(_local_quadratic(row), low, high, data)
                for row, low, high, data in found.quadratic
            ),
        ),
        psd=tuple(
            PsdRow(_matrix(entries, n), np.array([e.constant for e in entries]), data)
            for entries, data in found.semidefinite
        ),
        nonlinear=tuple(found.nonlinear),
    )


def _read_constraint(constraint: Any, columns: Columns, into: _Reading) -> None:
    """Read one ordinary constraint into the list of its kind."""
    label = f"row {constraint.name}"
    low, body, high = constraint.to_bounded_expression()
    low, high = (None if end is None else number(end) for end in (low, high))
    entries = psd_entries(body)
    if entries is not None:
        if low != 0 or high is not None:
            raise ValueError(f"{label}: a semidefinite row must read smallest_eigenvalue >= 0")
        polynomials = [read(entry, columns, label) for entry in entries]
        if any(entry is None or entry.products for entry in polynomials):
            raise ValueError(f"{label}: entries of a semidefinite row must be affine")
        into.semidefinite.append(([e for e in polynomials if e is not None], constraint))
        return
    lower = side(low, -math.inf, f"{label}: lower side")
    upper = side(high, math.inf, f"{label}: upper side")
    polynomial = read(body, columns, label)
    if polynomial is None:
        into.nonlinear.append(constraint)
    else:
        kind = into.quadratic if polynomial.products else into.linear
        kind.append((polynomial, lower, upper, constraint))


def _sides(found: _Reading) -> tuple[Array, Array]:
    """Sides of all linear rows, constants of their bodies moved over."""
    constants = np.array([row.constant for row, *_ in found.linear])
    lows = np.array([low for _, low, _, _ in found.linear]) - constants
    highs = np.array([high for _, _, high, _ in found.linear]) - constants
    return (
        np.concatenate([*(part.lower for part in found.arrays), lows]),
        np.concatenate([*(part.upper for part in found.arrays), highs]),
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


def _quadratic(read: Polynomial, n: int, sense: int) -> Quadratic:
    index, coefficients = read.linear()
    a = np.bincount(index, weights=coefficients, minlength=n).astype(np.float64)
    if not read.products:
        return Quadratic(sp.csr_matrix((n, n)), sense * a, sense * read.constant)
    i, j, v = (np.array([p[k] for p in read.products]) for k in range(3))
    half = sp.coo_matrix((v / 2, (i.astype(int), j.astype(int))), shape=(n, n))
    Q = (half + half.T).tocsr()
    Q.eliminate_zeros()
    return Quadratic(sense * Q, sense * a, sense * read.constant)
