"""The class of a model, decided from its rows before any solver sees it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from tightmargin.formulations.catalogue import INTEGER_CLASSES, ProblemClass
from tightmargin.formulations.common.rounding import ROUNDOFF as UNIT
from tightmargin.formulations.common.rounding import least_eigenvalue
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.exact import is_semidefinite
from tightmargin.solvers.model.exponential import exponential_form
from tightmargin.solvers.model.polynomial import LocalQuadratic, QuadraticRow
from tightmargin.solvers.model.reader import StandardForm

# --- How much a quadratic form bends, proven: no eigenvalue is trusted to a tolerance ------------
# For a symmetric Q the numbers c_j found here satisfy
#     Q - diag(c) is positive semidefinite,
# so that x'Qx >= x^'Qx^ + 2 (Qx^)'(x - x^) + sum_j c_j (x_j - x^_j)^2 for all x and x^. Blocks of
# variables that Q does not connect are decided one by one:
#     one variable        c_j = Q_jj
#     definite            c_j = half of the smallest eigenvalue
#     singular, small     c_j = 0, by elimination in rational numbers
#     singular, large     c_j slightly negative: what rounding may have left below zero, which
#                         a bound has to charge for
# A block whose smallest eigenvalue is below the rounding of its own entries is not convex.
# Definiteness is proven by a Cholesky factorisation that ends
# (formulations/common/rounding.py).


# Entries of a Gram matrix are rounded sums of products; their errors add up over the order.
ROUNDING = 16 * UNIT
EXACT_ORDER = 24


@dataclass(frozen=True, eq=False)
class Curvature:
    """Proven curvature of x'Qx.

    least (n,): c of the module's docstring; None where Q is not convex.
    negative: the smallest eigenvalue of the first block that is not convex, else 0.
    """

    least: Array | None
    negative: float = 0.0

    @property
    def convex(self) -> bool:
        """Whether the form is convex, up to the rounding that `least` charges for."""
        return self.least is not None


def curvature(Q: sp.csr_matrix) -> Curvature:
    """Curvature of a symmetric form; see the module's docstring."""
    n = Q.shape[0]
    diagonal = Q.diagonal()
    if Q.nnz == np.count_nonzero(diagonal):
        smallest = float(diagonal.min(initial=0.0))
        return Curvature(diagonal) if smallest >= 0 else Curvature(None, smallest)
    least = np.zeros(n)
    used = np.unique(Q.nonzero()[0])
    inside = Q[used][:, used].tocsr()
    count, owner = connected_components(inside, directed=False)
    order = np.argsort(owner, kind="stable")
    blocks = np.split(order, np.cumsum(np.bincount(owner, minlength=count))[:-1])
    for block in blocks:
        found, smallest = block_curvature(inside[block][:, block].toarray())
        if found is None:
            return Curvature(None, smallest)
        least[used[block]] = found
    return Curvature(least)


def block_curvature(B: Array) -> tuple[float | None, float]:
    """c with B - c I proven semidefinite, or None, and the smallest eigenvalue as computed."""
    k = len(B)
    if k == 1:
        value = float(B[0, 0])
        return (value if value >= 0 else None), value
    smallest = float(np.linalg.eigvalsh(B)[0])
    proven = least_eigenvalue(B, 0.0) if smallest > 0 else None
    if proven is not None:
        return proven, smallest
    if k <= EXACT_ORDER:
        lines = [[Fraction(entry) for entry in line] for line in B.tolist()]
        if is_semidefinite(lines):
            return 0.0, 0.0
    noise = ROUNDING * k * float(np.abs(B).max())
    if smallest < -noise:
        return None, smallest
    # Twice what the factorisation itself may have lost, so that it can prove what is left.
    shift = 2 * noise + 8 * (k + 2) * UNIT * float(np.abs(np.diag(B)).sum())
    return (-shift, smallest) if proven_at_least(B, -shift) else (None, smallest)


def proven_at_least(B: Array, c: float) -> bool:
    """Whether B - c I is proven definite."""
    rounding = 2 * UNIT * (float(np.abs(np.diag(B)).max()) + abs(c))
    return least_eigenvalue(B - c * np.eye(len(B)), rounding) is not None


