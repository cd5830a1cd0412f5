"""Faces of P that the cuts leave, found by a sequence of linear programs.

A face is named by what its points of the data do: used in full (tail), tied, or not used. Lifted
into Q that reads margin i = 0 for tail and ties, xi i = 0 for ties and the unused, and level = 1. A
face is extreme when the cuts leave some of it and nothing of any smaller face (Majthay & Whinston,
Quasi-concave minimization subject to linear constraints, 1974).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.relaxation.relaxation import Relaxation
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.polytope import labels, ties_at

DEPENDENT = 1e-9  # relative: singular values below it are 0
VANISHES = 1e-8  # relative to the largest score: a slack below it is 0


@dataclass(frozen=True, eq=False)
class Face:
    """A face of P through a weight.

    weight (k,): a point of it, in the relative interior as far as the labels tell.
    labels (n,): -1 in the tail, 0 tied, +1 not used.
    normal (k,): a point ubar in the relative interior of the face of U that belongs to it: <ubar,
        w> <= 1 on P, with equality on the face alone.
    dimension: 0 for a corner.
    """

    weight: Array
    labels: NDArray[np.int8]
    normal: Array
    dimension: int

    @property
    def corner(self) -> bool:
        """Whether it is a corner."""
        return self.dimension == 0

    def key(self) -> bytes:
        """What tells faces apart."""
        return self.labels.tobytes()


def face_through(problem: PolarProblem, weight: Array) -> Face:
    """The smallest face of P that holds a weight (k,) with h = 1."""
    hulls = problem.hulls
    ties = ties_at(hulls, weight)
    normal = np.zeros(hulls.k)
    for group in ties:
        normal -= hulls.caps[group.tail] @ hulls.signed[group.tail]
        caps = hulls.caps[group.tied]
        if len(caps):
            normal -= (caps * (group.left / float(caps.sum()))) @ hulls.signed[group.tied]
    apart = [hulls.signed[group.tied[1:]] - hulls.signed[group.tied[:1]] for group in ties]
    pinned = _rank(np.vstack(apart))  # dimension of the face of U, where points may be equal
    return Face(weight, labels(hulls, ties), normal, max(hulls.k - 1 - pinned, 0))


def _rank(rows: Array) -> int:
    """Number of independent rows (m, k), of any lengths."""
    largest = float(np.abs(rows).max(initial=0.0))
    return int(np.linalg.matrix_rank(rows / largest, tol=DEPENDENT)) if largest > 0 else 0


class FaceProgram:
    """Linear programs over faces of Q with the cuts; a live program of its own."""

    def __init__(self, relaxation: Relaxation) -> None:
        self.relaxation = relaxation
        self.problem = relaxation.problem
        self._names = {
            name: [component[i] for i in component]
            for name, component in (
                ("margin", relaxation.model.margin), ("xi", relaxation.model.xi),
            )
        }  # fmt: skip
        self._fixed: list[tuple[str, int]] = []

    def hold(self, margins: Array, slacks: Array, level: bool = False) -> None:
        """Hold margins and slacks of some points at 0, and the level at 1; release the others."""
        wanted = [("margin", int(i)) for i in margins] + [("xi", int(i)) for i in slacks]
        for name, i in set(self._fixed) - set(wanted):
            self._set(name, i, None)
        for name, i in set(wanted) - set(self._fixed):
            self._set(name, i, 0.0)
        self._fixed = wanted
        self.relaxation.live.change_sides("level", 1.0 if level else None, 1.0)

    def _set(self, name: str, i: int, upper: float | None) -> None:
        if name == "margin":
            self.relaxation.live.change_sides(self._names[name][i], 0.0, upper)
        else:
            self.relaxation.live.change_bounds(self._names[name][i], 0.0, upper)

    def least_slack(self, name: str, i: int) -> tuple[float, Array] | None:
        """The least margin i or xi i, and the weight where it is; None where nothing is held."""
        live, hulls = self.relaxation.live, self.problem.hulls
        costs: list[tuple[Any, Any]] = [(self._names["xi"][i], 1.0)]
        if name == "margin":
            costs += [("w", hulls.signed[i] / self.relaxation.unit), ("rho", -1.0)]
            costs += [("b", float(hulls.y[i]))] if hulls.free else []
        for variable, cost in costs:
            live.change_cost(variable, cost)
        try:
            answer = self.relaxation.resolve()
        finally:
            for variable, cost in costs:
                live.change_cost(variable, np.zeros_like(cost))
        if answer is None or answer.objective is None:
            return None
        return float(answer.objective), answer["w"] / self.relaxation.unit

    def longest(self, direction: Array) -> float | None:
        """The largest <direction, w> over what is held; None where that is nothing."""
        try:
            found = self.relaxation.longest(direction)
        finally:
            self.relaxation.live.change_cost("w", np.zeros(len(direction)))
        return None if found is None else float(direction @ found.weight)


def extreme_face(program: FaceProgram, weight: Array) -> Face:
    """An extreme face in the face through a weight: a corner of P that is left, or a proper face.

    One linear program for each point that is not tied: where its margin (not used) or its slack
    (in the tail) can vanish on what is left of the face, the search moves on to that smaller face.
    """
    problem = program.problem
    face = face_through(problem, weight)
    seen = {face.key()}
    while not face.corner:
        tail, unused = (np.flatnonzero(face.labels == mark) for mark in (-1, 1))
        tied = np.flatnonzero(face.labels == 0)
        program.hold(np.r_[tail, tied], np.r_[unused, tied], level=True)
        smaller = None
        size = float(np.abs(problem.hulls.signed @ face.weight).max())
        for name, members in (("margin", unused), ("xi", tail)):
            for i in members.tolist():
                found = program.least_slack(name, i)
                if found is not None and found[0] <= VANISHES * size:
                    candidate = face_through(problem, problem.onto_boundary(found[1]))
                    if candidate.key() not in seen:
                        smaller = candidate
                        break
            if smaller is not None:
                break
        if smaller is None:
            break
        face = smaller
        seen.add(face.key())
    program.hold(np.zeros(0), np.zeros(0))
    return face
