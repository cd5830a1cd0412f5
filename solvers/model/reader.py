"""A Pyomo model read once into arrays: what every back end and every certificate works from.

    minimise   1/2 x'P x + q'x + offset
    s.t.       row_lower <= A x <= row_upper
               lower <= x'Q_k x + a_k'x <= upper        quadratic rows
               F_k x + g_k is semidefinite              rows of
               tightmargin.formulations.modeling.cones.psd
               lower <= x <= upper,  x_j integer for some j

Reading refuses NaN and infinite numbers by row and variable name. Fixed variables are constants.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, TypeAlias, cast

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray
from pyomo.common.gc_manager import PauseGC
from pyomo.core.base.block import BlockData
from pyomo.core.base.matrix_constraint import MatrixConstraint
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.gdp import Disjunct, Disjunction

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.affine_rows import AffineRows, Block
from tightmargin.formulations.modeling.cones import RotatedCones, order, psd_entries
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.exact import rounded_down, rounded_up
from tightmargin.solvers.model.columns import (
    Columns,
    ExactEnds,
    Label,
    Labels,
    Rows,
    above,
    holding,
    inner_row,
    inwards,
    number,
    outwards,
    row_name,
    side,
    value_of,
)
from tightmargin.solvers.model.expressions import read
from tightmargin.solvers.model.polynomial import (
    Key,
    LocalQuadratic,
    Number,
    Polynomial,
    Quadratic,
    QuadraticRow,
    Sides,
    doubles_below,
    exact_or_float,
    merge,
    plus,
    products,
)

# --- Rows kept as arrays, read with their columns and without making a single Pyomo row ----------


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Untouched rows of one component in doubles, with fixed variables in the sides."""

    component: AffineRows
    numbers: Index  # of the rows in the component
    terms: list[tuple[Block, Index]]  # with the columns of the block's variable, -1 where fixed
    lower: Array  # rounded outwards
    upper: Array
    sides: Mapping[int, Sides]  # that no double is, by position

    def width(self) -> int:
        """Entries of a row, as if every sparse row were full."""
        return sum(
            int((at >= 0).sum()) if term.kind == "matrix" else int((at >= 0).any())
            for term, at in self.terms
        )

    def is_regular(self) -> bool:
        """Whether all rows have entries in the same places, up to the element of their own."""
        return not self.repeats_a_variable() and not any(
            (term.kind == "matrix" and sp.issparse(term.numbers.values))
            or (term.kind == "element" and (at[self.numbers] < 0).any())
            for term, at in self.terms
        )

    def repeats_a_variable(self) -> bool:
        """Whether a column may occur twice in a row."""
        variables = [term.variable for term, _ in self.terms]
        unique = len({id(v) for v in variables}) == len(variables)
        return not unique or any(v.is_reference() for v in variables)


def read_arrays(component: AffineRows, columns: Columns) -> tuple[ArrayRows, list[Any]]:
    """Rows of a component that are still what its arrays say, and those to be read one by one."""
    which = component.untouched()
    terms = [(term, *columns.of(term.variable)) for term in component.blocks()]
    for term, _, _ in terms:
        if not term.is_finite():
            _refuse_bad_coefficient(component, which, term)
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
    """Sides less fixed variables, outwards; exact ones; equations whose side is no double."""
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


def _refuse_bad_coefficient(component: AffineRows, which: Index, term: Block) -> None:
    """Raise for the first number that is not finite, naming its row and variable."""
    for place in which.tolist():
        coefficients, variables = term.row(place)
        for a, variable in zip(coefficients, variables, strict=True):
            value = float(a() if callable(a) else a)
            if not np.isfinite(value):
                raise NumberError(
                    f"row {component.name}[{component.row_key(place)}]: "
                    f"coefficient of {variable.name} is {value}"
                )


# --- Rows whose numbers no doubles are: the model is then stated in other rows -------------------


LONGEST = 4000  # bits of a common denominator
SMALLEST_SCALED, LARGEST_SCALED = Fraction(2) ** -1000, Fraction(2) ** 1000


