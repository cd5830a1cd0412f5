"""The rigorous SVM by decomposition: working sets of q variables of its dual, one after the other.

    min  W(alpha) = H sqrt(alpha'Q alpha) - e'alpha     over y'alpha = 0,  0 <= alpha <= 1     (12)

Bi & Vapnik 2003, section 5, (19)-(21); two variables have a closed form.
It ends when the loss of a hyperplane and the bound of the multipliers, both recomputed, are as
close as was asked; 1e-9 of the loss is within reach as a rule. Three things stand in the way:

    alpha = 0       looks stationary unless H is small, because W has a corner where S = 0: a start
                    there, or one worse than ours, is replaced; other corners are met on the way,
                    and left with the help of a floor under S
    H too large     at and above norm_limit the optimum is such a corner, S = 0, where W has no
                    gradient: unless the gap closes all the same, the end is called stalled
    rounding        f and S are computed anew from time to time
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.common.hyperplane import balanced_alpha
from tightmargin.formulations.common.margin_levels import hinge_intercept
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import GramData, TrainingData, reads_dense_points
from tightmargin.formulations.parameters import fraction, positive
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.engines.running import StopReason
from tightmargin.solvers.result import search_page
from tightmargin.solvers.rigorous_svm.point import ROUNDING, RsvmPoint, rsvm_point
from tightmargin.solvers.tables import Framed

# --- Rows of the kernel matrix for the decomposition scheme, from points one by one --------------
# A free intercept does not see a shift of the points, since y'alpha = 0: they are centred, which
# keeps the differences of their inner products exact when they lie far from 0.


CACHE = 2**28  # bytes of rows that are kept, the latest used ones
FEW = 2000  # points with
WIDE = 64  # features or more: all rows at once are quicker than half of them one by one


class KernelRows:
    """Rows of K = F F', read from the kernel matrix or made from centred points and kept.

    factor (n, d): F.
    diagonal (n,): K_ii.
    spread: root of the mean squared distance of the points to their mean.
    reach: largest length of a row of F.
    """

    def __init__(self, data: TrainingData | GramData) -> None:
        mean = data.factor.mean(axis=0)
        if isinstance(data, GramData):
            self._gram: Array | None = data.gram
            self.factor: Array = data.factor
            self.diagonal: Array = np.diag(data.gram).copy()
        else:
            self.factor = data.factor - mean
            whole = data.n <= FEW and data.d >= WIDE
            self._gram = self.factor @ self.factor.T if whole else None
            self.diagonal = np.einsum("ij,ij->i", self.factor, self.factor)
        left = float(self.diagonal.mean() - np.square(self.factor.mean(axis=0)).sum())
        self.spread = float(np.sqrt(max(left, 0.0)))
        self.reach = float(np.sqrt(self.diagonal.max(initial=0.0)))
        self._kept: dict[int, Array] = {}
        self._room = max(2, CACHE // (8 * data.n))

    def row(self, i: int) -> Array:
        """K_i., of shape (n,)."""
        if self._gram is not None:
            return self._gram[i]
        found = self._kept.pop(i, None)
        if found is None:
            found = self.factor @ self.factor[i]
            if len(self._kept) >= self._room:
                del self._kept[next(iter(self._kept))]
        self._kept[i] = found
        return found

    def rows(self, index: Index) -> Array:
        """K_B., of shape (q, n)."""
        if self._gram is not None:
            return self._gram[index]
        return np.array([self.row(i) for i in index.tolist()])


# --- Multipliers that move by pairs, with all a step needs to know: f, S and who may move --------
#     W = H sqrt(S + floor^2) - e'alpha,   S = alpha'Q alpha,   f = K (y o alpha) up to a constant
#     -y_i dW/dalpha_i = y_i - H f_i / sqrt(S + floor^2)                                 from (14)
# All of a problem moves like this, and so does a working set (19), whose K is K_BB: of the rest,
# nothing but f_B and S matters.
# The subproblem (19) of two variables in closed form: the step of the decomposition with q = 2.
# Bi & Vapnik 2003 leave it open (section 7). The equation y'alpha = 0 leaves one direction,
#     alpha_i + y_i t,   alpha_j - y_j t,   and with f = K (y o alpha)
#     S(t) = S + 2 t p + t^2 eta,   p = f_i - f_j,   eta = K_ii + K_jj - 2 K_ij
#     W(t) = H sqrt(eta z^2 + m) - k z + constant,   z = t + p / eta,   m = S - p^2 / eta >= 0
# where k = y_i - y_j is -2, 0 or 2. W is convex, and W' = 0 where z^2 eta (H^2 eta - k^2) = k^2 m:
# at z = k sqrt(m / (eta (H^2 eta - k^2))). For |k| >= H sqrt(eta) there is no such z, and W falls
# all the way in the direction of k. For m = 0 the minimum is the corner z = 0, and for eta = 0,
# two equal points, W = -k t.


EQUAL = 1e-14  # of K_ii + K_jj: what eta is rounding below


class SmoState:
    """State of sequential minimal optimisation: alpha (n,) in [0, 1], two of which a step changes.

    alpha, f, S, floor: see the module's docstring; a step keeps alpha, f and S together.
    """

    def __init__(
        self,
        norm_bound: float,
        y: Array,
        diagonal: Array,
        row: Callable[[int], Array],
        alpha: Array,
        f: Array,
        S: float,
        floor: float = 0.0,
    ) -> None:
        self.norm_bound, self.y, self.diagonal, self.row = norm_bound, y, diagonal, row
        self.alpha, self.f, self.S, self.floor = alpha, f, S, floor
        below, above = alpha < 1, alpha > 0
        # Who may rise along y, as 0 or -inf to be added; who may fall, as 0 or inf.
        self._up: Array = np.where(np.where(y > 0, below, above), 0.0, -np.inf)
        self._low: Array = np.where(np.where(y > 0, above, below), 0.0, np.inf)
        self._scores, self._masked = np.empty(len(y)), np.empty(len(y))

    @property
    def radius(self) -> float:
        """sqrt(S + floor^2)."""
        return math.sqrt(max(self.S, 0.0) + self.floor * self.floor)

    def candidates(self) -> tuple[Array, Array]:
        """Scores of those that may rise along y, -inf for others; of those that may fall, inf."""
        scores = self._score()
        return scores + self._up, scores + self._low

    def _score(self) -> Array:
        """-y o gradient, in an array that the next call writes over; y where there is none."""
        radius = self.radius
        np.multiply(self.f, -self.norm_bound / radius if radius else 0.0, out=self._scores)
        self._scores += self.y
        return self._scores

    def step(self, least: float = 0.0) -> bool:
        """Move the most violating pair to where it is best.

        False where no pair violates the conditions by more than `least`, or nothing moves.
        """
        scores, masked = self._score(), self._masked
        i = int(np.add(scores, self._up, out=masked).argmax())
        j = int(np.add(scores, self._low, out=masked).argmin())
        if not scores[i] - scores[j] > least:
            return False
        alpha, f = self.alpha, self.f
        row_i, row_j = self.row(i), self.row(j)
        y_i, y_j, a_i, a_j = float(self.y[i]), float(self.y[j]), float(alpha[i]), float(alpha[j])
        scale = float(self.diagonal[i] + self.diagonal[j])
        eta, p = scale - 2 * float(row_i[j]), float(f[i] - f[j])
        room_i = 1 - a_i if y_i > 0 else a_i
        room_j = a_j if y_j > 0 else 1 - a_j
        S = max(self.S, 0.0) + self.floor * self.floor
        t = pair_step(self.norm_bound, S, p, eta, y_i - y_j, min(room_i, room_j), scale)
        # a + (1 - a) is 1 in floating point too: ends of the box are met exactly.
        new_i, new_j = a_i + y_i * t, a_j - y_j * t
        if new_i == a_i and new_j == a_j:
            return False
        self._set(i, new_i)
        self._set(j, new_j)
        self.S += t * (2 * p + t * eta)
        difference = np.subtract(row_i, row_j, out=masked)
        difference *= t
        f += difference
        return True

    def replace(self, index: NDArray[np.intp], alpha: Array, S: float, rows: Array) -> bool:
        """Give some of them new multipliers, with the S that follows; False if nothing changes.

        `rows` (q, n) are the rows of K that belong to `index`.
        """
        change = self.y[index] * (alpha - self.alpha[index])
        if not change.any():
            return False
        for i, value in zip(index.tolist(), alpha.tolist(), strict=True):
            self._set(i, value)
        self.S = S
        self.f += change @ rows
        return True

    def _set(self, i: int, value: float) -> None:
        self.alpha[i] = value
        below, above = value < 1, value > 0
        rises, falls = (below, above) if self.y[i] > 0 else (above, below)
        self._up[i] = 0.0 if rises else -np.inf
        self._low[i] = 0.0 if falls else np.inf


def pair_step(
    norm_bound: float, S: float, p: float, eta: float, k: float, limit: float, scale: float
) -> float:
    """The t in [0, limit] of least W(t).

    norm_bound: H > 0.
    S: alpha'Q alpha before the step, or S plus the square of a floor.
    p, eta, k: see the module's docstring.
    limit: the t at which the first of the two variables reaches the end of its box.
    scale: K_ii + K_jj, against which eta is 0 or not.
    """
    if eta <= EQUAL * scale:
        return limit if k > 0 else 0.0
    if k == 0:
        t = -p / eta
    else:
        slope = norm_bound * norm_bound * eta - k * k
        if slope <= 0:
            return limit if k > 0 else 0.0
        m = max(S - p * p / eta, 0.0)
        t = k * math.sqrt(m / (eta * slope)) - p / eta
    return min(max(t, 0.0), limit)


# --- The subproblem (19) of a working set B, by the paper's equations (20) and (21) --------------
#    min   H sqrt(a'Q_BB a + 2 p'a + S_NN) - e'a      over y_B'a = -y_N'alpha_N,  0 <= a <= 1   (19)
#    p = Q_BN alpha_N = (Q alpha)_B - Q_BB alpha_B                                              (20)
#    S_NN = alpha_N'Q_NN alpha_N = S - alpha_B'Q_BB alpha_B - 2 p'alpha_B                       (21)
# Bi & Vapnik 2003, section 5. With (Q alpha)_B = y_B o f_B and S known, q x q entries of K are all
# that is looked up. Solved by the steps of two variables, whose minimum is known in closed form: a
# step for the whole takes n numbers, one in here takes q.


SHARE = 0.1  # of the violation outside: how far the conditions are met inside
PAIR_STEPS = 10  # for each variable


@dataclass(frozen=True, eq=False)
class Subproblem:
    """Data of (19).

    norm_bound: H.
    y, alpha (q,): labels and present multipliers of the working set.
    gram (q, q): K_BB, so that Q_BB = diag(y) K_BB diag(y).
    p (q,): (20).
    rest: S_NN of (21).
    floor: its square is added to S_NN; 0 in the paper.
    """

    norm_bound: float
    y: Array
    alpha: Array
    gram: Array
    p: Array
    rest: float
    floor: float = 0.0

    def S(self, alpha: Array) -> float:  # noqa: N802
        """What stands under the root of (19), without the floor."""
        signed = self.y * alpha
        return float(signed @ self.gram @ signed + 2 * (self.p @ alpha) + self.rest)

    def objective(self, alpha: Array) -> float:
        """(19)."""
        return self.norm_bound * float(np.sqrt(max(self.S(alpha), 0.0) + self.floor**2)) - float(
            alpha.sum()
        )

    def solve(self, share: float = SHARE, steps: int = PAIR_STEPS) -> Array:
        """Multipliers (q,) that meet the conditions of (19) to a share of their violation now.

        share: of the largest violation at the present multipliers.
        steps: at most, for each variable.
        """
        f = self.gram @ (self.y * self.alpha) + self.y * self.p
        pairs = SmoState(
            self.norm_bound, self.y, np.diag(self.gram), self.gram.__getitem__,
            self.alpha.copy(), f, self.S(self.alpha), self.floor,
        )  # fmt: skip
        up, low = pairs.candidates()
        least = share * float(up.max() - low.min())
        for _ in range(steps * len(self.y)):
            if not pairs.step(least):
                break
        return pairs.alpha


def subproblem(pairs: SmoState, index: Index, gram: Array) -> Subproblem:
    """(19) for a working set, from what is known of the whole."""
    y, alpha = pairs.y[index], pairs.alpha[index]
    own = gram @ (y * alpha)
    p = y * (pairs.f[index] - own)
    rest = pairs.S - float((y * alpha) @ own) - 2 * float(p @ alpha)
    return Subproblem(pairs.norm_bound, y, alpha, gram, p, rest, pairs.floor)


def working_set(pairs: SmoState, q: int) -> Index:
    """The q / 2 that violate the conditions most upwards along y, and the q / 2 most downwards.

    Fewer where there are not so many; empty where the conditions hold. Joachims 1999.
    """
    up, low = pairs.candidates()
    highest, lowest = up.max(), low.min()
    half = q // 2
    rising = np.argpartition(-up, half - 1)[:half]
    rising = rising[up[rising] > lowest]  # so that the lowest one is left to fall
    low[rising] = np.inf
    falling = np.argpartition(low, half - 1)[:half]
    return np.sort(np.concatenate([rising, falling[low[falling] < highest]]))


# --- The iterate of the decomposition scheme: what keeps a long run of steps true ----------------
# f and S follow every step and gather rounding, S most where it falls by orders of magnitude: both
# are computed anew after some steps, and whenever S has fallen to a millionth.
# W has corners where S = 0, and a step of few variables may end in one that is no minimum: in 0,
# but in others too, whatever the start. There a floor is put under S: H sqrt(S + floor^2) -
# e'alpha is smooth, and the dual of
#     min  E(w, b) - floor sqrt(H^2 - ||w||^2)     with  w = H F'(y o alpha) / sqrt(S + floor^2)
# so that its w lies inside the ball and misses the least E by floor H at most. What it proves of
# the problem itself is computed without the floor.


REFRESH = 5000  # steps after which f and S are computed anew, at most
FALLEN = 1e-6  # of S as last computed: below it, S is computed anew
CORNER = 1e-7  # of the largest sqrt(S) there could be: below it, S is 0 for W
FIRST_FLOOR = 1e-3  # of the same
LOWER = 0.1  # times a floor is the next one
ABOVE = 10.0  # floors: where sqrt(S) is more, it needs none
GROWS = 1.2  # times S / floor^2 at a lower floor, where S > 0 at the end: ||w|| comes nearer to H
SAME = 2  # lower floors in a row without that: S goes with the floor
SETTLED = 0.1  # of floor H: the gap at which the problem with a floor counts as solved


class Iterate:
    """A feasible alpha that moves by working sets of q variables.

    pairs: alpha, f, S and the floor under it, 0 as long as no corner was met.
    floored: whether there ever was a floor.
    vanished: whether S went down with the floor, as it does where the optimum has S = 0.
    """

    def __init__(
        self, data: TrainingData | GramData, norm_bound: float, q: int, alpha: Array
    ) -> None:
        self._rows = rows = KernelRows(data)
        self.q = q
        most = 2.0 * min(data.n_pos, data.n_neg)
        self._next_floor = FIRST_FLOOR * rows.spread * most
        self._corner = most * max(CORNER * rows.spread, 1e-14 * rows.reach)
        self.floored = False
        self.vanished = False
        self._settled: Array | None = None
        self._share, self._same = 0.0, 0
        self._y, self._norm_bound = data.y, norm_bound
        self.place(alpha)

    def place(self, alpha: Array) -> None:
        """Go to other multipliers."""
        rows, f = self._rows, np.empty(len(alpha))
        self.pairs = SmoState(
            self._norm_bound, self._y, rows.diagonal, rows.row, alpha.copy(), f, 0.0
        )
        self.refresh()

    def refresh(self) -> None:
        """Compute f and S anew."""
        pairs = self.pairs
        v = self._rows.factor.T @ (pairs.y * pairs.alpha)
        np.matmul(self._rows.factor, v, out=pairs.f)
        pairs.S = float(v @ v)
        self._left = REFRESH
        self._watch = FALLEN * pairs.S
        if pairs.floor == 0.0:
            self._watch = max(self._watch, self._corner**2)

    @property
    def length(self) -> float:
        """sqrt(S)."""
        return float(np.sqrt(max(self.pairs.S, 0.0)))

    @property
    def cornered(self) -> bool:
        """Whether S is 0 to rounding."""
        return self.length <= self._corner

    def bound(self) -> float:
        """e'alpha - H sqrt(S), which is -W: what alpha proves, up to rounding."""
        return float(self.pairs.alpha.sum()) - self._norm_bound * self.length

    def scale(self) -> float:
        """The c of w = c F'(y o alpha), H / sqrt(S + floor^2); 0 in a corner without a floor."""
        radius = self.pairs.radius
        return self._norm_bound / radius if radius > self._corner else 0.0

    def loss(self) -> float:
        """E at the present w, with the best intercept, up to rounding."""
        scores, y = self.scale() * self.pairs.f, self.pairs.y
        b = hinge_intercept(scores, y, np.ones(len(y)))
        return float(np.maximum(0.0, 1 - y * (scores + b)).sum())

    def step(self) -> bool:
        """One working set; False where none is left that moves."""
        if self._left <= 0 or self._watch > self.pairs.S:
            self.refresh()
            if self.pairs.floor == 0.0 and self.cornered and not self.lift(first=False):
                return False
        self._left -= 1
        pairs = self.pairs
        if self.q == 2:
            return pairs.step()
        index = working_set(pairs, self.q)
        if not len(index):
            return False
        rows = self._rows.rows(index)
        inner = subproblem(pairs, index, rows[:, index])
        alpha = inner.solve()
        return pairs.replace(index, alpha, inner.S(alpha), rows)

    def lift(self, *, first: bool = True) -> bool:
        """Put a floor under a small S; False where it is not small, or no floor is left to try.

        With `first`, only if there was none before. After a floor that was taken away too early, a
        lower one goes on from there, which is nearer to the optimum than the corner.
        """
        small = self.length <= self._next_floor
        if self._next_floor <= self._corner or not small or (first and self.floored):
            return False
        if self._settled is not None:
            self.place(self._settled)
        self.pairs.floor, self.floored = self._next_floor, True
        self._next_floor *= LOWER
        self.refresh()
        return True

    def smooth_bound(self) -> float:
        """What alpha proves of the problem with a floor."""
        return float(self.pairs.alpha.sum()) - self._norm_bound * self.pairs.radius

    def open_gap(self, loss: float) -> float:
        """Between both sides of the problem with a floor."""
        floor = self.pairs.floor
        penalty = floor * floor * self._norm_bound / self.pairs.radius if floor else 0.0
        return loss - penalty - self.smooth_bound()

    def settle(self, loss: float, stuck: bool) -> bool:
        """Lower the floor, or take it away, once the problem with it is solved.

        Returns whether it did. `stuck` says that no step is left with this floor.
        """
        pairs = self.pairs
        floor = pairs.floor
        solved = stuck or self.open_gap(loss) <= SETTLED * floor * self._norm_bound
        if floor == 0.0 or not solved:
            return False
        before, self._share = self._share, pairs.S / floor**2
        self._same = self._same + 1 if before > 0 and self._share <= GROWS * before else 0
        self.vanished = self._same == SAME
        if self.vanished:
            return False
        if self.length > ABOVE * floor:
            pairs.floor, self._settled = 0.0, pairs.alpha.copy()
        elif self._next_floor > self._corner:
            pairs.floor = self._next_floor
            self._next_floor *= LOWER
        else:
            return False
        self.refresh()
        return True


