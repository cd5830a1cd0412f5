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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.gdp import Disjunct
from pyomo.repn import generate_standard_repn

from formulations.cones import order, psd_entries
from formulations.rows import AffineRows, Block
from solvers.errors import NumberError

Array = NDArray[np.float64]

# Everything else that is active (SOS sets, logic, disjunctions) must be transformed away first.
_READ = {
    pyo.Block, pyo.BuildAction, pyo.BuildCheck, pyo.Constraint, pyo.Expression,
    pyo.ExternalFunction, pyo.Objective, pyo.Param, pyo.RangeSet, pyo.Set, pyo.Suffix, pyo.Var,
    pyo.BooleanVar, Disjunct,
}  # fmt: skip


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
    rows : Rows
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
    rows: Rows
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


@dataclass(frozen=True, eq=False)
class _ArrayRows:
    """Untouched rows of one AffineRows component, with fixed variables moved to the sides."""

    component: AffineRows
    keys: list[Any]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    numbers: Array
    lower: Array
    upper: Array

    def matrix(self, n: int) -> sp.csr_matrix:
        """Coefficients over n columns."""
        shape = (len(self.keys), n)
        matrix = sp.csr_matrix((self.numbers, (self.rows, self.columns)), shape=shape)
        matrix.eliminate_zeros()
        return matrix


class Rows(Sequence[Any]):
    """Pyomo constraints of the linear rows; those kept as arrays are made only when asked for."""

    def __init__(self, arrays: list[tuple[Any, list[Any]]], single: list[Any]) -> None:
        self.arrays, self.single = arrays, single
        self._ends = np.cumsum([len(keys) for _, keys in arrays])

    def __len__(self) -> int:
        return (int(self._ends[-1]) if len(self._ends) else 0) + len(self.single)

    def __getitem__(self, k: Any) -> Any:
        part = int(np.searchsorted(self._ends, k, side="right"))
        start = int(self._ends[part - 1]) if part else 0
        if part == len(self.arrays):
            return self.single[k - start]
        component, keys = self.arrays[part]
        return component[keys[k - start]]

    def locations(self) -> Iterator[tuple[Any, Any]]:
        """Component and index of every row, without making it."""
        for component, keys in self.arrays:
            for key in keys:
                yield component, key
        for row in self.single:
            yield row.parent_component(), row.index()


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

    def read_arrays(self, component: AffineRows) -> _ArrayRows:
        """Arrays of the untouched rows of a component."""
        which = component.untouched()
        keys = component.row_keys(which)
        parts = []
        constants = np.zeros(len(which))
        for block in component.blocks():
            columns, values = self._columns_of(block.variable)
            rows, at, numbers = block.entries(which, columns)
            if not np.isfinite(numbers).all():
                self._blame(component, keys, block, rows, numbers)
            if values is not None:
                fixed = at < 0
                present = _fixed_values(block, which, values, fixed)
                np.add.at(constants, rows[fixed], numbers[fixed] * present)
                rows, at, numbers = rows[~fixed], at[~fixed], numbers[~fixed]
            parts.append((rows, at, numbers))
        low, high = component.sides(which)
        for name, side, empty in (("lower", low, -np.inf), ("upper", high, np.inf)):
            for k in np.flatnonzero(np.isnan(side) | (side == -empty)):
                _side(side[k], empty, f"row {component.name}[{keys[k]}]: {name} side")
        rows, at, numbers = (np.concatenate(part) for part in zip(*parts, strict=True))
        return _ArrayRows(component, keys, rows, at, numbers, low - constants, high - constants)

    def _columns_of(self, variable: Any) -> tuple[NDArray[np.int64], Array | None]:
        """Columns of the elements of a variable, -1 where fixed, and then their values."""
        elements = list(variable.values())
        fixed = any(v.fixed for v in elements)
        columns = np.array([-1 if v.fixed else self.column(v) for v in elements], dtype=np.int64)
        values = np.array([v.value if v.fixed else 0.0 for v in elements]) if fixed else None
        return columns, values

    def _blame(
        self, component: Any, keys: list[Any], block: Any, rows: Any, numbers: Array
    ) -> None:
        """Raise for the first number that is not finite, naming its row and variable."""
        k = int(np.flatnonzero(~np.isfinite(numbers))[0])
        width = len(numbers) // max(len(keys), 1)
        name = block.elements[k % width].name if block.kind == "matrix" else block.variable.name
        raise NumberError(
            f"row {component.name}[{keys[rows[k]]}]: coefficient of {name} is {numbers[k]}"
        )

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