# --- A convex quadratic function as a sum of squares: x'qx + a'x = ||L x + e||^2 - rest ----------
# Up to EXACT_ORDER variables the squares are found by elimination in rational numbers and then
# rounded, so that every entry of L and e is right to a few units in its last place. Beyond that,
# and where the rounding of q's own entries has made it indefinite, the squares come from
# eigenvectors, and `Excess` says by how much they may miss.


@dataclass(frozen=True)
class Excess:
    """By how much x'qx + a'x may exceed the squares that stand for it.

    At most squares * sum_j x_j^2 + linear * sum_j |x_j| + constant.
    """

    squares: float = 0.0
    linear: float = 0.0
    constant: float = 0.0


@dataclass(frozen=True, eq=False)
class Squares:
    """See the module's docstring.

    root (m, k): L.
    shift (m,): e.
    rest: e'e before rounding.
    excess: none where every entry is right to a few units in its last place.
    exact: whether L did not round at all, and e is 0.
    """

    root: Array
    shift: Array
    rest: Fraction
    excess: Excess | None = None
    exact: bool = False


def complete_squares(q: Array, a: Array) -> Squares | None:
    """Squares of x'qx + a'x; None where q is not semidefinite or a is not in its range."""
    k = len(q)
    if k == 0:
        return Squares(np.zeros((0, 0)), np.zeros(0), Fraction(0), exact=True)
    diagonal = np.diag(q)
    if np.count_nonzero(q) == np.count_nonzero(diagonal):
        return _of_diagonal(diagonal, a)
    exact = _by_elimination(q, a) if k <= EXACT_ORDER else None
    return _by_eigenvectors(q, a) if exact is None else exact


def _of_diagonal(diagonal: Array, a: Array) -> Squares | None:
    if diagonal.min() < 0 or a[diagonal == 0].any():
        return None
    kept = np.flatnonzero(diagonal)
    root = np.diag(np.sqrt(diagonal))[kept]
    pairs = zip(a[kept].tolist(), diagonal[kept].tolist(), strict=True)
    rest = sum((Fraction(b) ** 2 / (4 * Fraction(d)) for b, d in pairs if b), Fraction(0))
    roots = zip(np.sqrt(diagonal[kept]).tolist(), diagonal[kept].tolist(), strict=True)
    exact = not a.any() and all(Fraction(r) ** 2 == Fraction(d) for r, d in roots)
    return Squares(root, a[kept] / (2 * np.sqrt(diagonal[kept])), rest, exact=exact)


def _by_elimination(q: Array, a: Array) -> Squares | None:
    """q = sum_k d_k l_k l_k' with rational d_k > 0, and a = 2 sum_k d_k g_k l_k."""
    k = len(q)
    left = [[Fraction(entry) for entry in line] for line in q.tolist()]
    slope = [Fraction(entry) for entry in a.tolist()]
    roots, shifts, rest = [], [], Fraction(0)
    for i in range(k):
        pivot = left[i][i]
        if pivot < 0 or (pivot == 0 and (any(left[i][i + 1 :]) or slope[i])):
            return None
        if pivot == 0:
            continue
        line = [entry / pivot for entry in left[i]]
        g = slope[i] / (2 * pivot)
        for j in range(i + 1, k):
            if line[j]:
                left[j] = [x - left[i][j] * y for x, y in zip(left[j], line, strict=True)]
        slope = [x - 2 * pivot * g * y for x, y in zip(slope, line, strict=True)]
        left[i] = [Fraction(0)] * k
        for j in range(i + 1, k):
            left[j][i] = Fraction(0)
        size = math.sqrt(pivot)
        roots.append([size * float(entry) for entry in line])
        shifts.append(size * float(g))
        rest += pivot * g * g
    return Squares(np.array(roots).reshape(-1, k), np.array(shifts), rest)


