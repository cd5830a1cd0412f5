"""Rows whose numbers stay in arrays: expressions are written only when somebody looks at a row.

A row is a sum of (coefficients, variable) terms. A formulation file lists its terms,

    m.margin = AffineRows(m.I, [((y, X), m.w), (y, m.b), (1.0, m.xi)], lower=1.0)

reads  y_i (<w, x_i> + b) + xi_i >= 1  for every i in m.I. The numbers stay in the arrays; row i
becomes an ordinary Pyomo constraint when somebody touches m.margin[i] (looks at it, deactivates,
replaces it, writes a file), and solve() hands the arrays of the untouched rows over as they are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray
from pyomo.core.base.component_namer import index_repr
from pyomo.core.base.constraint import Constraint, ConstraintData, IndexedConstraint
from pyomo.core.expr.numeric_expr import LinearExpression, MonomialTermExpression, SumExpression
from pyomo.core.expr.relational_expr import (
    EqualityExpression,
    InequalityExpression,
    RangedExpression,
)

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.mathematics import between_text, sum_text
from tightmargin.number_words import count_text
from tightmargin.printing import NUMBERS, Page, Readable

# --- Constraints that are made when somebody touches them: what all rows kept as arrays share ----


class LazyRows(IndexedConstraint, Readable):
    """Indexed constraint whose row i is written by `_written` on first touch.

    Length, membership and iteration follow the index set, so that every other part of Pyomo sees
    all rows; solve() asks for the numbers of the `untouched` ones and reads their arrays instead.
    """

    def __init__(self, index: pyo.Set) -> None:
        self._gone: set[Any] = set()
        self._pristine: dict[Any, Any] = {}
        self._position: dict[Any, int] | None = None
        super().__init__(index, ctype=Constraint)

    @abstractmethod
    def _written(self, k: int) -> Any:
        """Relation of row number k, as a Pyomo expression."""

    @abstractmethod
    def row_text(self, k: int) -> str:
        """Row number k as a line of mathematics, as the arrays have it."""

    def _title(self) -> str:
        return f"{self.name}: {count_text(len(self), 'row')}"

    def _page(self) -> Page:
        first = next(iter(self.keys()), None)
        if first is None:
            return Page(self._title())
        name = f"{self.name}{index_repr(first)}"
        facts = [
            (name, self.text_of(first) or str(self._data[first].expr)),
            ("edit", f"like any Pyomo constraint: {name}.deactivate(), del {name}"),
        ]
        return Page(self._title(), facts)

    def text_of(self, index: Any) -> str:
        """The row of an index as mathematics; empty where it is no longer what the arrays say."""
        row = self._data.get(index)
        if row is not None and row._expr is not self._pristine.get(index):
            return ""
        return self.row_text(self.row_number(index))

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

    def clear(self) -> None:
        """Delete every row."""
        for index in list(self.keys()):
            del self[index]

    def _setitem_when_not_present(self, index: Any, value: Any = None) -> Any:
        self._gone.discard(index)
        return super()._setitem_when_not_present(index, value)

    def _getitem_when_not_present(self, index: Any) -> ConstraintData:
        if index in self._gone:
            raise KeyError(index)
        row = self._data[index] = ConstraintData(component=self)
        row._index = index
        row._expr = self._pristine[index] = self._written(self.row_number(index))
        return row

    def row_number(self, index: Any) -> int:
        """Number of the row of an index element."""
        if self._position is None:
            self._position = {element: k for k, element in enumerate(self._index_set)}
        return self._position[index]

    def row_key(self, k: int) -> Any:
        """Index element of row number k."""
        return self._index_set.at(int(k) + 1)

    def row_keys(self, rows: Index) -> list[Any]:
        """Index elements of some row numbers."""
        elements = list(self._index_set)
        return elements if len(rows) == len(elements) else [elements[k] for k in rows]

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
        changed = [self.row_number(row._index) for row in self.touched()]
        changed += [self.row_number(index) for index in self._gone]
        return np.setdiff1d(np.arange(n), changed) if changed else np.arange(n)


# --- Terms of rows kept as arrays: a coefficient array, or a Param, with its variable ------------

Term = tuple[Any, Any]


def all_finite(values: Array) -> bool:
    """Whether no number is NaN or infinite: a finite sum says so in a third of the time."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum())) or bool(np.isfinite(values).all())