@dataclass(frozen=True, eq=False)
class Inexact:
    """A row or the objective with numbers that no double is and no rounding makes up for."""

    data: Any
    read: Polynomial
    keys: set[Key]  # of these numbers


def scale_to_doubles(read: Polynomial, side: Number | None) -> Fraction | None:
    """A factor in [1, 2] that makes doubles of all linear coefficients and the side; None without.

    The coefficients are coprime integers times one number: a tenth of x + 3 x', say.
    """
    numbers = [value for key, value in read.numbers().items() if key]
    common = math.lcm(*(value.denominator for value in numbers))
    if common.bit_length() > LONGEST:
        return None
    divisor = math.gcd(*(int(value * common) for value in numbers))
    scale = Fraction(common, divisor)
    exponent = scale.denominator.bit_length() - scale.numerator.bit_length()
    scale *= Fraction(2) ** exponent
    scale *= 2 if scale < 1 else 1
    scaled = [value * scale for value in numbers]
    sizes = [abs(value) for value in scaled]
    if not SMALLEST_SCALED <= min(sizes) <= max(sizes) <= LARGEST_SCALED:
        return None
    if side is not None:
        scaled.append((Fraction(side) - read.numbers().get((), Fraction(0))) * scale)
    return scale if all(value == Fraction(float(value)) for value in scaled) else None


def sides_in_doubles(read: Polynomial, low: Any, high: Any, owner: str) -> tuple[float, float]:
    """Sides of a linear row less its constant, rounded outwards; all else must be doubles."""
    constant = read.exact.get((), read.constant)
    ends: list[Number] = []
    for end, empty, word in ((low, -math.inf, "lower"), (high, math.inf, "upper")):
        given = None if end is None else number(end)
        side(given, empty, f"{owner}: {word} side")
        infinite = given is None or math.isinf(given)
        ends.append(empty if given is None or infinite else plus(given, -constant))
    below, above, exact = outwards(*ends)
    if any(read.exact) or (exact != (None, None) and ends[0] == ends[1]):
        raise NumberError(
            f"{owner} has sums or products of numbers that no double is: write one number there"
        )
    return below, above


class InexactError(NumberError):
    """Numbers that no double is, such as 0.1 + 0.2 before it is rounded."""

    def __init__(self, rows: Sequence[Inexact], columns: Columns) -> None:
        self.rows, self.columns = list(rows), columns
        first = self.rows[0]
        key = min(first.keys)
        names = " * ".join(columns.name(j) for j in key)
        owner = f"{'objective' if first.data.is_expression_type() else 'row'} {first.data.name}"
        near = float(first.read.exact.get(key, first.read.constant))
        what = f"the coefficient of {names}" if key else "the side"
        super().__init__(
            f"{owner}: {what} is made of numbers that come to about {near!r} and to no double: "
            "write one number there (solve takes the model as it is)"
        )


# --- What can be read as a model at all ----------------------------------------------------------


# What to write in the place of what is not read; named by its class, since packages differ.
_INSTEAD = {
    "SOSConstraint": (
        "write a set of which one (two neighbours) may be other than 0 with binaries u: "
        "-M u_j <= x_j <= M u_j, and sum_j u_j <= 1 (2, and u_i + u_j <= 1 for i, j apart)"
    ),
    "Complementarity": (
        "write 0 <= f complements g >= 0 with a binary u: f <= M u and g <= M (1 - u)"
    ),
    "LogicalConstraint": "write it between binaries, say u + v >= 1 for an or",
    "Arc": (
        "apply pyo.TransformationFactory('network.expand_arcs'), which writes the rows of all arcs"
    ),
}
_HARMLESS = "Port"  # names variables of the model and restricts none

# Everything else that is active (SOS sets, logic, disjunctions) must be transformed away first.
_READ = {
    pyo.Block, pyo.BuildAction, pyo.BuildCheck, pyo.Constraint, pyo.Expression,
    pyo.ExternalFunction, pyo.Objective, pyo.Param, pyo.RangeSet, pyo.Set, pyo.Suffix, pyo.Var,
    pyo.BooleanVar, Disjunct,
}  # fmt: skip


