"""Rows kept as arrays, read with their columns and without making a single Pyomo row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.affine_rows import AffineRows
from tightmargin.formulations.modeling.row_terms import Block
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.standard_form.columns import Columns, side

Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Untouched rows of one component, with fixed variables moved to the sides.

    Attributes
    ----------
    numbers : array
        Which rows of the component.
    terms : list of (Block, columns)
        Columns of the elements of the block's variable, -1 where fixed.
    """

    component: AffineRows
    numbers: Index
    terms: list[tuple[Block, Index]]
    lower: Array
    upper: Array

    def width(self) -> int:
        """Entries of a row, as if every sparse row were full."""
        return sum(
            int((at >= 0).sum()) if term.kind == "matrix" else int((at >= 0).any())
            for term, at in self.terms
        )

    def is_regular(self) -> bool:
        """Whether all rows have entries in the same places, up to the element of their own.

        Not so with a sparse matrix, an element that is fixed in some rows only, or a variable that
        occurs twice.
        """
        variables = [term.variable for term, _ in self.terms]
        if len({id(v) for v in variables}) < len(variables):
            return False
        for term, at in self.terms:
            if term.variable.is_reference():
                return False
            if term.kind == "matrix" and sp.issparse(term.numbers.values):
                return False
            if term.kind == "element" and (at[self.numbers] < 0).any():
                return False
        return True


def read_arrays(component: AffineRows, columns: Columns) -> ArrayRows:
    """Rows of a component that are still what its arrays say.

    Raises
    ------
    NumberError
        NaN or infinity in a coefficient or side, naming the row and variable.
    """
    which = component.untouched()
    constants = np.zeros(len(which))
    terms = []
    for term in component.blocks():
        if not term.is_finite():
            _blame(component, which, term)
        at, values = columns.of(term.variable)
        if (at < 0).any():
            constants += _fixed_part(term, which, at < 0, values)
        terms.append((term, at))
    low, high = component.sides(which)
    for name, numbers, empty in (("lower", low, -np.inf), ("upper", high, np.inf)):
        for k in np.flatnonzero(np.isnan(numbers) | (numbers == -empty)):
            key = component.row_key(which[k])
            side(numbers[k], empty, f"row {component.name}[{key}]: {name} side")
    return ArrayRows(component, which, terms, low - constants, high - constants)


def _fixed_part(term: Block, which: Index, fixed: NDArray[np.bool_], values: Array) -> Array:
    """What the fixed variables of a term contribute to each row."""
    held = np.where(fixed, values, 0.0)
    if term.kind == "matrix":
        matrix = term.numbers.values[which][:, fixed]
        return np.asarray(term.factors(which) * (matrix @ held[fixed]), dtype=np.float64)
    if term.kind == "element":
        return term.coefficients(which) * held[which]
    return term.coefficients(which) * held[0]


def _blame(component: AffineRows, which: Index, term: Block) -> None:
    """Raise for the first number that is not finite, naming its row and variable."""
    for number in which.tolist():
        coefficients, variables = term.row(number)
        for a, variable in zip(coefficients, variables, strict=True):
            value = float(a() if callable(a) else a)
            if not np.isfinite(value):
                raise NumberError(
                    f"row {component.name}[{component.row_key(number)}]: "
                    f"coefficient of {variable.name} is {value}"
                )
