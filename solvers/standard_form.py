"""A Pyomo model read once into arrays: what every back end and every certificate works from.

    minimise   1/2 x'P x + q'x + offset
    s.t.       row_lower <= A x <= row_upper
               lower <= x'Q_k x + a_k'x <= upper        quadratic rows
               F_k x + g_k is semidefinite              rows of formulations.cones.psd
               lower <= x <= upper,  x_j integer for some j

Reading refuses NaN and infinite numbers by row and variable name. Fixed variables are constants.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.repn import generate_standard_repn

from formulations.cones import order, psd_entries
from solvers.errors import NumberError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Quadratic:
    """x'Qx + a'x + constant, with Q symmetric and both over all columns."""

    Q: sp.csr_matrix
    a: Array
    constant: float

    def at(self, x: Array) -> float:
        """Value at a point."""
        return float(x @ (self.Q @ x)) + float(self.a @ x) + self.constant


@dataclass(frozen=True, eq=False)
class LocalQuadratic:
    """x'Qx + a'x + constant over few columns: rows are many and short.

    Attributes
    ----------
    index : array (k,)
        Columns that occur, ascending.
    i, j, v : arrays
        Entries of Q in local positions, both halves, no duplicates.
    a : array (k,)
    """

    index: NDArray[np.int64]
    i: NDArray[np.int64]
    j: NDArray[np.int64]
    v: Array
    a: Array
    constant: float

    def at(self, x: Array) -> float:
        """Value at a point of all columns."""
        y = x[self.index]
        return float(self.v @ (y[self.i] * y[self.j])) + float(self.a @ y) + self.constant

    def magnitude(self, x: Array) -> float:
        """Sum of the absolute terms at a point, the constant left out."""
        y = np.abs(x[self.index])
        return float(np.abs(self.v) @ (y[self.i] * y[self.j])) + float(np.abs(self.a) @ y)

    def shifted(self, sign: float, side: float) -> LocalQuadratic:
        """sign * (body - side)."""
        return LocalQuadratic(
            self.index, self.i, self.j, sign * self.v, sign * self.a, sign * (self.constant - side)
        )


@dataclass(frozen=True, eq=False)
class QuadraticRow:
    """lower <= body <= upper with a quadratic body."""

    body: LocalQuadratic
    lower: float
    upper: float
    data: Any


@dataclass(frozen=True, eq=False)
class PsdRow:
    """The matrix with row-wise lower triangle F x + g (k (k + 1) / 2 entries) is semidefinite."""

    F: sp.csr_matrix
    g: Array
    data: Any

    @property
    def order(self) -> int:
        """Order k of the matrix."""
        return order(len(self.g))


@dataclass(frozen=True, eq=False)
class StandardForm:
    """Arrays of a model; see the module's docstring.

    Attributes
    ----------
    columns : tuple
        Pyomo variables in the order of x.
    objective : Quadratic
        Of the minimisation: P = 2 Q. Its sign is flipped when the model maximises.
    sense : int
        +1 minimise, -1 maximise.
    rows : tuple
        Pyomo constraints of A, in order.
    nonlinear : tuple
        Constraints (or the objective) that are not quadratic.
    """

    columns: tuple[Any, ...]
    lower: Array
    upper: Array
    integer: NDArray[np.bool_]
    objective: Quadratic
    sense: int
    A: sp.csr_matrix
    row_lower: Array
    row_upper: Array
    rows: tuple[Any, ...]
    quadratic: tuple[QuadraticRow, ...]
    psd: tuple[PsdRow, ...]
    nonlinear: tuple[Any, ...]

    @property
    def n(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @cached_property
    def P(self) -> sp.csc_matrix:  # noqa: N802  (the letter of every QP text)
        """Hessian of the objective."""
        return (2 * self.objective.Q).tocsc()

    @property
    def is_quadratic(self) -> bool:
        """Whether anything is quadratic."""
        return self.objective.Q.nnz > 0 or bool(self.quadratic)

    def point(self) -> Array:
        """Present values of the columns (NaN where none)."""
        return np.array([math.nan if v.value is None else float(v.value) for v in self.columns])


@dataclass
class _Affine:
    """One expression while it is read: constant, sparse linear part, sparse quadratic part."""

    constant: float
    index: list[int]
    coefficient: list[float]
    products: list[tuple[int, int, float]]


class _Reader:
    """Turns expressions into indices and numbers; new variables get the next column."""

    def __init__(self, model: pyo.Block) -> None:
        self.columns: list[Any] = []
        self.position: dict[int, int] = {}
        for variable in model.component_data_objects(pyo.Var, descend_into=True):
            if not variable.fixed:
                self.column(variable)

    def column(self, variable: Any) -> int:
        found = self.position.get(id(variable))
        if found is None:
            found = self.position[id(variable)] = len(self.columns)
            self.columns.append(variable)
        return found

    def read(self, expression: Any, owner: Any) -> _Affine | None:
        """Read an expression of degree at most two; None when it is of another kind."""
        read = (
            self._linear(expression)
            if expression.__class__ is LinearExpression
            else self._general(expression)
        )
        if read is not None:
            self._refuse_bad_numbers(read, owner)
        return read

    def _linear(self, expression: LinearExpression) -> _Affine:
        position, index, coefficient = self.position, [], []
        constant = float(pyo.value(expression.constant))
        for a, variable in zip(expression.linear_coefs, expression.linear_vars, strict=True):
            number = a if a.__class__ is float else float(pyo.value(a))
            if variable.fixed:
                constant += number * pyo.value(variable)
                continue
            at = position.get(id(variable))
            index.append(self.column(variable) if at is None else at)
            coefficient.append(number)
        return _Affine(constant, index, coefficient, [])

    def _general(self, expression: Any) -> _Affine | None:
        if expression.__class__ in (int, float):
            return _Affine(float(expression), [], [], [])
        repn = generate_standard_repn(expression, quadratic=True)
        if repn.nonlinear_expr is not None:
            return None
        products = [
            (self.column(x), self.column(y), float(a))
            for (x, y), a in zip(repn.quadratic_vars, repn.quadratic_coefs, strict=True)
        ]
        return _Affine(
            float(pyo.value(repn.constant)),
            [self.column(v) for v in repn.linear_vars],
            [float(pyo.value(a)) for a in repn.linear_coefs],
            products,
        )

    def _refuse_bad_numbers(self, read: _Affine, owner: Any) -> None:
        if not math.isfinite(read.constant):
            raise NumberError(f"{owner}: constant term is {read.constant}")
        numbers = np.array(read.coefficient)
        if not np.isfinite(numbers).all():
            k = int(np.flatnonzero(~np.isfinite(numbers))[0])
            name = self.columns[read.index[k]].name
            raise NumberError(f"{owner}: coefficient of {name} is {numbers[k]}")
        for i, j, a in read.products:
            if not math.isfinite(a):
                pair = f"{self.columns[i].name} * {self.columns[j].name}"
                raise NumberError(f"{owner}: coefficient of {pair} is {a}")


def _side(value: Any, empty: float, owner: str) -> float:
    if value is None:
        return empty
    number = float(value)
    if math.isnan(number):
        raise NumberError(f"{owner} is nan")
    if number == -empty:
        raise NumberError(f"{owner} is {number}: no point can satisfy it")
    return number


def standard_form(model: pyo.ConcreteModel) -> StandardForm:
    """Read the active part of a model.

    Raises
    ------
    NumberError
        NaN or infinity in a coefficient, side or bound, naming the row and variable.
    ValueError
        More than one active objective.
    """
    reader = _Reader(model)
    linear: list[tuple[_Affine, float, float, Any]] = []
    quadratic: list[tuple[_Affine, float, float, Any]] = []
    semidefinite: list[tuple[list[_Affine], Any]] = []
    nonlinear: list[Any] = []
    for constraint in model.component_data_objects(pyo.Constraint, active=True, descend_into=True):
        label = f"row {constraint.name}"
        low, body, high = constraint.to_bounded_expression(evaluate_bounds=True)
        entries = psd_entries(body)
        if entries is not None:
            if low != 0 or high is not None:
                raise ValueError(f"{label}: a semidefinite row must read smallest_eigenvalue >= 0")
            read_entries = [reader.read(entry, label) for entry in entries]
            if any(entry is None or entry.products for entry in read_entries):
                raise ValueError(f"{label}: entries of a semidefinite row must be affine")
            semidefinite.append(([e for e in read_entries if e is not None], constraint))
            continue
        sides = _side(low, -math.inf, f"{label}: lower side"), _side(
            high, math.inf, f"{label}: upper side"
        )  # fmt: skip
        read = reader.read(body, label)
        if read is None:
            nonlinear.append(constraint)
        elif read.products:
            quadratic.append((read, *sides, constraint))
        else:
            linear.append((read, *sides, constraint))
    goal, sense, goal_data = _objective(model, reader)
    if goal is None:
        nonlinear.append(goal_data)
        goal = _Affine(0.0, [], [], [])
    n = len(reader.columns)
    lower, upper = _bounds(reader.columns)
    constants = np.array([row.constant for row, *_ in linear])
    return StandardForm(
        columns=tuple(reader.columns),
        lower=lower,
        upper=upper,
        integer=np.array([v.is_integer() or v.is_binary() for v in reader.columns], dtype=bool),
        objective=_quadratic(goal, n, sense),
        sense=sense,
        A=_matrix([row for row, *_ in linear], n),
        row_lower=np.array([low for _, low, _, _ in linear]) - constants,
        row_upper=np.array([high for _, _, high, _ in linear]) - constants,
        rows=tuple(data for *_, data in linear),
        quadratic=tuple(
            QuadraticRow(_local_quadratic(read), low, high, data)
            for read, low, high, data in quadratic
        ),
        psd=tuple(
            PsdRow(_matrix(entries, n), np.array([e.constant for e in entries]), data)
            for entries, data in semidefinite
        ),
        nonlinear=tuple(nonlinear),
    )


def _objective(model: pyo.ConcreteModel, reader: _Reader) -> tuple[_Affine | None, int, Any]:
    found = list(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    if len(found) > 1:
        raise ValueError(
            f"{len(found)} objectives are active ({', '.join(o.name for o in found[:3])}): "
            "deactivate all but one"
        )
    if not found:
        return _Affine(0.0, [], [], []), 1, None
    sense = 1 if found[0].sense == pyo.minimize else -1
    return reader.read(found[0].expr, f"objective {found[0].name}"), sense, found[0]


def _bounds(columns: Iterable[Any]) -> tuple[Array, Array]:
    lower, upper = [], []
    for variable in columns:
        low, high = variable.bounds
        lower.append(_side(low, -math.inf, f"lower bound of {variable.name}"))
        upper.append(_side(high, math.inf, f"upper bound of {variable.name}"))
    return np.array(lower), np.array(upper)


def _matrix(rows: list[_Affine], n: int) -> sp.csr_matrix:
    counts = [len(row.index) for row in rows]
    indices = np.fromiter((j for row in rows for j in row.index), dtype=np.int64, count=sum(counts))
    numbers = np.fromiter(
        (a for row in rows for a in row.coefficient), dtype=np.float64, count=sum(counts)
    )
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    matrix = sp.csr_matrix((numbers, indices, indptr), shape=(len(rows), n))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _local_quadratic(read: _Affine) -> LocalQuadratic:
    entries: dict[tuple[int, int], float] = {}
    for i, j, v in read.products:
        for pair in ((i, j), (j, i)):
            entries[pair] = entries.get(pair, 0.0) + v / 2
    linear: dict[int, float] = {}
    for k, a in zip(read.index, read.coefficient, strict=True):
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


def _quadratic(read: _Affine, n: int, sense: int) -> Quadratic:
    a = np.zeros(n)
    np.add.at(a, np.array(read.index, dtype=int), np.array(read.coefficient))
    i, j, v = (np.array([p[k] for p in read.products]) for k in range(3))
    half = sp.coo_matrix((v / 2, (i.astype(int), j.astype(int))), shape=(n, n))
    Q = (half + half.T).tocsr()
    Q.eliminate_zeros()
    return Quadratic(sense * Q, sense * a, sense * read.constant)