def refuse_other_objects(verb: str, model: Any, argument: str = "model") -> None:
    """Raise TypeError for anything but a constructed Pyomo model, given to the function `verb`."""
    if isinstance(model, pyo.Block) and model.is_constructed() and not model.is_indexed():
        for rows in model.component_objects(pyo.Constraint, active=True, descend_into=True):
            if isinstance(rows, MatrixConstraint):
                raise ValueError(
                    f"{rows.name} is a MatrixConstraint, of which Pyomo makes no copy: write its "
                    "rows as a pyo.Constraint, each as (lower, sum(a * x[j] for ...), upper)"
                )
        return
    what = type(model).__name__
    if isinstance(model, BlockData):
        what = "an abstract model"
        if not isinstance(model, pyo.Block):
            others = f"the other blocks of {model.parent_component().name}"
            what = f"{model.name} alone: deactivate {others}, and solve the model that holds them"
    elif isinstance(model, pyo.Block):
        what = f"all blocks of {model.name}: solve the model that holds them"
    raise TypeError(f"{verb}() takes a Pyomo ConcreteModel for `{argument}`, got {what}")


def refuse_bad_params(model: pyo.ConcreteModel) -> None:
    """Raise for a mutable Param that is not finite, before a transformation trips over it."""
    for param in model.component_data_objects(pyo.Param, descend_into=True):
        number = pyo.value(param, exception=False)
        if isinstance(number, float) and not math.isfinite(number):
            raise NumberError(f"Param {param.name} is {number}: set it to a finite number")


def refuse_unread_components(model: pyo.ConcreteModel) -> None:
    """Raise for active parts of a model that this reader would pass over in silence."""
    kinds = {part.ctype for part in model.component_objects(active=True, descend_into=True)}
    names = sorted({ctype.__name__ for ctype in kinds - _READ} - {_HARMLESS})
    if names:
        instead = "".join(f"; {_INSTEAD[name]}" for name in names if name in _INSTEAD)
        types = ", ".join(names)
        raise ValueError(
            f"{model.name}: active components of type {types} cannot be read here{instead}"
        )
    if Disjunct not in kinds:
        return
    disjunctions = model.component_data_objects(Disjunction, descend_into=(pyo.Block, Disjunct))
    named = {id(part) for disjunction in disjunctions for part in disjunction.disjuncts}
    for part in model.component_data_objects(Disjunct, active=True, descend_into=True):
        if id(part) not in named:
            raise ValueError(
                f"{part.name} stands in no Disjunction, so that none of its rows holds: name it in "
                "one, or write its rows into the model"
            )


# --- Rotated cones kept as arrays, read without making their rows --------------------------------


@dataclass(frozen=True, eq=False)
class RowHandle:
    """Stands for a row that nobody has touched: says what it is called and where it is."""

    component: Any
    key: Any

    @property
    def name(self) -> str:
        """Name of the row."""
        return row_name(self.component, self.key)

    def parent_component(self) -> Any:
        """Component of the row."""
        return self.component

    def index(self) -> Any:
        """Element of the component's index."""
        return self.key


def read_cones(component: RotatedCones, columns: Columns) -> tuple[list[QuadraticRow], list[Any]]:
    """Untouched cones of a component, and the rows to be read one by one: edited or fixed ones."""
    which = component.untouched()
    at = []
    for variable in (component.x, component.s, *([] if component.scaled else [component.t])):
        at_index, _ = columns.of(variable)
        at.append(at_index[component.element_numbers(variable, which)])
    owners = np.column_stack(at)
    free = (owners >= 0).all(axis=1) & (owners[:, -2] != owners[:, -1])
    if component.scaled:
        slopes, exact = _slopes(component, which)
        free &= exact
        for row in np.flatnonzero(free & ~np.isfinite(slopes))[:1]:
            name, s = row_name(component, component.row_key(which[row])), int(owners[row, 1])
            raise NumberError(f"row {name}: coefficient of {columns.name(s)} is {slopes[row]}")
        linear, v = slopes[free], np.ones(1)
    else:
        linear = np.full(int(free.sum()), -component.constant)
        v = np.array([1.0, -component.slope / 2, -component.slope / 2])
    rows = _rows(component, which[free], owners[free], linear, v)
    others = [component[component.row_key(k)] for k in which[~free].tolist()]
    return rows, [*component.touched(), *others]


