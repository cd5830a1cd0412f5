"""Terms of rows kept as arrays: a coefficient array, or a Param, with its variable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray
from pyomo.core.base.component_namer import index_repr

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.array_variables import ArrayVar

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