# --- A run of the decomposition scheme: steps, looks at the gap between them, and when to end ----
# The loss and the bound are followed on the way and recomputed before a run counts as converged.
# The best of each is kept: the loss does not fall all the way, and the bound goes back where a
# floor is put in or taken away.


CHUNK = 50  # steps between two looks at the clock
PATIENCE = 50  # steps of two variables for each point, to make some progress in
LEAST_PATIENCE = 20_000
SHRINKS = 0.9  # times the gap counts as less
RISES = 0.05  # of the gap counts as a better bound


@dataclass(frozen=True, repr=False)
class TracePoint(Printed):
    """State after some steps.

    objective: W of (12); it never rises, except where the message says that a corner was met.
    gap: least loss so far less the greatest bound so far.
    """

    steps: int
    objective: float
    gap: float


class Run:
    """The best that the steps of an iterate have shown so far.

    trace, list of TracePoint.
    """

    def __init__(self, data: TrainingData | GramData, iterate: Iterate, tolerance: float) -> None:
        self.data, self.iterate, self.tolerance = data, iterate, tolerance
        self.norm_bound = iterate.pairs.norm_bound
        self.steps = 0
        self.trace: list[TracePoint] = []
        self.loss, self.bound = math.inf, -math.inf
        self._best_loss = (iterate.pairs.alpha.copy(), 0.0)
        self._best_bound = iterate.pairs.alpha.copy()
        self._mark, self._marked = (0.0, math.inf, 0.0), 0

    def go(self, most: int, out_of_time: Callable[[], bool]) -> StopReason:
        """Run until the gap is closed or something else ends it."""
        patience = max(LEAST_PATIENCE, PATIENCE * self.data.n) * 2 // self.iterate.q
        stuck = False
        while True:
            loss = self._look()
            if self._closed():
                return StopReason.CONVERGED
            settled = self.iterate.settle(loss, stuck)
            if self.iterate.vanished or (stuck and not settled):
                return StopReason.STALLED
            if self._waited(loss) >= patience and not self.iterate.lift():
                return StopReason.STALLED
            if self.steps >= most:
                return StopReason.STEP_LIMIT
            pause = self.steps + max(self.data.n // 4, CHUNK, self.steps // 20)
            stuck = False
            while self.steps < min(pause, most) and not stuck:
                if out_of_time():
                    self._look()
                    return StopReason.CONVERGED if self._closed() else StopReason.TIME_LIMIT
                stuck = self._some_steps(min(CHUNK, most - self.steps))

    def _some_steps(self, count: int) -> bool:
        """Whether no step is left, f and S being exact."""
        step = self.iterate.step
        for _ in range(count):
            if not step():
                self.iterate.refresh()
                if not step():
                    return True
            self.steps += 1
        return False

    def _waited(self, loss: float) -> int:
        """Steps since the gap last shrank, its bound last rose, or the floor changed."""
        floor, gap, bound = self.iterate.pairs.floor, self.loss - self.bound, self.bound
        if floor:
            gap = self.iterate.open_gap(loss)
            bound = self.iterate.smooth_bound()
        at = self._mark
        if floor != at[0] or gap <= SHRINKS * at[1] or bound >= at[2] + RISES * at[1]:
            self._mark, self._marked = (floor, gap, bound), self.steps
        return self.steps - self._marked

    def look_again(self) -> None:
        """Take in an iterate that may have been left in the middle of a step."""
        self.iterate.refresh()
        self._look()

    def _look(self) -> float:
        """Loss and bound of the iterate, kept if they are the best; the loss."""
        iterate = self.iterate
        loss, bound = iterate.loss(), iterate.bound()
        if loss < self.loss:
            self.loss = loss
            self._best_loss = (iterate.pairs.alpha.copy(), iterate.scale())
        if bound > self.bound:
            self.bound = bound
            self._best_bound = iterate.pairs.alpha.copy()
        self.trace.append(TracePoint(self.steps, -bound, max(0.0, self.loss - self.bound)))
        return loss

    def _closed(self) -> bool:
        """Whether the gap is closed, first by what was followed and then by what is recomputed."""
        rounding = ROUNDING * max(1.0, float(self._best_bound.sum()))
        if self.loss - self.bound > self.tolerance * self.loss + rounding:
            return False
        self.iterate.refresh()
        found = self.point()
        return found.gap <= self.tolerance * found.objective + rounding

    def point(self) -> RsvmPoint:
        """The best hyperplane and the best bound, recomputed."""
        data = self.data
        alpha, scale = self._best_loss
        w = scale * (data.factor.T @ (data.y * alpha))
        b = hinge_intercept(data.factor @ w, data.y, np.ones(data.n))
        return rsvm_point(data, self.norm_bound, self._best_bound, (w, b))

    def why_stalled(self) -> str:
        """The words behind STALLED."""
        if self.iterate.floored:
            return (
                "stalled: S = alpha'Q alpha vanishes, as it does where norm_bound is at or above "
                "the largest one that matters, or just below it; norm_limit gives that one, and "
                "the solution above it"
            )
        return f"stalled: after {self.steps} steps the gap shrinks no further"


# --- Where the decomposition scheme starts: anywhere but in a corner of its objective ------------
# At alpha = 0, H sqrt(S) - e'alpha has no gradient, and no pair of variables improves on it once H
# is of some size, whatever the data. Our own start has the largest sum of multipliers there is, 2
# n_min: 1 on the smaller class and, on the larger one, either n_min / n_max on all of it or 1 on
# the n_min points that lower S most to first order. Its S is 0 only where it is optimal. For a
# small H no other sum is optimal either.


def checked_start(start: ArrayLike, data: TrainingData | GramData) -> Array:
    """Multipliers (n,) in [0, 1], scaled to y'alpha = 0.

    Raises ValueError: naming `start` and what is wrong with it.
    """
    try:
        alpha = np.array(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"start must be an array ({data.n},), got {start!r}") from None
    if alpha.shape != (data.n,):
        raise ValueError(f"start must be an array ({data.n},), got shape {alpha.shape}")
    outside = np.flatnonzero(~((alpha >= 0) & (alpha <= 1)))
    if outside.size:
        raise ValueError(
            f"start must lie in [0, 1], got {alpha[outside[0]]} at position {outside[0]}"
        )
    return balanced_alpha(alpha, data.y, np.ones(data.n), "free")


def even_start(data: TrainingData | GramData) -> Array:
    """The largest sum of multipliers, spread evenly over each class."""
    least = min(data.n_pos, data.n_neg)
    return np.where(data.y > 0, least / data.n_pos, least / data.n_neg)


def lower_vertex(y: Array, f: Array) -> Array:
    """The multipliers in {0, 1} of largest sum and least y_i f_i, which is dS/dalpha_i / 2."""
    least = int(min((y > 0).sum(), (y < 0).sum()))
    alpha = np.zeros(len(y))
    for sign in (-1.0, 1.0):
        members = np.flatnonzero(y == sign)
        alpha[members[np.argsort(sign * f[members], kind="stable")[:least]]] = 1.0
    return alpha


def go_to_start(iterate: Iterate, given: Array | None) -> None:
    """Place an iterate that stands at `even_start` where W is lowest, and not in a corner.

    A given start without S, or no better than our own, is left.
    """
    for alpha in (lower_vertex(iterate.pairs.y, iterate.pairs.f), given):
        if alpha is not None:
            ours, bound = iterate.pairs.alpha, iterate.bound()
            iterate.place(alpha)
            if iterate.cornered or iterate.bound() <= bound:
                iterate.place(ours)


TOLERANCE = 1e-9
STEP_LIMIT = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition(Framed):
    """Result of a run.

    point: the best hyperplane and the multipliers with the best bound, with their verdict.
    steps: working sets that were solved.
    stop: CONVERGED only where the gap of `point` is within the tolerance.
    trace: at the start, at growing distances, and at the end.
    message: what stands behind STALLED, else empty.
    """

    point: RsvmPoint
    steps: int
    stop: StopReason
    trace: tuple[TracePoint, ...]
    message: str = ""

    def _page(self) -> Page:
        return search_page(
            f"Decomposition: rigorous SVM, H = {self.point.norm_bound:.6g}",
            self.point.objective,
            self.point.bound,
            ended=f"{self.stop}, {self.point.verdict}" + (self.message and f": {self.message}"),
            effort=count_text(self.steps, "working set"),
            parts=".point, .trace, .to_frame()",
        )


@unweighted_unlike("rsvm")
@reads_dense_points
def decomposition(
    data: TrainingData | GramData,
    *,
    norm_bound: float,
    working_set: int = 2,
    start: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    steps: int = STEP_LIMIT,
    time_limit: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Decomposition:
    """Solve the dual (12) of the rigorous SVM by working sets.

    Parameters
    ----------
    data : TrainingData or GramData
        Points are used as they are; of their kernel matrix only rows are made.
    norm_bound : float
        H > 0, below norm_limit(data): at or above it this method stalls.
    working_set : int
        q, even: half of the set violates the conditions (14) most upwards, half downwards.
    start : array (n,), optional
        Multipliers in [0, 1], say those of a neighbouring H; y'alpha = 0 is mended by scaling.
        Where S = 0 (as at 0), or W is no lower than at our own start, our own is taken; see
        start.py.
    tolerance : float
        Gap as a share of the loss at which the run has converged.
    steps : int
        Working sets at most.
    time_limit : float, optional
        Seconds of `clock`.
    clock : callable() -> float
        time.process_time counts processor time instead.

    Returns
    -------
    Decomposition
        Whatever ended it, Ctrl-C included, `point` holds the best that was found.

    Raises
    ------
    ValueError
        A bad argument, named.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> row = tm.search.decomposition(data, norm_bound=0.5)
    >>> exact = tm.solve(tm.rsvm(data, norm_bound=0.5))
    >>> abs(row.point.objective - exact.objective) < 1e-4
    True
    """
    began = clock()
    bound = positive("norm_bound", norm_bound)
    q = _checked_working_set(working_set, data.n)
    share = fraction("tolerance", tolerance)
    most = _whole("steps", steps)
    seconds = math.inf if time_limit is None else positive("time_limit", time_limit)
    given = None if start is None else checked_start(start, data)
    iterate = Iterate(data, bound, q, even_start(data))
    go_to_start(iterate, given)
    run = Run(data, iterate, share)
    try:
        stop = run.go(most, lambda: clock() - began >= seconds)
    except KeyboardInterrupt:
        stop = StopReason.INTERRUPTED
        run.look_again()
    message = run.why_stalled() if stop is StopReason.STALLED else ""
    return Decomposition(run.point(), run.steps, stop, tuple(run.trace), message)


def _whole(name: str, value: int) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def _checked_working_set(value: int, n: int) -> int:
    q = _whole("working_set", value)
    if q % 2 or q > n:
        raise ValueError(f"working_set must be even and at most n = {n}, got {value}")
    return q