class Numbers:
    """Read-only array or sparse matrix that clones of a model share instead of copying."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __deepcopy__(self, memo: object) -> Numbers:
        """Return the same object: nobody writes to it."""
        return self

    @cached_property
    def finite(self) -> bool:
        """Whether no number is NaN or infinite; nobody writes to them, so it is asked once."""
        values = self.values.data if sp.issparse(self.values) else self.values
        return all_finite(values)


@dataclass(eq=False)
class Block:
    """One term of all rows.

    kind: a full row over the variable's elements, the row's own element, or a scalar variable.
    numbers: (n, k) dense or sparse; (n,) otherwise; a Param is read at the time of use.
    scale: (n,) factors of the rows of a matrix.
    """

    kind: str
    variable: Any
    numbers: Any
    scale: Numbers | None = None
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
            return [entry(self.numbers, k)], [self.variable]
        if self.kind == "element":
            return [entry(self.numbers, k)], [self._element(k)]
        values, factor = self.numbers.values, self.factors(np.array([k]))
        if sp.issparse(values):
            span = slice(values.indptr[k], values.indptr[k + 1])
            columns = values.indices[span]
            return (values.data[span] * factor).tolist(), [self.elements[j] for j in columns]
        return (values[k] * factor).tolist(), self.elements

    def named_terms(self, k: int) -> list[tuple[float, str]]:
        """Coefficients of this term in row k with the names of the variables, none of them made."""
        name, at = str(self.variable.name), np.array([k])
        if self.kind == "column":
            return [(float(self.coefficients(at)[0]), name)]
        index = self.variable.index_set()
        if self.kind == "element":
            key = index_repr(index.at(k + 1))
            return [(float(self.coefficients(at)[0]), f"{name}{key}")]
        row = self.sparse_rows(at).tocoo()
        pairs = sorted(zip(row.col.tolist(), row.data.tolist(), strict=True))
        return [(a, f"{name}{index_repr(index.at(j + 1))}") for j, a in pairs]

    def _element(self, k: int) -> Any:
        if isinstance(self.variable, ArrayVar):
            return self.variable[self.variable.index_set().at(k + 1)]
        return self.elements[k]

    def factors(self, rows: Index) -> Any:
        """Factors of some rows of a matrix: an array, or 1."""
        return 1.0 if self.scale is None else self.scale.values[rows]

    def coefficients(self, rows: Index) -> Array:
        """Coefficients of some rows of an "element" or "column" term."""
        return all_entries(self.numbers, rows)

    def is_finite(self) -> bool:
        """Whether every coefficient is a finite number."""
        if not isinstance(self.numbers, Numbers):
            return bool(np.isfinite(all_entries(self.numbers, None)).all())
        return self.numbers.finite and (self.scale is None or self.scale.finite)

    def sparse_rows(self, rows: Index) -> sp.csr_matrix:
        """Some rows of a matrix term, as a sparse matrix that may share arrays with it."""
        values = self.numbers.values
        part = sp.csr_matrix(values if len(rows) == values.shape[0] else values[rows])
        if self.scale is None:
            return part
        numbers = part.data * np.repeat(self.factors(rows), np.diff(part.indptr))
        return sp.csr_matrix((numbers, part.indices, part.indptr), shape=part.shape)


def block(coefficients: Any, variable: Any, n: int) -> Block:
    """Term of n rows.

    Raises ValueError: when the shape of the coefficients does not fit the rows and the variable.
    """
    scale = None
    if isinstance(coefficients, tuple):
        factors, coefficients = coefficients
        scale = numbers_of(factors, n, f"factors of {variable.name}")
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
            return Block("matrix", variable, Numbers(coefficients.tocsr()), scale)
        return Block("matrix", variable, Numbers(_read_only(coefficients)), scale)
    if scale is not None:
        raise ValueError(f"term of {variable.name}: factors of rows need a matrix beside them")
    if variable.is_indexed() and width != n:
        raise ValueError(f"term of {variable.name}: {width} variables for {n} rows")
    kind = "element" if variable.is_indexed() else "column"
    return Block(kind, variable, numbers_of(coefficients, n, f"term of {variable.name}"))


def times(factor: float, coefficients: Any) -> Any:
    """Coefficients of a term multiplied by a number."""
    if isinstance(coefficients, tuple):
        factors, matrix = coefficients
        return factor * factors, matrix
    return factor * coefficients


def _read_only(values: Any) -> Array:
    """The array itself when nobody can write to it, else a copy that nobody can write to."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and _is_frozen(values):
        return values
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def _is_frozen(values: NDArray[Any]) -> bool:
    owner: Any = values
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return owner is None