def _slopes(component: RotatedCones, which: Index) -> tuple[Array, NDArray[np.bool_]]:
    """Coefficients of s in rows with a number t, and whether they are these doubles exactly."""
    t = number(component.t)
    slopes, ones = np.full(len(which), -float(t)), np.ones(len(which), dtype=bool)
    if t.__class__ is Fraction:
        return slopes, ~ones
    if component.times is None or not np.isfinite(slopes).all():
        return slopes, ones
    numbers, errors = products(component.times[which], slopes)
    return numbers, ~ones if errors is None else errors == 0


def _rows(
    component: RotatedCones, which: Index, owners: Index, linear: Array, v: Array
) -> list[QuadraticRow]:
    """x^2 - s (c + a t) <= 0 with columns (x, s, t) and -c in `linear`, or x^2 - c s <= 0.

    Local positions are the same for every row of the component.
    """
    if not len(which):
        return []
    order = np.argsort(owners[0])
    at = np.argsort(order)
    i, j = (at[[0]],) * 2 if len(at) == 2 else (at, at[[0, 2, 1]])
    a = np.zeros(owners.shape)
    a[:, at[1]] = linear
    keys = component.row_keys(which)
    return [
        QuadraticRow(
            LocalQuadratic(index, i, j, v, slopes, 0.0), -np.inf, 0.0, RowHandle(component, key)
        )
        for index, slopes, key in zip(owners[:, order], a, keys, strict=True)
    ]


# --- Coefficient matrix of a model, straight from the arrays of its rows -------------------------
# Entries are counted and then written in place, without a copy. HiGHS takes a matrix row by row in
# half the time; it keeps columns, so that a large one by columns is never there three times.


Matrix: TypeAlias = sp.csr_matrix | sp.csc_matrix

# Entries above which memory counts more than time: 100 MB of them.
LARGE = 8_000_000
# Entries of a sparse block whose places are worked out together, at least: 1 MB of them.
AT_ONCE = 20_000


def assemble(arrays: Sequence[ArrayRows], single: sp.csr_matrix, n: int) -> Matrix:
    """Matrix of the array rows, one component below the other, and then the single rows."""
    size = single.nnz + sum(len(part.numbers) * part.width() for part in arrays)
    if size <= LARGE and all(part.is_regular() for part in arrays):
        return _by_rows(arrays, single, n)
    return _by_columns(arrays, single, n)


def _by_rows(arrays: Sequence[ArrayRows], single: sp.csr_matrix, n: int) -> sp.csr_matrix:
    """Rows of one component have equally many entries, whose places are a rectangle."""
    counts = [np.full(len(part.numbers), part.width()) for part in arrays]
    starts = np.concatenate([[0], np.cumsum(np.concatenate([*counts, np.diff(single.indptr)]))])
    size = int(starts[-1])
    kind = np.int32 if size < np.iinfo(np.int32).max else np.int64
    data, indices = np.empty(size), np.empty(size, dtype=kind)
    at = 0
    for part, count in zip(arrays, counts, strict=True):
        shape = (len(count), part.width())
        place = slice(at, at + shape[0] * shape[1])
        _fill(part, data[place].reshape(shape), indices[place].reshape(shape))
        at = place.stop
    data[at:], indices[at:] = single.data, single.indices
    matrix = sp.csr_matrix((data, indices, starts.astype(kind)), shape=(len(starts) - 1, n))
    matrix.has_canonical_format = True
    if not data.all():
        matrix.eliminate_zeros()
    return matrix


