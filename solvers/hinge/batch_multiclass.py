"""Many multiclass hinge machines on the same points at once, by one interior point method.

    F(c, v) = min_A  ridge ||A||^2 - <v, A> + sum_i c_i max_k (1[k != y_i] - f_y(x_i) + f_k(x_i))

with y = y_i, for many rows c >= 0 of costs and slopes v at once, in the coordinates A of
this file. Intercepts that are not penalised carry 1e-7 of the cost instead, measured from
`centre`: where a class is given up altogether its intercept could fall for ever at no gain.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive

# --- Points and price of multiclass machines, in coordinates without a row for the sum of zero ---
# Score functions of K classes that sum to zero are f = Q A (x, 1) with an orthonormal basis Q (K,
# K - 1) of that space, so that sum_k ||B_k||^2 = ||A||^2.


Labels = NDArray[np.int64]

LARGEST = 3000  # unknowns of one machine


class Space(NamedTuple):
    """Points and price of one family of machines.

    X (n, k): points with columns of largest entry 1, the constant one last if there is an
        intercept; about their mean when that is free.
    unit, shift (k,) (d,): what the columns were divided by, and what was subtracted before.
    y (n,): classes 0 to K - 1.
    Q (K, K - 1): orthonormal, with columns that sum to zero.
    price (k,): of the square of each column of A; 0 for a free intercept.
    """

    X: Array
    unit: Array
    shift: Array
    y: Labels
    Q: Array
    price: Array
    intercept: str

    def machine(self, A: Array) -> tuple[Array, Array]:
        """B (..., K, d) and b (..., K) of A (..., K - 1, k)."""
        both = self.Q @ (A / self.unit)
        if self.intercept == "none":
            return both, np.zeros(both.shape[:-1])
        B = both[..., :-1]
        return B, both[..., -1] - B @ self.shift

    def coordinates(self, B: Array, b: Array) -> Array:
        """A (..., K - 1, k) of functions that sum to zero."""
        here = (b + B @ self.shift)[..., None]
        both = B if self.intercept == "none" else np.concatenate([B, here], axis=-1)
        found: Array = self.Q.T @ both * self.unit
        return found

    def scores(self, A: Array) -> Array:
        """f_k(x_i), (..., n, K)."""
        found: Array = self.X @ np.swapaxes(A, -1, -2) @ self.Q.T
        return found

    def norm(self, A: Array) -> Array:
        """ridge sum_k ||B_k||^2, with the intercepts if they are penalised, (...)."""
        found: Array = (A * A * self.price).sum(axis=(-1, -2))
        return found


def machine_space(data: MulticlassData, ridge: float, intercept: str = "free") -> Space:
    """Scale the points and choose the basis.

    Raises ValueError: a bad ridge or intercept; more than 3000 unknowns (K - 1)(d + 1).
    """
    positive("ridge", ridge)
    one_of("intercept", intercept, INTERCEPTS)
    K = data.n_classes
    unknowns = (K - 1) * (data.d + 1)
    if unknowns > LARGEST:
        raise ValueError(
            f"data: {K} classes in {data.d} dimensions have {unknowns} unknowns, and this method "
            f"takes {LARGEST}; keep fewer features"
        )
    shift = data.X.mean(axis=0) if intercept == "free" else np.zeros(data.d)
    X = data.X - shift
    if intercept != "none":
        X = np.hstack([X, np.ones((data.n, 1))])
    unit = np.abs(X).max(axis=0)
    unit[unit == 0] = 1.0
    price = ridge / unit**2
    if intercept == "free":
        price[-1] = 0.0
    return Space(X / unit, unit, shift, data.y, sum_zero_basis(K), price, intercept)


def sum_zero_basis(K: int) -> Array:
    """Orthonormal columns (K, K - 1) that sum to zero."""
    Q = np.zeros((K, K - 1))
    for j in range(K - 1):
        Q[: j + 1, j], Q[j + 1, j] = 1.0, -(j + 1.0)
        Q[:, j] /= np.sqrt((j + 1.0) * (j + 2.0))
    return Q


def slope_of(space: Space, weights: Array, y: Labels) -> Array:
    """Gradient in A of sum_ik weights_ik (f_{y_i} - f_k)(x_i), (B, K - 1, k)."""
    E = -weights
    own = np.broadcast_to(y, weights.shape[:-1])[..., None]
    np.put_along_axis(E, own, np.take_along_axis(E, own, -1) + weights.sum(-1)[..., None], -1)
    found: Array = np.swapaxes(E @ space.Q, -1, -2) @ space.X
    return found


STEPS = 200
CLOSE = 1e-10  # of the objective: gap at which a machine is done
PATIENCE = 25  # steps without halving the gap after which it is left as it is
TO_BOUNDARY = 0.99
FAR, WIDEST = 0.01, 1e4  # slack at the start, relative to the largest norm that can pay
ROUNDING = 1e-16
HELD = 1e-7  # of the cost: weight that holds a free intercept where it is
AT_ONCE = 400_000  # numbers in one array of a batch
PRODUCTS = 2_000_000  # numbers x_ij x_il that are kept


def hinge_batch(
    space: Space,
    costs: Array,
    slopes: Array | None = None,
    centre: Array | None = None,
    y: Labels | None = None,
    deadline: float | None = None,
) -> Array:
    """Solve F(c, v) for every row of costs.

    costs (B, n): c_i >= 0; 0 leaves the point out.
    slopes (B, K - 1, k): v; 0 when left out. F(c, v) must be bounded from below.
    centre (B, K - 1, k): where free intercepts are held; 0 when left out.
    y (B, n): classes of its own for each machine.
    deadline: in the time of time.perf_counter; from then on the best so far is returned.
    Returns: a of each machine.
    """
    shape = (len(costs), space.Q.shape[1], space.X.shape[1])
    slopes = np.zeros(shape) if slopes is None else slopes
    labels = np.broadcast_to(space.y if y is None else y, costs.shape)
    P = np.broadcast_to(2 * space.price, (len(costs), shape[2])).copy()
    P[:, space.price == 0] = HELD * np.maximum(costs.sum(axis=1), 1e-300)[:, None]
    if centre is not None:
        held = np.where(space.price == 0, centre, 0.0) * P[:, None, :]
        slopes = slopes + held
    found = np.zeros(shape)
    room = max(1, AT_ONCE // (space.X.shape[0] * len(space.Q)))
    for start in range(0, len(costs), room):
        part = slice(start, start + room)
        found[part] = _InteriorPointMethod(
            space, costs[part], slopes[part], labels[part], P[part]
        ).solve(deadline)
    return found


class _InteriorPointMethod:
    """Steps towards  a s = mu -> 0  with  s = xi - r + g A,  sum_k a_ik = c_i  at every step.

    The rows of a point are its K classes, its own with r = 0 and g = 0: that is xi_i >= 0.
    """

    def __init__(self, space: Space, costs: Array, slopes: Array, y: Labels, P: Array) -> None:
        self.space, self.costs, self.slopes, self.P = space, costs, slopes, P
        self.y = np.ascontiguousarray(y)[..., None]
        n, K = costs.shape[1], len(space.Q)
        self.on = (costs > 0)[..., None]
        self.r = np.ones((len(costs), n, K))
        np.put_along_axis(self.r, self.y, 0.0, -1)
        self.A = np.zeros(slopes.shape)
        self.a = np.where(self.on, np.repeat(costs[..., None] / K, K, axis=-1), 0.0)
        self.proof = self.a.copy()  # the multipliers with the largest bound
        # Where the norm costs next to nothing coefficients have far to go: wide slacks let them.
        reach = np.clip(FAR * np.sqrt(costs.sum(axis=1) / P.min(axis=1)), 1.0, WIDEST)
        self.s = 1.0 - self.r + reach[:, None, None]
        few = space.X.size * space.X.shape[1] <= PRODUCTS
        self.products = (space.X[:, :, None] * space.X[:, None, :]).reshape(n, -1) if few else None

    def solve(self, deadline: float | None) -> Array:
        """The best point of each machine, done when value and dual value meet or stand still."""
        B = len(self.costs)
        best, upper, lower = self.A.copy(), np.full(B, np.inf), np.full(B, -np.inf)
        centring, idle, w = np.full(B, 0.3), np.zeros(B, dtype=int), np.arange(B)
        count = np.maximum(self.on.sum(axis=(1, 2)) * len(self.space.Q), 1)
        for _ in range(STEPS):
            pull = slope_of(self.space, self.a[w], self.y[w, :, 0]) + self.slopes[w]
            value, bound = self._value(w), self._dual(w, pull)
            better, gap = value < upper[w], upper[w] - lower[w]
            risen = bound > lower[w]
            self.proof[w[risen]] = self.a[w[risen]]
            best[w[better]] = self.A[w[better]]
            upper[w], lower[w] = np.fmin(upper[w], value), np.fmax(lower[w], bound)
            idle[w] = np.where(upper[w] - lower[w] < gap / 2, 0, idle[w] + 1)
            scale = np.maximum(np.abs(upper[w]), 1e-300)
            going = (upper[w] - lower[w] > CLOSE * scale) & (idle[w] < PATIENCE)
            w, pull = w[going], pull[going]
            if not w.size or (deadline is not None and time.perf_counter() > deadline):
                break
            mu = centring[w] * (self.a[w] * self.s[w]).sum(axis=(1, 2)) / count[w]
            dA, da, ds = self._direction(w, pull, mu)
            length = np.ones(len(w))
            for numbers, change in ((self.a[w], da), (self.s[w], ds)):
                falls = self.on[w] & (change < 0)
                room = np.where(falls, -numbers / np.where(falls, change, -1.0), np.inf)
                length = np.minimum(length, TO_BOUNDARY * room.min(axis=(1, 2)))
            # Short steps ask for the middle first, long ones may aim at the end.
            centring[w] = np.clip((1 - length) ** 2, 0.02, 0.8)
            t = length[:, None, None]
            self.A[w] += t * dA
            self.a[w] += np.where(self.on[w], t * da, 0.0)
            self.s[w] += np.where(self.on[w], t * ds, 0.0)
        return best

    def _value(self, w: NDArray[np.intp]) -> Array:
        A = self.A[w]
        scores = self.space.scores(A)
        own = np.take_along_axis(scores, self.y[w], -1)
        loss = (self.r[w] - own + scores).max(axis=-1)
        quadratic = 0.5 * (A * A * self.P[w, None, :]).sum(axis=(1, 2))
        linear = (A * self.slopes[w]).sum(axis=(1, 2))
        value: Array = quadratic - linear + (self.costs[w] * loss).sum(axis=1)
        return value

    def _dual(self, w: NDArray[np.intp], pull: Array) -> Array:
        paid = (self.a[w] * self.r[w]).sum(axis=(1, 2))
        bound: Array = paid - 0.5 * (pull * pull / self.P[w, None, :]).sum(axis=(1, 2))
        return bound

    def _direction(self, w: NDArray[np.intp], pull: Array, mu: Array) -> tuple[Array, Array, Array]:
        """Newton's step towards complementarity mu."""
        a, s, on, y = self.a[w], self.s[w], self.on[w], self.y[w]
        D = np.where(on, a / s, 0.0)
        m = np.where(on, mu[:, None, None] / s - a, 0.0)
        total = np.where(on[..., 0], D.sum(axis=-1), 1.0)
        share = D / total[..., None]
        # m without what xi takes over: the weighted mean of each point.
        rest = m - share * m.sum(axis=-1)[..., None]
        right = pull - self.A[w] * self.P[w, None, :] + slope_of(self.space, rest, y[..., 0])
        matrix = self._matrix(D, total)
        p = matrix.shape[-1]
        matrix[:, np.arange(p), np.arange(p)] += np.tile(self.P[w], self.space.Q.shape[1])
        dA = _solved(matrix, right.reshape(len(w), p, 1)).reshape(right.shape)
        scores = self.space.scores(dA)
        lead = np.take_along_axis(scores, y, -1) - scores
        dxi = (m.sum(axis=-1) - (D * lead).sum(axis=-1)) / total
        ds = dxi[..., None] + lead
        return dA, m - D * ds, ds

    def _matrix(self, D: Array, total: Array) -> Array:
        """sum_i [sum_k D_ik (q_k - mean_i)(q_k - mean_i)'] kron x_i x_i', (B, p, p)."""
        X, q = self.space.X, self.space.Q.shape[1]
        B, n, k = len(D), *X.shape
        # About their mean: as a difference of squares nothing would be left of a large D.
        mean = D @ self.space.Q / total[..., None]
        about = self.space.Q - mean[..., None, :]
        W = np.swapaxes(about * D[..., None], -1, -2) @ about
        if self.products is not None:
            blocks = np.moveaxis(W, 1, -1).reshape(B * q * q, n) @ self.products
        else:
            flat = np.moveaxis(W, 1, -1).reshape(B * q * q, n)
            blocks = np.stack([(X.T * row) @ X for row in flat])
        found: Array = blocks.reshape(B, q, q, k, k).swapaxes(2, 3).reshape(B, q * k, q * k)
        return found