def numbers_of(value: Any, n: int, name: str) -> Any:
    """A Param as it is, or numbers repeated to one a row."""
    if isinstance(value, pyo.Param):
        if value.is_indexed() and len(value) != n:
            raise ValueError(f"{name}: {len(value)} values of {value.name} for {n} rows")
        return value
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n,)):
        raise ValueError(f"{name}: expected a number or {n} numbers, got shape {array.shape}")
    return Numbers(_read_only(np.broadcast_to(array, (n,))))


def entry(numbers: Any, k: int) -> Any:
    """Number of row k; a Param keeps its identity, so that it stays mutable in the row."""
    if isinstance(numbers, Numbers):
        return float(numbers.values[k])
    return numbers[numbers.index_set().at(k + 1)] if numbers.is_indexed() else numbers


def all_entries(numbers: Any, rows: Index | None) -> Array:
    """Present numbers of some rows, or of all."""
    if isinstance(numbers, Numbers):
        values: Array = np.asarray(numbers.values)
    else:
        values = np.array([pyo.value(each) for each in numbers.values()], dtype=np.float64)
        if not numbers.is_indexed() and rows is not None:
            return np.full(len(rows), values[0])
    return values if rows is None or len(rows) == len(values) else values[rows]


# --- Sums over the elements of a variable, for objectives and single rows ------------------------


class LazyTerms(Sequence[Any]):
    """Terms c_k x_k of a LinearExpression, made when somebody looks at them.

    numbers: coefficients c (n,).
    """

    def __init__(self, numbers: Numbers, variable: ArrayVar) -> None:
        self.numbers, self.variable = numbers, variable
        self._made: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.numbers.values) if self._made is None else len(self._made)

    def __getitem__(self, which: Any) -> Any:
        return self._terms()[which]

    def append(self, term: Any) -> None:
        """Add a term, as Pyomo does when such a sum is added to a linear one."""
        self._terms().append(term)

    def extend(self, terms: Any) -> None:
        """Add terms."""
        self._terms().extend(terms)

    def _terms(self) -> list[Any]:
        if self._made is None:
            pairs = zip(self.numbers.values.tolist(), self.variable.values(), strict=True)
            self._made = [MonomialTermExpression(pair) for pair in pairs]
        return self._made


def lazy_terms(expression: LinearExpression) -> LazyTerms | None:
    """Terms of a linear expression when they still are arrays and nothing else."""
    terms = expression._args_
    if terms.__class__ is LazyTerms and expression.nargs() == len(terms.numbers.values):
        return terms
    return None


def dot(coefficients: Any, variable: Any) -> LinearExpression:
    """Linear expression sum_k coefficients_k variable_k.

    Its terms stay arrays as long as it is not added to something linear: see `total`.

    coefficients (n,): a number repeats for every element.
    Raises ValueError: when the coefficients do not fit the variable.
    """
    n = len(variable)
    found = numbers_of(coefficients, n, f"coefficients of {variable.name}")
    if isinstance(variable, ArrayVar) and isinstance(found, Numbers):
        expression = LinearExpression([])
        expression._args_, expression._nargs = LazyTerms(found, variable), n
        return expression
    if isinstance(found, Numbers):
        numbers: list[Any] = found.values.tolist()
    else:
        numbers = list(found.values()) if found.is_indexed() else [found] * n
    return LinearExpression(linear_coefs=numbers, linear_vars=list(variable.values()))