def _by_eigenvectors(q: Array, a: Array) -> Squares | None:
    k = len(q)
    if block_curvature(q)[0] is None:
        return None
    values, vectors = np.linalg.eigh(q)
    keep = values > k * UNIT * values[-1]
    root = (vectors[:, keep] * np.sqrt(values[keep])).T
    miss = float(np.linalg.norm(q - root.T @ root))
    noise = (k + 4) * UNIT
    miss += 4 * noise * float(np.linalg.norm(np.abs(root).T @ np.abs(root)))
    if not a.any():
        return Squares(root, np.zeros(len(root)), Fraction(0), Excess(miss))
    shift = np.asarray(np.linalg.lstsq(root.T, a / 2, rcond=None)[0])
    off = float(np.abs(a - 2 * root.T @ shift).max())
    if off > k * noise * float(np.abs(a).max()) * 1e2:
        return None
    off += 4 * noise * float((np.abs(root).T @ np.abs(shift)).max() + np.abs(a).max())
    rest = sum((Fraction(entry) ** 2 for entry in shift.tolist()), Fraction(0))
    return Squares(root, shift, rest, Excess(miss, off))


# --- Which quadratic rows are convex, and as which second-order cone -----------------------------
# A row g(x) = x'Qx + a'x + c <= 0 is one of
#     convex     Q is semidefinite
#     cone       one product k f_1 f_2 of two affine factors that the bounds keep nonnegative
#                exceeds a sum of squares (rotated cone), or one square does (norm cone)
#     reverse    -Q is semidefinite: the feasible side is outside a convex set
#     nonconvex  anything else
# and the first two are {x : (A x + b) in a second-order cone}. Signs are decided exactly: a factor
# that a bound keeps above -1e-12 is not kept nonnegative.


class Shape(StrEnum):
    """Kind of a quadratic row."""

    CONVEX = "convex"
    REVERSE = "reverse convex"
    NONCONVEX = "nonconvex"


@dataclass(frozen=True, eq=False)
class Cone:
    """(A x + b) lies in the second-order cone: its first entry is at least the norm of the rest.

    A (m, k): over the columns `index` (k,).
    b (m,): a and b are right to a few units in the last place of their entries.
    excess: by how much the squared norm of the rest may exceed the square of the first entry all
        the same, where A does not say the row to the last place.
    slope: raising the first entry by t >= 0 makes room for at least slope * t of excess; 0 where
        only t^2 is sure.
    factors (2, k) (2,): of a cone (f + g, f - g, h): f and g themselves, which say h^2 <= 4 f g in
        any units, where the sum and the difference of numbers of different size have lost the
        smaller one.
    exact: whether A and b say the row without any rounding, as where all squares have coefficient
        1.
    """

    A: Array
    b: Array
    index: Index
    excess: Excess | None = None
    slope: float = 0.0
    factors: tuple[Array, Array] | None = None
    exact: bool = False

    def at(self, index: Index) -> Cone:
        """The same cone over other columns; `replace` takes twice the time for a thousand."""
        return Cone(self.A, self.b, index, self.excess, self.slope, self.factors, self.exact)


@dataclass(frozen=True, eq=False)
class Reading:
    """What a row is; `cone` is present when it is convex, `reason` when it is not."""

    shape: Shape
    cone: Cone | None = None
    reason: str = ""


def read_rows(form: StandardForm) -> tuple[Reading, ...]:
    """Classify the quadratic rows of a model.

    Rows that differ in nothing but their columns, a thousand cones of one family, are decided
    once: the answer depends on the numbers and on the bounds of the columns alone.
    """
    known: dict[tuple[object, ...], Reading] = {}
    found = []
    for row in form.quadratic:
        body = row.body
        key = (
            row.lower, row.upper, body.constant, body.i.tobytes(), body.j.tobytes(),
            body.v.tobytes(), body.a.tobytes(),
            form.lower[body.index].tobytes(), form.upper[body.index].tobytes(),
        )  # fmt: skip
        reading = known.get(key)
        if reading is None:
            reading = read_row(row, form)
            if reading.cone is not None:
                known[key] = reading
        elif reading.cone is not None:
            reading = Reading(reading.shape, reading.cone.at(body.index))
        found.append(reading)
    return tuple(found)


