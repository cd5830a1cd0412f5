"""Rows of a model written as sums of (coefficients, variable) terms, kept as arrays.

A formulation file lists its terms,

    m.margin = AffineRows(m.I, [(y[:, None] * X, m.w), (y, m.b), (1.0, m.xi)], lower=1.0)

reads  y_i (<w, x_i> + b) + xi_i >= 1  for every i in m.I. The numbers stay in the arrays; row i
becomes an ordinary Pyomo constraint when somebody touches m.margin[i] (looks at it, deactivates,
replaces it, writes a file), and solve() hands the arrays of the untouched rows over as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray
from pyomo.core.base.constraint import Constraint, ConstraintData, IndexedConstraint
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.core.expr.relational_expr import (
    EqualityExpression,
    InequalityExpression,
    RangedExpression,
)

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Term = tuple[Any, Any]


class Numbers:
    """Read-only array or sparse matrix that clones of a model share instead of copying."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __deepcopy__(self, memo: object) -> Numbers:
        """Return the same object: nobody writes to it."""
        return self


@dataclass(eq=False)
class Block:
    """One term of all rows.

    Attributes
    ----------
    kind : "matrix", "element" or "column"
        A full row over the variable's elements, the row's own element, or a scalar variable.
    numbers : Numbers or Pyomo Param
        (n, k) dense or sparse; (n,) otherwise; a Param is read at the time of use.
    """

    kind: str
    variable: Any
    numbers: Any
    _elements: list[Any] | None = None

    @property
    def elements(self) -> list[Any]:
        """Elements of the variable, listed once: every touched row needs them."""
        if self._elements is None:
            self._elements = list(self.variable.values())
        return self._elements

    def row(self, k: int) -> tuple[list[Any], list[Any]]:
        """Coefficients and variables of this term in row k."""
        if self.kind == "column":
            return [_entry(self.numbers, k)], [self.variable]
        if self.kind == "element":
            return [_entry(self.numbers, k)], [self.elements[k]]
        values = self.numbers.values
        if sp.issparse(values):
            span = slice(values.indptr[k], values.indptr[k + 1])
            return values.data[span].tolist(), [self.elements[j] for j in values.indices[span]]
        return values[k].tolist(), self.elements

    def entries(self, rows: Index, columns: Index) -> tuple[Index, Index, Array]:
        """Row number, column and value of this term in some rows; rows are numbered from 0.

        Parameters
        ----------
        columns : array
            Column of every element of the variable.
        """
        here = np.arange(len(rows))
        if self.kind != "matrix":
            numbers = _all_entries(self.numbers, rows)
            at = columns[rows] if self.kind == "element" else np.full(len(rows), columns[0])
            return here, at, numbers
        values = self.numbers.values
        if sp.issparse(values):
            part = values[rows].tocoo()
            return part.row.astype(np.int64), columns[part.col], part.data
        part = values if len(rows) == len(values) else values[rows]
        return (
            np.repeat(here, len(columns)),
            np.tile(columns, len(rows)),
            part.ravel(),
        )


class AffineRows(IndexedConstraint):
    """lower <= sum of terms <= upper, one row for each element of `index`.

    Parameters
    ----------
    index : Pyomo Set
        Rows, n of them; row k of an array belongs to the k-th element.
    terms : list of (coefficients, variable)
        An array (n, k), dense or sparse, with a variable of k elements contributes a full row; a
        number, an array (n,) or a Param with a variable over `index` contributes its own element;
        the same with a scalar variable contributes one column.
    lower, upper : number, array (n,), Param or None
        Sides; the same object on both sides makes an equation.

    Raises
    ------
    ValueError
        When the shape of a term does not fit `index` and its variable.
    """

    def __init__(
        self, index: pyo.Set, terms: Sequence[Term], *, lower: Any = None, upper: Any = None
    ) -> None:
        n = len(index)
        self._blocks = [_block(coefficients, variable, n) for coefficients, variable in terms]
        self._equal = lower is not None and lower is upper
        self._sides = [
            None if side is None else _numbers(side, n, "side") for side in (lower, upper)
        ]
        self._gone: set[Any] = set()
        self._pristine: dict[Any, Any] = {}
        self._position: dict[Any, int] | None = None
        super().__init__(index, ctype=Constraint)

    def construct(self, data: Any = None) -> None:
        """Nothing to build: rows are made when touched."""
        if self.is_constructed():
            return
        self._constructed = True
        for anonymous in self._anonymous_sets or ():
            anonymous.construct()

    def __len__(self) -> int:
        return len(self._index_set) - len(self._gone)

    def __contains__(self, index: Any) -> bool:
        return index in self._index_set and index not in self._gone

    def keys(self, sort: Any = False, ordered: Any = None) -> Iterator[Any]:
        """Elements of the index set whose rows were not deleted, in the order of the set."""
        return (index for index in self._index_set if index not in self._gone)

    def __delitem__(self, index: Any) -> None:
        if index not in self:
            raise KeyError(index)
        row = self._data.pop(index, None)
        if row is not None:
            row._component = None
        self._gone.add(index)

    def _setitem_when_not_present(self, index: Any, value: Any = None) -> Any:
        self._gone.discard(index)
        return super()._setitem_when_not_present(index, value)

    def _getitem_when_not_present(self, index: Any) -> ConstraintData:
        if index in self._gone:
            raise KeyError(index)
        k = self._row_number(index)
        coefficients: list[Any] = []
        variables: list[Any] = []
        for block in self._blocks:
            a, x = block.row(k)
            coefficients += a
            variables += x
        body = LinearExpression(linear_coefs=coefficients, linear_vars=variables)
        row = self._data[index] = ConstraintData(component=self)
        row._index = index
        row._expr = self._pristine[index] = self._relation(k, body)
        return row

    def _relation(self, k: int, body: LinearExpression) -> Any:
        low, high = (None if side is None else _entry(side, k) for side in self._sides)
        if self._equal:
            return EqualityExpression((body, low))
        if low is not None and high is not None:
            return RangedExpression((low, body, high), False)
        if high is None:
            return InequalityExpression((low, body), False)
        return InequalityExpression((body, high), False)

    def _row_number(self, index: Any) -> int:
        if self._position is None:
            self._position = {element: k for k, element in enumerate(self._index_set)}
        return self._position[index]

    def touched(self) -> list[ConstraintData]:
        """Rows that somebody made active again, deactivated, replaced: to be read one by one."""
        return [
            row
            for index, row in self._data.items()
            if not row._active or row._expr is not self._pristine.get(index)
        ]

    def untouched(self) -> Index:
        """Numbers of the rows that are still what the arrays say."""
        n = len(self._index_set)
        changed = [self._row_number(row._index) for row in self.touched()]
        changed += [self._row_number(index) for index in self._gone]
        return np.setdiff1d(np.arange(n), changed) if changed else np.arange(n)

    def row_keys(self, rows: Index) -> list[Any]:
        """Index elements of some row numbers."""
        elements = list(self._index_set)
        return elements if len(rows) == len(elements) else [elements[k] for k in rows]

    def blocks(self) -> list[Block]:
        """Terms, for whoever hands the arrays to a solver."""
        return self._blocks

    def sides(self, rows: Index) -> tuple[Array, Array]:
        """Lower and upper sides of some rows, infinite where there is none."""
        low, high = (
            np.full(len(rows), empty) if side is None else _all_entries(side, rows)
            for side, empty in zip(self._sides, (-np.inf, np.inf), strict=True)
        )
        return low, high