def total(*parts: Any) -> SumExpression:
    """Sum that keeps its parts as they are, where + would spell out the terms of a `dot`."""
    return SumExpression(list(parts))


def squares(variable: Any) -> Any:
    """Sum of squares of the elements of a variable."""
    return pyo.quicksum(element**2 for element in variable.values())


def shared(values: Any) -> Any:
    """Array, or csr_array of a sparse one, that nobody can write to.

    Rows keep it as it is instead of a copy.
    """
    if sp.issparse(values):
        rows = values.tocsr()
        for part in (rows.data, rows.indices, rows.indptr):
            part.setflags(write=False)
        return rows
    array = np.ascontiguousarray(values, dtype=np.float64)
    array.setflags(write=False)
    return array


# --- Rows of a model written as sums of (coefficients, variable) terms, kept as arrays -----------

__all__ = [
    "AffineRows",
    "dot",
    "equal_rows",
    "rows_by_index",
    "shared",
    "squares",
    "times",
    "total",
]


class AffineRows(LazyRows):
    """lower <= sum of terms <= upper, one row for each element of `index`.

    Parameters
    ----------
    index : Pyomo Set
        Rows, n of them; row k of an array belongs to the k-th element.
    terms : list of (coefficients, variable)
        An array (n, k), dense or sparse, with a variable of k elements contributes a full row, and
        a pair (factors (n,), array) the row times its factor; a number, an array (n,) or a Param
        with a variable over `index` contributes its own element; the same with a scalar variable
        contributes one column.
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
        self._blocks = [block(coefficients, variable, n) for coefficients, variable in terms]
        self._equal = lower is not None and lower is upper
        self._sides = [
            None if side is None else numbers_of(side, n, "side") for side in (lower, upper)
        ]
        super().__init__(index)

    def _written(self, k: int) -> Any:
        coefficients: list[Any] = []
        variables: list[Any] = []
        for term in self._blocks:
            a, x = term.row(k)
            coefficients += a
            variables += x
        return self._relation(k, LinearExpression(linear_coefs=coefficients, linear_vars=variables))

    def _relation(self, k: int, body: LinearExpression) -> Any:
        low, high = (None if side is None else entry(side, k) for side in self._sides)
        if self._equal:
            return EqualityExpression((body, low))
        if low is not None and high is not None:
            return RangedExpression((low, body, high), False)
        if high is None:
            return InequalityExpression((low, body), False)
        return InequalityExpression((body, high), False)

    def row_text(self, k: int) -> str:
        """Row number k as a line of mathematics."""
        terms = [term for part in self._blocks for term in part.named_terms(k)]
        low, high = (float(side[0]) for side in self.sides(np.array([k])))
        return between_text(low, sum_text(terms, NUMBERS), high)

    def blocks(self) -> list[Block]:
        """Terms, for whoever hands the arrays to a solver."""
        return self._blocks

    def sides(self, rows: Index) -> tuple[Array, Array]:
        """Lower and upper sides of some rows, infinite where there is none."""
        low, high = (
            np.full(len(rows), empty) if side is None else all_entries(side, rows)
            for side, empty in zip(self._sides, (-np.inf, np.inf), strict=True)
        )
        return low, high


def equal_rows(index: pyo.Set, terms: Sequence[Term], value: Any) -> AffineRows:
    """Rows with both sides equal to `value`."""
    return AffineRows(index, terms, lower=value, upper=value)


def rows_by_index(index: pyo.Set, relation: Callable[[Any], Any]) -> Constraint:
    """Ordinary rows relation(i) for i in `index`; unlike a rule, nothing unpicklable is kept."""
    return Constraint(index, rule={element: relation(element) for element in index})