def read_row(row: QuadraticRow, form: StandardForm) -> Reading:
    """Classify one quadratic row of a model."""
    low, high = np.isfinite(row.lower), np.isfinite(row.upper)
    if low and high:
        return Reading(Shape.NONCONVEX, reason=f"{row.data.name} has two sides")
    g = row.body.shifted(1.0, row.upper) if high else row.body.shifted(-1.0, row.lower)
    product = _product_cone(g, form)
    if product is not None:
        return Reading(Shape.CONVEX, product)
    support = np.unique(g.i)
    q = _dense(g, support)
    squares = complete_squares(q, np.zeros(len(q)))
    if squares is not None:
        return Reading(Shape.CONVEX, _convex_cone(g, support, squares))
    norm = _norm_cone(g, support, q, form)
    if norm is not None:
        return Reading(Shape.CONVEX, norm)
    if block_curvature(-q)[0] is not None:
        return Reading(Shape.REVERSE, reason=f"{row.data.name} is a reverse convex row")
    return Reading(
        Shape.NONCONVEX,
        reason=f"{row.data.name} is not convex (or a cone whose factors lack bounds >= 0)",
    )


def _dense(g: LocalQuadratic, support: Index) -> Array:
    """Q over some of its local positions."""
    at = np.full(len(g.index), -1)
    at[support] = np.arange(len(support))
    inside = (at[g.i] >= 0) & (at[g.j] >= 0)
    q = np.zeros((len(support), len(support)))
    q[at[g.i[inside]], at[g.j[inside]]] = g.v[inside]
    return q


def _convex_cone(g: LocalQuadratic, support: Index, found: Squares) -> Cone:
    """||Lx||^2 <= t with t = -(a'x + c); a plain norm bound when t is a positive constant."""
    root = found.root
    squares = np.zeros((len(root), len(g.index)))
    squares[:, support] = root
    if not g.a.any() and g.constant < 0:
        radius = math.sqrt(-g.constant)
        top = np.zeros((1, len(g.index)))
        sides = np.r_[radius, np.zeros(len(root))]
        exact = found.exact and _is_root(radius, -g.constant)
        return Cone(
            np.vstack([top, squares]), sides, g.index, found.excess, 2 * radius, exact=exact
        )
    t = -g.a[None, :]
    return Cone(
        np.vstack([t, t, 2 * squares]),
        np.r_[1 - g.constant, -1 - g.constant, np.zeros(len(root))],
        g.index,
        _doubled(found.excess),
        2.0,  # t may be raised in both entries: (t + e + 1)^2 - (t + e - 1)^2 = 4 (t + e)
        (np.vstack([t, np.zeros_like(t)]), np.array([-g.constant, 1.0])),
        found.exact and (1 - g.constant) + g.constant == 1 and (-1 - g.constant) + g.constant == -1,
    )


def _is_root(root: float, number: float) -> bool:
    """Whether a square root did not round."""
    return Fraction(root) ** 2 == Fraction(number)


def _doubled(excess: Excess | None, constant: float = 0.0) -> Excess | None:
    """Of 2 (L x + e) in the place of L x + e, with a constant more before that."""
    if excess is None:
        return None if constant == 0.0 else Excess(constant=4 * constant)
    return Excess(4 * excess.squares, 4 * excess.linear, 4 * (excess.constant + constant))


