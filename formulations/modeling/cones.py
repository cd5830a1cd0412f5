"""Cones: rotated ones at array speed, power cones made of them, and semidefinite matrices.

Powers with a rational exponent are rotated second-order cones, exactly. For coprime p >= q >= 1 and
x, t >= 0,

    x^(p/q) <= t    <=>    x^N <= t^q 1^(p - q) x^(N - p),     N = 2^k >= p,

and the right side is a product of N nonnegative factors. Two different factors s, r give way to
their geometric mean, v^2 <= s r with v >= 0, and two equal ones to themselves: N becomes N / 2, and
at N = 2 what is left is a cone of x itself. At most two means are needed for each halving.

Second-order cones are quadratic rows (p**2 <= s * z with s, z >= 0), so every quadratic solver
reads the same model. Membership in the positive semidefinite cone is a constraint on an external
function, smallest_eigenvalue(lower triangle) >= 0: solvers that cannot take it refuse it loudly,
it clones and pickles, and the value of its body is the residual. A component type of our own
would instead be dropped in silence by several Pyomo interfaces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.core.base.component_namer import index_repr
from pyomo.core.expr.numeric_expr import ExternalFunctionExpression
from pyomo.core.expr.relational_expr import InequalityExpression

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.affine_rows import LazyRows
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.mathematics import sum_text
from tightmargin.number_words import number_text

# --- Rotated second-order cones x_i^2 <= s_i t_i, one for each element of an index, kept as arrays


@dataclass(frozen=True, eq=False)
class Factor:
    """constant + slope x_i of a variable x."""

    variable: ArrayVar
    slope: float = 1.0
    constant: float = 0.0


def complement(variable: ArrayVar) -> Factor:
    """1 - x_i."""
    return Factor(variable, -1.0, 1.0)


class RotatedCones(LazyRows):
    """x_i^2 <= s_i t_i, or x_i^2 <= t s_i with a Param t, for every i of an index.

    The factors are nonnegative by the bounds of their variables, not by the row.

    t: t may be an affine function of a variable such as `complement(z)`. Each variable is indexed
        at least by the elements of `index`.
    times: positive numbers by row, x_i^2 <= times_i s_i t with a Param t; 1 by default.
    """

    def __init__(
        self,
        index: pyo.Set,
        x: ArrayVar,
        s: ArrayVar,
        t: ArrayVar | Factor | pyo.Param,
        times: Array | None = None,
    ) -> None:
        self.x, self.s = x, s
        self.times = times
        # Not a dataclass: clone() must replace the variable by that of the copied model.
        factor = t if isinstance(t, Factor) else Factor(t)
        self.t, self.slope, self.constant = factor.variable, factor.slope, factor.constant
        super().__init__(index)

    @property
    def scaled(self) -> bool:
        """Whether t is a Param: a second-order cone of x and s alone."""
        return self.t.ctype is pyo.Param

    def _written(self, k: int) -> Any:
        index = self.row_key(k)
        t = self.t if self.scaled else self.t[index]
        if (self.slope, self.constant) != (1.0, 0.0):
            t = self.constant + self.slope * t
        if self.times is not None:
            t = float(self.times[k]) * t
        return InequalityExpression((self.x[index] ** 2, self.s[index] * t), False)

    def row_text(self, k: int) -> str:
        """Row number k as a line of mathematics."""
        index = self.row_key(k)
        key = index_repr(index)
        t = f"{self.t.name}{key}"
        if self.scaled:
            size = pyo.value(self.t[index] if self.t.is_indexed() else self.t)
            t = number_text(size if self.times is None else float(self.times[k]) * size)
        elif (self.slope, self.constant) != (1.0, 0.0):
            t = f"({sum_text([(self.constant, ''), (self.slope, t)])})"
        return f"{self.x.name}{key}^2 <= {self.s.name}{key} {t}"

    def element_numbers(self, variable: ArrayVar, rows: Index) -> Index:
        """Positions in a variable of its elements in some rows."""
        if variable.index_set() is self.index_set():
            return rows
        return np.array([variable.number_of(key) for key in self.row_keys(rows)], dtype=np.int64)


# --- Powers with a rational exponent as rotated second-order cones, exactly ----------------------

BASE, POWER, ONE = "x", "t", "1"
LARGEST, LONGEST = 16, 64
EPS = float(np.finfo(float).eps)
LEAST = 1e-290  # no product of two square roots of such numbers underflows


@dataclass(frozen=True)
class Cone:
    """inner^2 <= left right: names of variables, or ONE on the right."""

    inner: str
    left: str
    right: str


def rational_exponent(name: str, value: float | str) -> Fraction:
    """An exponent as the fraction that it is written as: 1.3 is 13/10.

    Raises ValueError: no number or fraction in [1, 16], or one with a numerator above 64.
    """
    wanted = f'{name} must be a number from 1 to {LARGEST} or a fraction such as "4/3"'
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | str | np.integer | np.floating
    ):
        raise ValueError(f"{wanted}, got {value!r}")
    try:
        exponent = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{wanted}, got {value!r}") from None
    if not 1 <= exponent <= LARGEST:
        why = "; below 1 the power is not convex" if 0 < exponent < 1 else ""
        raise ValueError(f"{wanted}, got {value!r}{why}")
    if exponent.numerator > LONGEST:
        raise ValueError(
            f"{name} must be a fraction with a numerator of at most {LONGEST}, got {exponent}"
        )
    return exponent


def power_cones(exponent: Fraction) -> list[Cone]:
    """Cones that say x^exponent <= t for x, t >= 0; the names of means are v1, v2, ...

    Each mean stands in a cone before it is a side of another one.

    exponent: above 1.
    """
    p, q = exponent.numerator, exponent.denominator
    product = 1 << (p - 1).bit_length()
    counts = {POWER: q, BASE: product - p, ONE: p - q}
    cones: list[Cone] = []
    while product > 2:
        odd = [name for name, count in counts.items() if count % 2]
        counts = {name: count // 2 for name, count in counts.items()}
        for left, right in zip(odd[::2], odd[1::2], strict=True):
            mean = f"v{len(cones) + 1}"
            cones.append(Cone(mean, *_sides(left, right)))
            counts[mean] = 1
        product //= 2
    left, right = (name for name, count in counts.items() for _ in range(count))
    return [*cones, Cone(BASE, *_sides(left, right))]


def _sides(left: str, right: str) -> tuple[str, str]:
    return (right, left) if left == ONE else (left, right)


def power_values(x: Array, exponent: Fraction) -> dict[str, Array]:
    """t and the means at numbers x >= 0, with every cone met whatever the rounding.

    t is above x^exponent by more than what its own rounding and that of the means can lose.
    """
    cones, e = power_cones(exponent), float(exponent)
    found = {BASE: x, ONE: np.ones_like(x)}
    some = np.maximum(x, np.nextafter(0.0, 1.0))
    room = 1 + e * (16 * len(cones) + 2 * np.abs(np.log(some))) * EPS
    found[POWER] = np.where(x > 0, np.maximum(x**e, LEAST) * room, 0.0)
    for cone in cones[:-1]:
        means = np.sqrt(found[cone.left]) * np.sqrt(found[cone.right])
        found[cone.inner] = np.nextafter(means * (1 - 4 * EPS), 0.0)  # a subnormal loses more
    return {name: numbers for name, numbers in found.items() if name not in (BASE, ONE)}


# --- Cones as ordinary Pyomo constraints ---------------------------------------------------------


def smallest_eigenvalue(*triangle: float) -> float:
    """Smallest eigenvalue of the symmetric matrix with this row-wise lower triangle."""
    return float(np.linalg.eigvalsh(symmetric(np.array(triangle, dtype=float)))[0])


def symmetric(triangle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Symmetric matrix (k, k) from its row-wise lower triangle, k (k + 1) / 2 numbers."""
    k = order(len(triangle))
    matrix = np.zeros((k, k))
    matrix[np.tril_indices(k)] = triangle
    return matrix + np.tril(matrix, -1).T