def _solved(matrix: Array, right: Array) -> Array:
    """Solve with the smallest multiple of the identity that rounding does not take away."""
    p = matrix.shape[-1]
    size = np.einsum("bpp->b", matrix)[:, None, None] * np.eye(p)
    held = ROUNDING
    while True:
        try:
            return np.linalg.solve(matrix + held * size, right)
        except np.linalg.LinAlgError:
            held *= 100
            if held > 1:
                raise


def hinge_multipliers(space: Space, costs: Array, centre: Array) -> tuple[Array, Array]:
    """A (B, K - 1, k) and multipliers (B, n, K) of the rows of F(c, 0) for every row of costs.

    They sum to c_i over the classes, that of the point's own class belonging to xi_i >= 0; free
    intercepts are held at `centre`, which leaves their balance to HELD.
    """
    A, a = np.zeros(centre.shape), np.zeros((*costs.shape, len(space.Q)))
    P = np.broadcast_to(2 * space.price, (len(costs), centre.shape[2])).copy()
    P[:, space.price == 0] = HELD * np.maximum(costs.sum(axis=1), 1e-300)[:, None]
    slopes = np.where(space.price == 0, centre, 0.0) * P[:, None, :]
    labels = np.broadcast_to(space.y, costs.shape)
    room = max(1, AT_ONCE // (space.X.shape[0] * len(space.Q)))
    for start in range(0, len(costs), room):
        part = slice(start, start + room)
        inner = _InteriorPointMethod(space, costs[part], slopes[part], labels[part], P[part])
        A[part] = inner.solve(None)
        a[part] = inner.proof
    return A, a