def _product_cone(g: LocalQuadratic, form: StandardForm) -> Cone | None:
    """Squares of the other variables at most -k f_1 f_2, both factors nonnegative."""
    counts = np.bincount(g.i, minlength=len(g.index))
    lone = (g.i < g.j) & (counts[g.i] == 1) & (counts[g.j] == 1)
    if np.count_nonzero(lone) != 1:
        return None
    at = int(np.flatnonzero(lone)[0])
    s, t, k = int(g.i[at]), int(g.j[at]), 2 * float(g.v[at])
    others = np.array([p for p in np.flatnonzero(counts) if p not in (s, t)], dtype=np.int64)
    linear = g.a.copy()
    linear[[s, t]] = 0.0
    linear[others] = 0.0
    if linear.any():
        return None
    found = complete_squares(_dense(g, others), g.a[others])
    if found is None:
        return None
    root, shift = found.root, found.shift
    # k s t + a_s s + a_t t + c' = k (s + a_t / k)(t + a_s / k) + (c' - a_s a_t / k); what is left
    # over is one more square when it is positive, and no cone when it is negative.
    terms = [
        Fraction(g.constant), -found.rest,
        -Fraction(float(g.a[s])) * Fraction(float(g.a[t])) / Fraction(k),
    ]  # fmt: skip
    rest, constant = sum(terms), 0.0
    if rest > 0:
        root = np.vstack([root, np.zeros((1, root.shape[1]))])
        shift = np.append(shift, math.sqrt(rest))
    elif rest < 0:
        # What the rounding of a square's own terms, as Pyomo multiplies it out, leaves over.
        constant = math.nextafter(float(-rest), math.inf)
        if constant > 8 * UNIT * float(sum(map(abs, terms))):
            return None
    ends = _factor_signs((int(g.index[s]), int(g.index[t])), (g.a[t], g.a[s]), k, form)
    if ends is None:
        return None
    signs, shifts = ends, (float(g.a[t]) / k, float(g.a[s]) / k)
    scale = math.sqrt(abs(k))
    A = np.zeros((2 + len(root), len(g.index)))
    A[0, [s, t]] = scale * signs[0], scale * signs[1]
    A[1, [s, t]] = scale * signs[0], -scale * signs[1]
    A[2:, others] = 2 * root
    first, second = (scale * sign * d for sign, d in zip(signs, shifts, strict=True))
    sides = np.r_[first + second, first - second, 2 * shift]
    factors = np.zeros((2, len(g.index)))
    factors[0, s], factors[1, t] = scale * signs[0], scale * signs[1]
    apart = (factors, np.array([first, second]))
    exact = found.exact and rest == 0 and _is_root(scale, abs(k)) and first == second == 0.0
    return Cone(A, sides, g.index, _doubled(found.excess, constant), factors=apart, exact=exact)


def _factor_signs(
    columns: tuple[int, int], linear: tuple[float, float], k: float, form: StandardForm
) -> tuple[float, float] | None:
    """Signs that make both factors x + a / k of -k f_1 f_2 >= 0 nonnegative within the bounds."""

    def at(bound: float, a: float) -> float | Fraction:
        return bound if math.isinf(bound) else Fraction(bound) + Fraction(float(a)) / Fraction(k)

    pairs = list(zip(columns, linear, strict=True))
    up = [at(float(form.lower[column]), a) >= 0 for column, a in pairs]
    down = [at(float(form.upper[column]), a) <= 0 for column, a in pairs]
    if k < 0:
        if all(up):
            return 1.0, 1.0
        return (-1.0, -1.0) if all(down) else None
    if up[0] and down[1]:
        return 1.0, -1.0
    return (-1.0, 1.0) if down[0] and up[1] else None


def _norm_cone(g: LocalQuadratic, support: Index, q: Array, form: StandardForm) -> Cone | None:
    """||Lx|| <= sqrt(k) t for one variable t that the bounds keep on one side of zero."""
    negative = np.flatnonzero(np.diag(q) < 0)
    if len(negative) != 1 or g.a.any() or g.constant != 0:
        return None
    j = int(negative[0])
    others = np.array([p for p in range(len(support)) if p != j], dtype=np.int64)
    if np.count_nonzero(q[j]) != 1 or len(others) == 0:
        return None
    found = complete_squares(q[np.ix_(others, others)], np.zeros(len(others)))
    if found is None:
        return None
    column = int(g.index[support[j]])
    if form.lower[column] >= 0:
        sign = 1.0
    elif form.upper[column] <= 0:
        sign = -1.0
    else:
        return None
    root = found.root
    A = np.zeros((1 + len(root), len(g.index)))
    A[0, support[j]] = sign * np.sqrt(-q[j, j])
    A[1:, support[others]] = root
    exact = found.exact and _is_root(math.sqrt(-q[j, j]), float(-q[j, j]))
    return Cone(A, np.zeros(len(A)), g.index, found.excess, exact=exact)


CONVEX_CLASSES = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)


