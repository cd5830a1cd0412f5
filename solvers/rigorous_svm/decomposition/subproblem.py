"""The subproblem (19) of a working set B, by the paper's equations (20) and (21).

    min   H sqrt(a'Q_BB a + 2 p'a + S_NN) - e'a      over y_B'a = -y_N'alpha_N,  0 <= a <= 1   (19)
    p = Q_BN alpha_N = (Q alpha)_B - Q_BB alpha_B                                              (20)
    S_NN = alpha_N'Q_NN alpha_N = S - alpha_B'Q_BB alpha_B - 2 p'alpha_B                       (21)

Bi & Vapnik 2003, section 5. With (Q alpha)_B = y_B o f_B and S known, q x q entries of K are all
that is looked up. Solved by the steps of two variables, whose minimum is known in closed form: a
step for the whole takes n numbers, one in here takes q.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.rigorous_svm.decomposition.pairs import SmoState

SHARE = 0.1  # of the violation outside: how far the conditions are met inside
STEPS = 10  # for each variable


@dataclass(frozen=True, eq=False)
class Subproblem:
    """Data of (19).

    Attributes
    ----------
    norm_bound : float
        H.
    y, alpha : array (q,)
        Labels and present multipliers of the working set.
    gram : array (q, q)
        K_BB, so that Q_BB = diag(y) K_BB diag(y).
    p : array (q,)
        (20).
    rest : float
        S_NN of (21).
    floor : float
        Its square is added to S_NN; 0 in the paper.
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

    def solve(self, share: float = SHARE, steps: int = STEPS) -> Array:
        """Multipliers (q,) that meet the conditions of (19) to a share of their violation now.

        Parameters
        ----------
        share : float
            Of the largest violation at the present multipliers.
        steps : int
            At most, for each variable.
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
