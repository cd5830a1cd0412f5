"""Rows kept as arrays, read with their columns and without making a single Pyomo row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.affine_rows import AffineRows
from tightmargin.formulations.modeling.row_terms import Block
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.standard_form.columns import Columns, side
from tightmargin.solvers.standard_form.exact_ends import outwards
from tightmargin.solvers.standard_form.polynomial import exact_or_float, products
from tightmargin.solvers.standard_form.quadratic import Sides


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Untouched rows of one component, with fixed variables moved to the sides.

    Their coefficients are products that doubles hold; rows with others are read one by one.

    Attributes
    ----------
    numbers : array
        Which rows of the component.
    terms : list of (Block, columns)
        Columns of the elements of the block's variable, -1 where fixed.
    lower, upper : arrays
        Next to the sides, outwards.
    sides : mapping
        Those that no double is, by position.
    """

    component: AffineRows
    numbers: Index
    terms: list[tuple[Block, Index]]
    lower: Array
    upper: Array
    sides: Mapping[int, Sides]

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


def read_arrays(component: AffineRows, columns: Columns) -> tuple[ArrayRows, list[Any]]:
    """Rows of a component that are still what its arrays say, and those to be read one by one.

    Raises
    ------
    NumberError
        NaN or infinity in a coefficient or side, naming the row and variable.
    """
    which = component.untouched()
    terms = [(term, *columns.of(term.variable)) for term in component.blocks()]
    for term, _, _ in terms:
        if not term.is_finite():
            _blame(component, which, term)
    plain = np.ones(len(which), dtype=bool)
    for term, at, _ in terms:
        if term.scale is not None:
            plain &= _holds_products(term, which, at >= 0)
    others = [component[component.row_key(k)] for k in which[~plain].tolist()]
    which = which[plain]
    low, high = component.sides(which)
    for name, numbers, empty in (("lower", low, -np.inf), ("upper", high, np.inf)):
        for k in np.flatnonzero(np.isnan(numbers) | (numbers == -empty)):
            key = component.row_key(which[k])
            side(numbers[k], empty, f"row {component.name}[{key}]: {name} side")
    held = [(term, at < 0, values) for term, at, values in terms if (at < 0).any()]
    sides: dict[int, Sides] = {}
    if held:
        low, high, sides, equal = _moved(component, which, held, (low, high))
        others += [component[component.row_key(k)] for k in which[equal].tolist()]
        kept = np.flatnonzero(~equal)
        position = {int(old): new for new, old in enumerate(kept)}
        sides = {position[k]: pair for k, pair in sides.items() if k in position}
        which, low, high = which[kept], low[kept], high[kept]
    pairs = [(term, at) for term, at, _ in terms]
    return ArrayRows(component, which, pairs, low, high, sides), [*component.touched(), *others]


def _holds_products(term: Block, which: Index, free: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows of a matrix whose factor makes doubles of its entries."""
    factors = np.broadcast_to(term.factors(which), len(which))
    if (np.abs(np.frexp(factors)[0]) == 0.5).all():
        return np.ones(len(which), dtype=bool)
    values = term.numbers.values[which]
    if sp.issparse(values):
        owner = np.repeat(np.arange(len(which)), np.diff(values.indptr))
        _, errors = products(values.data, factors[owner])
        lost = np.ones(len(owner), dtype=bool) if errors is None else errors != 0
        return np.bincount(owner, lost & free[values.indices], len(which)) == 0
    _, errors = products(values[:, free], factors[:, None])
    if errors is None:
        return np.zeros(len(which), dtype=bool)
    return np.asarray((errors == 0).all(axis=1))


def _moved(
    component: AffineRows,
    which: Index,
    held: list[tuple[Block, NDArray[np.bool_], Array]],
    ends: tuple[Array, Array],
) -> tuple[Array, Array, dict[int, Sides], NDArray[np.bool_]]:
    """Sides less what fixed variables contribute, next to them outwards, with the exact ones.

    The last are the equations among them whose side is no double.
    """
    low, high = (end.copy() for end in ends)
    sides: dict[int, Sides] = {}
    equal = np.zeros(len(which), dtype=bool)
    parts = [_fixed_parts(term, which, fixed, values) for term, fixed, values in held]
    moving = np.zeros(len(which), dtype=bool)
    for factors, numbers, values in parts:
        moving |= ((np.asarray(factors)[:, None] * numbers) * values != 0).any(axis=1)
    for k in np.flatnonzero(moving).tolist():
        total = Fraction(0)
        for factors, numbers, values in parts:
            for a, value in zip(numbers[k].tolist(), values[k].tolist(), strict=True):
                if a and value:
                    total += Fraction(a) * Fraction(value) * Fraction(float(factors[k]))
        moved = [
            number if math.isinf(number) else exact_or_float(Fraction(number) - total)
            for number in (float(low[k]), float(high[k]))
        ]
        low[k], high[k], pair = outwards(*moved)
        if pair != (None, None):
            sides[k], equal[k] = pair, moved[0] == moved[1]
    return low, high, sides, equal


def _fixed_parts(
    term: Block, which: Index, fixed: NDArray[np.bool_], values: Array
) -> tuple[Array, Array, Array]:
    """Factors (m,) of rows, and their coefficients and values (m, k) of fixed variables."""
    ones = np.ones(len(which))
    if term.kind == "matrix":
        matrix = term.numbers.values[which][:, fixed]
        dense = matrix.toarray() if sp.issparse(matrix) else matrix
        held = np.broadcast_to(values[fixed], dense.shape)
        return np.broadcast_to(term.factors(which), len(which)), dense, held
    if term.kind == "element":
        held = np.where(fixed, values, 0.0)[which]
    else:
        held = np.full(len(which), values[0] if fixed[0] else 0.0)
    return ones, term.coefficients(which)[:, None], held[:, None]


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