@dataclass(frozen=True, eq=False)
class Classification:
    """Class of a model, its quadratic rows as read, and why it is not convex when it is not.

    readings: of the quadratic rows, in order.
    reason: what is not convex.
    curvature (n,): c with Q - diag(c) proven semidefinite, for the Q of the objective; None where
        the objective is not convex.
    mixed_semidefinite: whether integers beside semidefinite rows are all that is not convex: no
        solver here takes such a model, and branch and bound does.
    """

    problem_class: ProblemClass
    readings: tuple[Reading, ...]
    reason: str = ""
    curvature: NDArray[np.float64] | None = None
    mixed_semidefinite: bool = False

    @property
    def convex(self) -> bool:
        """Continuous and convex, without exp and log."""
        return self.problem_class in CONVEX_CLASSES

    @property
    def relaxes_to_convex(self) -> bool:
        """Convex once integrality is dropped."""
        return self.convex or self.has_integers

    @property
    def has_integers(self) -> bool:
        """Whether integers are all that is not convex."""
        return self.problem_class in INTEGER_CLASSES or self.mixed_semidefinite


def _is_exponential(form: StandardForm) -> bool:
    """Whether exp and log in convex places are all that is beyond a convex model."""
    read = None if form.integer.any() else exponential_form(form)
    return read is not None and not read.form.nonlinear and classify(read.form).convex


def classify(form: StandardForm) -> Classification:
    """Classify a model read by standard_form."""
    readings = read_rows(form)
    integer = bool(form.integer.any())

    bend = curvature(form.objective.Q)

    def answer(problem_class: ProblemClass, reason: str = "") -> Classification:
        return Classification(problem_class, readings, reason, bend.least)

    if form.nonlinear:
        kind = ProblemClass.EXP if _is_exponential(form) else ProblemClass.NONCONVEX
        return answer(kind, f"{form.nonlinear[0].name} is not quadratic")
    if not bend.convex:
        return answer(
            ProblemClass.NONCONVEX, f"the objective has negative curvature {bend.negative:.3g}"
        )
    bad = [r for r in readings if r.shape is not Shape.CONVEX]
    if bad:
        lone_reverse = len(bad) == len(readings) == 1 and bad[0].shape is Shape.REVERSE
        linear = form.objective.Q.nnz == 0 and not form.psd and not integer
        if lone_reverse and linear:
            return answer(ProblemClass.LRCP, bad[0].reason)
        return answer(ProblemClass.NONCONVEX, bad[0].reason)
    if form.psd:
        if integer:
            reason = "integer variables beside a semidefinite row"
            return replace(answer(ProblemClass.NONCONVEX, reason), mixed_semidefinite=True)
        return answer(ProblemClass.SDP)
    if readings:
        return answer(ProblemClass.MISOCP if integer else ProblemClass.SOCP)
    if form.objective.Q.nnz:
        return answer(ProblemClass.MIQP if integer else ProblemClass.QP)
    return answer(ProblemClass.MILP if integer else ProblemClass.LP)


# --- Products of a binary and another variable, and what to write in their place -----------------


def binary_product(form: StandardForm) -> str:
    """A sentence on the first such product of a row or of the objective; empty without one."""
    binary = form.integer & (form.lower >= 0) & (form.upper <= 1)
    if not binary.any():
        return ""
    for where, i, j in _products(form):
        if binary[i] or binary[j]:
            u, x = (form.columns.name(k) for k in ((i, j) if binary[i] else (j, i)))
            return (
                f"{where} multiplies the binary {u} by {x}: with a variable t in the place of the "
                f"product, -M {u} <= t <= M {u} and -M (1 - {u}) <= t - {x} <= M (1 - {u}) for an "
                f"M >= abs({x}), branch and bound can prove an optimum"
            )
    return ""


def _products(form: StandardForm) -> Iterator[tuple[str, int, int]]:
    """Owner and columns of every product of two variables."""
    Q = form.objective.Q.tocoo()
    for i, j in zip(Q.row.tolist(), Q.col.tolist(), strict=True):
        if i < j:
            yield "the objective", i, j
    for row in form.quadratic:
        body = row.body
        for k in np.flatnonzero(body.i < body.j).tolist():
            yield f"row {row.data.name}", int(body.index[body.i[k]]), int(body.index[body.j[k]])
