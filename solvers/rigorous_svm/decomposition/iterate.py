"""The iterate of the decomposition scheme: what keeps a long run of steps true.

f and S follow every step and gather rounding, S most where it falls by orders of magnitude: both
are computed anew after some steps, and whenever S has fallen to a millionth.

W has corners where S = 0, and a step of few variables may end in one that is no minimum: in 0, but
in others too, whatever the start. There a floor is put under S: H sqrt(S + floor^2) - e'alpha is
smooth, and the dual of

    min  E(w, b) - floor sqrt(H^2 - ||w||^2)     with  w = H F'(y o alpha) / sqrt(S + floor^2)

so that its w lies inside the ball and misses the least E by floor H at most. What it proves of the
problem itself is computed without the floor.
"""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.common.intercept_recovery import hinge_intercept
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.solvers.rigorous_svm.decomposition.kernel_rows import KernelRows
from tightmargin.solvers.rigorous_svm.decomposition.pairs import SmoState
from tightmargin.solvers.rigorous_svm.decomposition.subproblem import subproblem, working_set

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

    Attributes
    ----------
    pairs : SmoState
        alpha, f, S and the floor under it, 0 as long as no corner was met.
    q : int
    floored : bool
        Whether there ever was a floor.
    vanished : bool
        Whether S went down with the floor, as it does where the optimum has S = 0.
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