def _fill(part: ArrayRows, data: Array, indices: NDArray[Any]) -> None:
    """Write coefficients and columns of some rows into rectangles, columns ascending."""
    m, at = len(part.numbers), 0
    terms = sorted(part.terms, key=lambda pair: _first(pair[1]))
    if m:
        # The first row for all of them; a row's own elements are put right below.
        first = [c[c >= 0] if term.kind == "matrix" else c[c >= 0][:1] for term, c in terms]
        indices[:] = np.concatenate(first)
    for term, columns in terms:
        free = np.flatnonzero(columns >= 0)
        if term.kind == "matrix":
            place = slice(at, at + len(free))
            values = term.numbers.values
            rows = values if m == len(values) else values[part.numbers]
            chosen = rows if len(free) == rows.shape[1] else rows[:, free]
            factors = term.factors(part.numbers)
            np.multiply(
                chosen, factors if np.isscalar(factors) else factors[:, None], out=data[:, place]
            )
            at += len(free)
        elif len(free):
            data[:, at] = term.coefficients(part.numbers)
            if term.kind == "element":
                indices[:, at] = columns[part.numbers]
            at += 1


def _first(columns: Index) -> int:
    free = columns[columns >= 0]
    return int(free[0]) if len(free) else -1


def _by_columns(arrays: Sequence[ArrayRows], single: sp.csr_matrix, n: int) -> sp.csc_matrix:
    counts = np.bincount(single.indices, minlength=n)
    for part in arrays:
        for term, at in part.terms:
            _count(term, part.numbers, at, counts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    kind = np.int32 if starts[-1] < np.iinfo(np.int32).max else np.int64
    indices = np.empty(starts[-1], dtype=kind)
    data = np.empty(starts[-1])
    writer = _Writer(starts[:-1].copy(), indices, data)
    row = 0
    for part in arrays:
        for term, at in part.terms:
            writer.write(term, part.numbers, at, row)
        row += len(part.numbers)
    for taken in _rows_at_once(np.diff(single.indptr), n):
        writer.write_sparse(single[taken].tocsc(), np.arange(n), row + taken.start)
    matrix = sp.csc_matrix((data, indices, starts.astype(kind)), shape=(row + single.shape[0], n))
    if any(part.repeats_a_variable() for part in arrays):
        matrix.sum_duplicates()
    else:
        matrix.has_canonical_format = True
    if not data.all():
        matrix.eliminate_zeros()
    return matrix


def _rows_at_once(lengths: Index, width: int) -> list[slice]:
    """Rows in turn, so many that work on their entries outweighs work on all columns."""
    ends, size = np.cumsum(lengths), max(AT_ONCE, width)
    full = np.arange(size, lengths.sum(), size)
    cuts = dict.fromkeys([0, *(np.searchsorted(ends, full) + 1).tolist(), len(ends)])
    return [slice(first, last) for first, last in pairwise(cuts)]


def _count(term: Block, which: Index, at: Index, counts: Index) -> None:
    if term.kind == "element":
        here = at[which]
        counts[here[here >= 0]] += 1
    elif term.kind == "matrix" and sp.issparse(term.numbers.values):
        free = at >= 0
        values = term.numbers.values
        chosen = values if len(which) == values.shape[0] else values[which]
        per_column = np.bincount(chosen.indices, minlength=len(at))
        counts[at[free]] += per_column[free]
    else:
        counts[at[at >= 0]] += len(which)


@dataclass(frozen=True, eq=False)
class _Writer:
    """Arrays of the matrix and the next free position of every column."""

    position: Index
    indices: NDArray[np.signedinteger]
    data: Array

    def write(self, term: Block, which: Index, at: Index, row: int) -> None:
        """Write one term of rows numbered from `row`."""
        if term.kind == "matrix":
            if sp.issparse(term.numbers.values):
                lengths = np.diff(term.numbers.values.indptr)[which]
                for taken in _rows_at_once(lengths, len(at)):
                    part = term.sparse_rows(which[taken])
                    self.write_sparse(part.tocsc(), at, row + taken.start)
            else:
                self._write_dense(term, which, at, row)
            return
        here = at[which] if term.kind == "element" else np.repeat(at, len(which))
        numbers, rows = term.coefficients(which), np.arange(row, row + len(which))
        if term.kind == "column":
            if at[0] >= 0:
                start = self.position[at[0]]
                self._put(slice(start, start + len(which)), rows, numbers)
                self.position[at[0]] += len(which)
            return
        free = here >= 0
        here, numbers, rows = here[free], numbers[free], rows[free]
        self._put(self.position[here], rows, numbers)
        self.position[here] += 1

    def _write_dense(self, term: Block, which: Index, at: Index, row: int) -> None:
        values, m = term.numbers.values, len(which)
        whole = m == len(values)
        if m < len(at):
            free = np.flatnonzero(at >= 0)
            for k, number in enumerate(which.tolist()):
                factor = 1.0 if term.scale is None else term.scale.values[number]
                places = self.position[at[free]]
                self._put(places, row + k, values[number, free] * factor)
                self.position[at[free]] += 1
            return
        rows = np.arange(row, row + m, dtype=self.indices.dtype)
        factors = term.factors(which)
        for j, column in enumerate(at.tolist()):
            if column >= 0:
                start = self.position[column]
                numbers = values[:, j] if whole else values[which, j]
                place = slice(start, start + m)
                np.multiply(numbers, factors, out=self.data[place])
                self.indices[place] = rows
                self.position[column] += m

    def write_sparse(self, part: sp.csc_matrix, at: Index, row: int) -> None:
        """Write a few sparse rows whose columns go to `at`."""
        lengths = np.diff(part.indptr)
        kept = np.repeat(at >= 0, lengths)
        shifts = np.repeat(self.position[at] - part.indptr[:-1], lengths)
        places = (np.arange(part.nnz) + shifts)[kept]
        self._put(places, row + part.indices[kept], part.data[kept])
        self.position[at[at >= 0]] += lengths[at >= 0]

    def _put(self, places: Index | slice, rows: Index | int, numbers: Array) -> None:
        self.indices[places] = rows
        self.data[places] = numbers


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

    columns: Pyomo variables in the order of x, made when asked for.
    objective: of the minimisation: P = 2 Q. Its sign is flipped when the model maximises.
    sense: +1 minimise, -1 maximise.
    matrix: coefficients of the linear rows, in the order in which they were put together; `A` has
        them row by row and `columnwise` column by column.
    rows: Pyomo constraints of A, in order, made when asked for.
    nonlinear: constraints (or the objective) that are not quadratic.
    exact: sides of linear rows, and bounds, that no double is. The doubles here are next to them,
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
        sizes = self.sizes.max(axis=1).toarray() if self.n else 0 * self.row_lower
        return np.asarray(sizes).ravel()

    @cached_property
    def P(self) -> sp.csc_matrix:  # noqa: N802  (the letter of every QP text)
        """Hessian of the objective."""
        return (2 * self.objective.Q).tocsc()

    @property
    def goal(self) -> Any:
        """The objective where it is beyond degree two, which no array holds; None otherwise."""
        objectives = (part for part in self.nonlinear if part.ctype is pyo.Objective)
        return next(objectives, None)

    @property
    def beyond(self) -> list[Any]:
        """Rows beyond degree two, which no array holds."""
        return [part for part in self.nonlinear if part.ctype is not pyo.Objective]

    def value(self, x: Array) -> float:
        """Objective of the minimisation at a point; beyond degree two Pyomo evaluates it."""
        if self.goal is None:
            return self.objective.at(x)
        with holding(self.columns, x):
            return self.sense * value_of(self.goal.expr)

    def impossible_row(self) -> str:
        """What is wrong with a linear row that has no variable and cannot hold; or nothing."""
        empty = np.diff(self.A.indptr) == 0
        empty_rows = np.flatnonzero(empty & ((self.row_lower > 0) | (self.row_upper < 0)))
        return (
            f"row {self.rows.name(int(empty_rows[0]))} has no variable and cannot hold"
            if empty_rows.size
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

    def alone(self) -> StandardForm:
        """The same arrays with names in the place of Pyomo's objects; the model may go."""
        if isinstance(self.columns, Labels):
            return self
        return replace(
            self,
            columns=cast(Columns, self.columns.labels()),
            rows=cast(Rows, self.rows.labels()),
            quadratic=tuple(replace(row, data=Label(row.data.name)) for row in self.quadratic),
            psd=tuple(replace(row, data=Label(row.data.name)) for row in self.psd),
            nonlinear=tuple(Label(row.name) for row in self.nonlinear),
        )

    @cached_property
    def inner(self) -> StandardForm:
        """Doubles whose points are points of the model, up to equations that no double meets."""
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


@dataclass(slots=True)
class _Row:
    """A row as it is read: low <= polynomial <= high."""

    read: Polynomial
    low: Number
    high: Number
    data: Any
    scale: Fraction | None = None  # by which it was multiplied


@dataclass
class _Reading:
    """Rows of a model by kind, as they are read."""

    arrays: list[ArrayRows] = field(default_factory=list)
    linear: list[_Row] = field(default_factory=list)
    cones: list[QuadraticRow] = field(default_factory=list)
    quadratic: list[_Row] = field(default_factory=list)
    semidefinite: list[tuple[list[Polynomial], Any]] = field(default_factory=list)
    nonlinear: list[Any] = field(default_factory=list)
    inexact: list[Inexact] = field(default_factory=list)


def standard_form(model: pyo.ConcreteModel, *, closely: bool = False) -> StandardForm:
    """Read the active part of a model.

    closely: refuse an objective whose constant or squares would have to make up for rounded costs.
    Raises InexactError: a number, such as the sum of 0.1 and 0.2, that no double is and no rounding
        makes up for: `representable` states the model in other rows.
    Raises NumberError: NaN or infinity in a coefficient, side or bound, naming the row and
        variable.
    Raises ValueError: more than one active objective.
    """
    refuse_unread_components(model)
    columns, reading = Columns(model), _Reading()
    with PauseGC():  # nothing of what a row leaves is garbage
        for component in model.component_objects(pyo.Constraint, active=True, descend_into=True):
            if isinstance(component, AffineRows):
                rows, constraints = read_arrays(component, columns)
                reading.arrays.append(rows)
            elif isinstance(component, RotatedCones):
                cones, constraints = read_cones(component, columns)
                reading.cones += cones
            else:
                constraints = component.values()
            for constraint in constraints:
                if constraint.active:
                    _read_constraint(constraint, columns, reading)
    goal, sense, goal_data = _objective(model, columns)
    if goal is None:
        reading.nonlinear.append(goal_data)
        goal = Polynomial()
    columns.seal()
    n = len(columns)
    held = columns.gathered()
    low, high = held.lower, held.upper
    row_lower, row_upper, sides = _sides(reading)
    objective = _quadratic(goal, n, sense, goal_data, (low, high), reading.inexact, closely=closely)
    quadratic = tuple(_quadratic_row(row, low, high, reading.inexact) for row in reading.quadratic)
    if reading.inexact:
        raise InexactError(reading.inexact, columns)
    ends = columns.ends()
    first = sum(len(part.numbers) for part in reading.arrays)
    return StandardForm(
        columns=columns,
        lower=low,
        upper=high,
        integer=held.integer,
        objective=objective,
        sense=sense,
        matrix=assemble(reading.arrays, _matrix([row.read for row in reading.linear], n), n),
        row_lower=row_lower,
        row_upper=row_upper,
        rows=Rows(
            [(part.component, part.numbers) for part in reading.arrays],
            [row.data for row in reading.linear],
        ),
        quadratic=(*reading.cones, *quadratic),
        psd=tuple(
            PsdRow(_matrix(entries, n), np.array([e.constant for e in entries]), data)
            for entries, data in reading.semidefinite
        ),
        nonlinear=tuple(reading.nonlinear),
        exact=ExactEnds(
            sides,
            {j: exact for j, (exact, _) in ends.items() if exact != (None, None)},
            {j: excluded for j, (_, excluded) in ends.items() if any(excluded)},
            {k: row.scale for k, row in enumerate(reading.linear, first) if row.scale is not None},
        ),
    )


def _read_constraint(constraint: Any, columns: Columns, into: _Reading) -> None:
    """Read one ordinary constraint into the list of its kind."""
    low, body, high = constraint.to_bounded_expression()
    lower = -math.inf if low is None else number(low)
    upper = math.inf if high is None else number(high)
    entries = None if body.__class__ is LinearExpression else psd_entries(body)
    if entries is not None:
        label = f"row {constraint.name}"
        if lower != 0 or high is not None:
            raise ValueError(f"{label}: a semidefinite row must read smallest_eigenvalue >= 0")
        polynomials = [read(entry, columns, label) for entry in entries]
        if any(entry is None or entry.products for entry in polynomials):
            raise ValueError(f"{label}: entries of a semidefinite row must be affine")
        kept = [e for e in polynomials if e is not None]
        into.semidefinite.append((kept, constraint))
        into.inexact += [Inexact(constraint, e, set(e.exact)) for e in kept if e.exact]
        return
    if not (lower < math.inf and upper > -math.inf):
        side(lower, -math.inf, f"row {constraint.name}: lower side")
        side(upper, math.inf, f"row {constraint.name}: upper side")
    polynomial = read(body, columns, lambda: f"row {constraint.name}")
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
    low, high = (
        end if math.isinf(end) else exact_or_float(Fraction(end) * scale)
        for end in (row.low, row.high)
    )
    return _Row(read, low, high, row.data, scale)


def _sides(reading: _Reading) -> tuple[Array, Array, dict[int, Sides]]:
    """Sides of all linear rows less their constants, outwards, and those that no double is."""
    sides: dict[int, Sides] = {}
    first = 0
    for part in reading.arrays:
        sides |= {first + k: pair for k, pair in part.sides.items()}
        first += len(part.numbers)
    lows, highs = [], []
    for k, row in enumerate(reading.linear, first):
        low, high, read = row.low, row.high, row.read
        if read.constants:
            constant = read.exact.get((), read.constant)
            low, high = (end if math.isinf(end) else plus(end, -constant) for end in (low, high))
        if low.__class__ is Fraction or high.__class__ is Fraction:
            if low == high:
                reading.inexact.append(Inexact(row.data, row.read, {()}))
            low, high, sides[k] = outwards(low, high)
        lows.append(low)
        highs.append(high)
    return (
        np.concatenate(
            [*(part.lower for part in reading.arrays), np.array(lows, dtype=np.float64)]
        ),
        np.concatenate(
            [*(part.upper for part in reading.arrays), np.array(highs, dtype=np.float64)]
        ),
        sides,
    )


def _objective(model: pyo.ConcreteModel, columns: Columns) -> tuple[Polynomial | None, int, Any]:
    objectives = list(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    if len(objectives) > 1:
        raise ValueError(
            f"{len(objectives)} objectives are active "
            f"({', '.join(o.name for o in objectives[:3])}): deactivate all but one"
        )
    if not objectives:
        return Polynomial(), 1, None
    goal = read(objectives[0].expr, columns, lambda: f"objective {objectives[0].name}")
    return goal, 1 if objectives[0].sense == pyo.minimize else -1, objectives[0]


def _matrix(rows: Sequence[Polynomial], n: int) -> sp.csr_matrix:
    if any(row.arrays for row in rows):
        parts = [row.linear() for row in rows]
        counts = [len(at) for at, _ in parts]
        indices, numbers = (np.concatenate(part) for part in zip(*parts, strict=True))
    else:
        counts = [len(row.index) for row in rows]
        indices = np.fromiter(chain.from_iterable(row.index for row in rows), np.int64)
        numbers = np.fromiter(chain.from_iterable(row.coefficient for row in rows), np.float64)
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
