"""The convex program of a cone: the subtracted tail sum replaced by its values at the generators.

    min   tau - sum_j t_j T_k(-A v_j)
    s.t.  tau >= -<s_i, V t>  for the s_i at hand,   t >= 0
          ||(V t)_1..q|| <= 1,   |(V t)_rest| <= B

of D + 1 variables, whatever the number of points: the s_i are those of the parent cone, and of each
minimiser that shows one to be missing. Its multipliers are the a and u of
cuts/conical/simplicial.py, made to hold with all roundings before anything is closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import nnls

from tightmargin.cuts.conical.simplicial import (
    TailDifference,
    largest_sum,
    leaf_value,
    missing,
    support_vector,
)
from tightmargin.formulations.data.arrays import Array

TOLERANCE = 1e-11  # of Clarabel
ROUNDS = 40  # of one cone
CLOSER = 0.05  # of what a cone lacks: a missing s_i that gains less is left out
SPARE = 1e-9  # of a share: below it an s_i is dropped
REPAIRS = 3
USED = 1e-9  # of a minimiser's coefficients


@dataclass(frozen=True, eq=False)
class Bounded:
    """A cone with its bound.

    value: proven, roundings counted.
    which, shares, u: what proves it.
    coefficients (D,): t of the minimiser, for generators of length 1.
    tails (D,): the subtracted tail sums at these.
    believed: what Clarabel says the bound is.
    """

    value: float
    which: NDArray[np.intp]
    shares: Array
    u: Array
    coefficients: Array
    tails: Array
    believed: float


class ConePrograms:
    """The programs of all cones of one search, which share their normals s_i.

    directions, normals (D,).
    """

    def __init__(self, problem: TailDifference) -> None:
        import clarabel

        self.problem = problem
        self.directions: list[Array] = []
        self.normals: list[Array] = []
        self._clarabel = clarabel
        self._settings = clarabel.DefaultSettings()
        self._settings.verbose = False
        self._settings.max_threads = 1
        self._settings.tol_gap_abs = self._settings.tol_gap_rel = TOLERANCE
        self._settings.tol_feas = TOLERANCE
        self._nothing = sp.csc_matrix((problem.dimensions + 1, problem.dimensions + 1))

    def normal(self, z: Array) -> int:
        """Number of the normal at a direction, which is kept."""
        self.directions.append(z)
        self.normals.append(support_vector(self.problem, z))
        return len(self.normals) - 1

    def bounded(
        self, cone: Array, inherited: NDArray[np.intp], target: float
    ) -> tuple[Bounded, list[Array]]:
        """The bound of a cone, and the directions of its minimisers, the last one first.

        cone (D, D): generators in columns, exact.
        inherited: normals to begin with.
        target: bounds from here on close a cone.
        """
        lengths = np.linalg.norm(cone, axis=0)
        unit = cone / lengths
        tails = largest_sum(self.problem, unit)
        which = list(inherited) or [self.normal(unit.sum(axis=1))]
        met: list[Array] = []
        best: Bounded | None = None
        value = -np.inf
        for _ in range(ROUNDS):
            solved = self._solve(unit, tails, np.array([self.normals[k] for k in which]))
            if solved is None:
                break
            value, t, tau, shares, u = solved
            z = unit @ t
            met.insert(0, z)
            if value >= target:
                best = self._proven(cone, unit, which, shares, u, t, tails, value)
                if best.value >= target:
                    break
            new = self.normal(z)
            lacks = -float(self.normals[new] @ z) - tau
            if lacks <= CLOSER * abs(value - target):
                break
            which = [k for k, share in zip(which, shares, strict=True) if share > SPARE] + [new]
        if solved is None:
            shares, u, t = np.eye(len(which))[-1], np.zeros(len(unit)), np.ones(len(unit))
        elif len(shares) < len(which):
            shares = np.append(shares, np.zeros(len(which) - len(shares)))
        if best is None or best.value < target:
            best = self._proven(cone, unit, which[: len(shares)], shares, u, t, tails, value)
        return best, met

    def _solve(
        self, unit: Array, tails: Array, normals: Array
    ) -> tuple[float, Array, float, Array, Array] | None:
        """Value, t, tau, shares of the normals and u; None where Clarabel gives up."""
        clarabel, ball, width = self._clarabel, self.problem.in_ball, len(unit)
        count, rest = len(normals), width - self.problem.in_ball
        G = np.zeros((count + width + 2 * rest + 1 + ball, width + 1))
        h = np.zeros(len(G))
        G[:count, :width] = -(normals @ unit)
        G[:count, width] = -1
        G[count : count + width, :width] = -np.eye(width)
        at = count + width
        G[at : at + rest, :width], G[at + rest : at + 2 * rest, :width] = unit[ball:], -unit[ball:]
        h[at : at + 2 * rest] = self.problem.box
        at += 2 * rest
        h[at] = 1
        G[at + 1 :, :width] = -unit[:ball]
        cones = [clarabel.NonnegativeConeT(at), clarabel.SecondOrderConeT(ball + 1)]
        found: Any = clarabel.DefaultSolver(
            self._nothing, np.append(-tails, 1.0), _columns(G), h, cones, self._settings
        ).solve()
        x, y = np.array(found.x), np.array(found.z)
        # Whatever its status: what the multipliers are worth is computed.
        if not (np.isfinite(x).all() and np.isfinite(y).all() and (y[:count] > 0).any()):
            return None
        upper, lower = y[at - 2 * rest : at - rest], y[at - rest : at]
        u = np.append(-y[at + 1 :], lower - upper)
        shares = np.maximum(y[:count], 0.0)
        return float(found.obj_val), np.maximum(x[:width], 0.0), float(x[width]), shares, u

    def _proven(
        self, cone: Array, unit: Array, which: list[int], shares: Array, u: Array, t: Array,
        tails: Array, believed: float,
    ) -> Bounded:  # fmt: skip
        """What multipliers prove, u moved by as little as roundings ask for."""
        kept = shares > SPARE * shares.sum()
        picked, shares = np.array(which)[kept], shares[kept] / shares[kept].sum()
        normals = np.array([self.normals[k] for k in picked])
        s = shares @ normals / float(shares.sum())
        value = -np.inf
        if not (missing(self.problem, cone, s, np.zeros_like(u), len(shares)) > 0).any():
            return Bounded(0.0, picked, shares, np.zeros_like(u), t, tails, believed)
        if not self.problem.box:
            u = self._least(unit, tails + unit.T @ s)
        for _ in range(REPAIRS):
            lacking = np.maximum(missing(self.problem, cone, s, u, len(shares)), 0.0)
            if not lacking.any():
                value = leaf_value(self.problem, cone, normals, shares, u)
                break
            more = 2 * lacking / np.linalg.norm(cone, axis=0)
            u = u + self._least(unit, more)
        return Bounded(value, picked, shares, u, t, tails, believed)

    def _least(self, unit: Array, h: Array) -> Array:
        """The shortest u with V'u >= h, the coordinates outside of the ball times B."""
        weights = np.ones((len(unit), 1))
        if self.problem.box:
            weights[self.problem.in_ball :] = 1 / self.problem.box
        # Least distance programming (Lawson & Hanson 1974, chapter 23).
        top = float(h.max())
        if top <= 0:
            return np.zeros(len(unit))
        residual = np.vstack([unit * weights, h / top])
        multipliers, _ = nnls(residual, np.append(np.zeros(len(unit)), 1.0))
        left = residual @ multipliers
        left[-1] -= 1
        return np.asarray(-left[:-1] / left[-1] * weights[:, 0] * top)


def _columns(G: Array) -> sp.csc_matrix:
    """A dense matrix as a sparse one, all entries kept: quicker than to look for zeros."""
    height, width = G.shape
    rows = np.tile(np.arange(height, dtype=np.int32), width)
    starts = np.arange(0, height * width + 1, height, dtype=np.int32)
    return sp.csc_matrix((G.ravel(order="F"), rows, starts), shape=G.shape)