def equal_rows(index: pyo.Set, terms: Sequence[Term], value: Any) -> AffineRows:
    """Rows with both sides equal to `value`."""
    return AffineRows(index, terms, lower=value, upper=value)


def rows_by_index(index: pyo.Set, relation: Callable[[Any], Any]) -> Constraint:
    """Ordinary rows relation(i) for i in `index`; unlike a rule, nothing unpicklable is kept."""
    return Constraint(index, rule={element: relation(element) for element in index})


def dot(coefficients: Any, variable: Any) -> LinearExpression:
    """Linear expression sum_k coefficients_k variable_k; a number repeats for every element."""
    elements = list(variable.values())
    numbers = np.broadcast_to(np.asarray(coefficients, dtype=float), (len(elements),)).tolist()
    return LinearExpression(linear_coefs=numbers, linear_vars=elements)


def squares(variable: Any) -> Any:
    """Sum of squares of the elements of a variable."""
    return pyo.quicksum(element**2 for element in variable.values())


def _block(coefficients: Any, variable: Any, n: int) -> Block:
    width = len(variable) if variable.is_indexed() else 1
    matrix = sp.issparse(coefficients) or (
        isinstance(coefficients, np.ndarray) and coefficients.ndim == 2
    )
    if matrix:
        if coefficients.shape != (n, width):
            raise ValueError(
                f"term of {variable.name}: coefficients {coefficients.shape} do not fit "
                f"{n} rows and {width} variables"
            )
        if sp.issparse(coefficients):
            return Block("matrix", variable, Numbers(coefficients.tocsr()))
        return Block("matrix", variable, Numbers(_read_only(coefficients)))
    if variable.is_indexed() and width != n:
        raise ValueError(f"term of {variable.name}: {width} variables for {n} rows")
    kind = "element" if variable.is_indexed() else "column"
    return Block(kind, variable, _numbers(coefficients, n, f"term of {variable.name}"))


def _read_only(values: Any) -> Array:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def _numbers(value: Any, n: int, name: str) -> Any:
    """A Param as it is, or numbers repeated to one a row."""
    if isinstance(value, pyo.Param):
        if value.is_indexed() and len(value) != n:
            raise ValueError(f"{name}: {len(value)} values of {value.name} for {n} rows")
        return value
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n,)):
        raise ValueError(f"{name}: expected a number or {n} numbers, got shape {array.shape}")
    return Numbers(_read_only(np.broadcast_to(array, (n,))))


def _entry(numbers: Any, k: int) -> Any:
    """Number of row k; a Param keeps its identity, so that it stays mutable in the row."""
    if isinstance(numbers, Numbers):
        return float(numbers.values[k])
    return numbers[numbers.index_set().at(k + 1)] if numbers.is_indexed() else numbers


def _all_entries(numbers: Any, rows: Index) -> Array:
    """Present numbers of some rows."""
    if isinstance(numbers, Numbers):
        return np.asarray(numbers.values)[rows]
    present = np.array([pyo.value(entry) for entry in numbers.values()], dtype=np.float64)
    return present[rows] if numbers.is_indexed() else np.full(len(rows), present[0])