def order(entries: int) -> int:
    """Order of the matrix whose triangle has this many entries."""
    return int((np.sqrt(8 * entries + 1) - 1) / 2)


def lower_pairs(k: int) -> list[tuple[int, int]]:
    """Index pairs (i, j), j <= i, of a lower triangle of order k, row by row."""
    return [(i, j) for i in range(k) for j in range(i + 1)]


def outer_products(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients of <x x', W> on the lower triangle of W, for every row x of `points` (n, k).

    Returns
    -------
    array (n, k (k + 1) / 2)
        Off-diagonal entries stand for both halves of W, hence counted twice.
    """
    i, j = np.tril_indices(points.shape[1])
    products = points[:, i]
    products *= points[
        :, j
    ]  # in place: fresh memory for large arrays takes longer than the product
    products *= np.where(i == j, 1.0, 2.0)
    return products


def psd(block: pyo.Block, name: str, rows: Sequence[Sequence[Any]]) -> None:
    """Add constraint `name`: the matrix with lower-triangular rows `rows` is semidefinite.

    Parameters
    ----------
    block : Block
        A model or a block of one.
    name : str
        Of the constraint.
    rows : sequence of sequences
        Row i holds entries (i, 0), ..., (i, i): numbers or affine expressions.

    Raises
    ------
    ValueError
        When the rows are no lower triangle.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> m = pyo.ConcreteModel()
    >>> m.x = pyo.Var()
    >>> tm.psd(m, "cone", [[m.x], [1.0, m.x]])  # [[x, 1], [1, x]]: x >= 1
    >>> m.objective = pyo.Objective(expr=m.x)
    >>> round(tm.solve(m).objective, 6)
    1.0
    """
    if [len(row) for row in rows] != list(range(1, len(rows) + 1)):
        raise ValueError(f"{name}: row i of a lower triangle needs i + 1 entries")
    function = pyo.ExternalFunction(smallest_eigenvalue)
    block.add_component(f"{name}_smallest_eigenvalue", function)
    entries = [entry for row in rows for entry in row]
    block.add_component(name, pyo.Constraint(expr=function(*entries) >= 0))


def psd_entries(body: Any) -> list[Any] | None:
    """Entries of the row-wise lower triangle when `body` is a semidefinite row, else None."""
    if not isinstance(body, ExternalFunctionExpression):
        return None
    if getattr(body._fcn, "_fcn", None) is not smallest_eigenvalue:
        return None
    return list(body.args[:-1])