def _fixed_values(
    block: Block, which: NDArray[np.int64], values: Array, fixed: NDArray[np.bool_]
) -> Array:
    """Value of the fixed variable behind each fixed entry of a block."""
    if block.kind == "column":
        return np.full(int(fixed.sum()), values[0])
    if block.kind == "element":
        return values[which][fixed]
    numbers = block.numbers.values
    if sp.issparse(numbers):
        return values[numbers[which].tocoo().col][fixed]
    return np.tile(values, len(which))[fixed]


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
    _refuse_unread_components(model)
    reader = _Reader(model)
    linear: list[tuple[_Affine, float, float, Any]] = []
    quadratic: list[tuple[_Affine, float, float, Any]] = []
    semidefinite: list[tuple[list[_Affine], Any]] = []
    nonlinear: list[Any] = []
    arrays: list[_ArrayRows] = []
    for component in model.component_objects(pyo.Constraint, active=True, descend_into=True):
        if isinstance(component, AffineRows):
            arrays.append(reader.read_arrays(component))
            constraints = component.touched()
        else:
            constraints = component.values()
        for constraint in constraints:
            if constraint.active:
                _read_constraint(constraint, reader, linear, quadratic, semidefinite, nonlinear)
    goal, sense, goal_data = _objective(model, reader)
    if goal is None:
        nonlinear.append(goal_data)
        goal = _Affine(0.0, [], [], [])
    n = len(reader.columns)
    lower, upper = _bounds(reader.columns)
    constants = np.array([row.constant for row, *_ in linear])
    single = _matrix([row for row, *_ in linear], n)
    matrices = [*(part.matrix(n) for part in arrays), single]
    lows = [
        *(part.lower for part in arrays),
        np.array([low for _, low, _, _ in linear]) - constants,
    ]
    highs = [
        *(part.upper for part in arrays), np.array([high for _, _, high, _ in linear]) - constants,
    ]  # fmt: skip
    return StandardForm(
        columns=tuple(reader.columns),
        lower=lower,
        upper=upper,
        integer=np.array([v.is_integer() or v.is_binary() for v in reader.columns], dtype=bool),
        objective=_quadratic(goal, n, sense),
        sense=sense,
        A=sp.vstack(matrices, format="csr"),
        row_lower=np.concatenate(lows),
        row_upper=np.concatenate(highs),
        rows=Rows([(part.component, part.keys) for part in arrays], [data for *_, data in linear]),
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


def _refuse_unread_components(model: pyo.ConcreteModel) -> None:
    """Raise for active parts of a model that this reader would pass over in silence."""
    found = {part.ctype for part in model.component_objects(active=True, descend_into=True)}
    unread = found - _READ
    if unread:
        names = ", ".join(sorted(ctype.__name__ for ctype in unread))
        raise ValueError(f"{model.name}: active components of type {names} cannot be read here")


def _read_constraint(
    constraint: Any,
    reader: _Reader,
    linear: list[tuple[_Affine, float, float, Any]],
    quadratic: list[tuple[_Affine, float, float, Any]],
    semidefinite: list[tuple[list[_Affine], Any]],
    nonlinear: list[Any],
) -> None:
    """Read one ordinary constraint into the list of its kind."""
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
        return
    lower = _side(low, -math.inf, f"{label}: lower side")
    upper = _side(high, math.inf, f"{label}: upper side")
    read = reader.read(body, label)
    if read is None:
        nonlinear.append(constraint)
    else:
        kind = quadratic if read.products else linear
        kind.append((read, lower, upper, constraint))


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
    columns = list(columns)
    for variable in columns:
        low, high = variable.bounds
        lower.append(-math.inf if low is None else low)
        upper.append(math.inf if high is None else high)
    low_array, high_array = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
    for k in np.flatnonzero(~(low_array < math.inf) | ~(high_array > -math.inf)):
        _side(low_array[k], -math.inf, f"lower bound of {columns[k].name}")
        _side(high_array[k], math.inf, f"upper bound of {columns[k].name}")
    return low_array, high_array


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
