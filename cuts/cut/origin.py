"""Where a cut came from: its vertex, the rows that are tight there, and the cone that they make."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.printing import Printed


@dataclass(frozen=True, eq=False, repr=False)
class CutOrigin(Printed):
    """Where a cut came from; all numbers in the coordinates of the cut's own problem.

    problem: fingerprint of the data and parameters.
    space: "projected" (rows over weights) or "lifted" (rows over weights, b, rho and xi).
    vertex (k,): weight at the apex of the cone, or a point in the relative interior of the face.
    rays (m, k): directions of the cone, their weight part when lifted; none for a facial cut.
    theta (m,): how far along each ray a weight of norm gamma is; infinite where the norm never
        grows.
    gamma: every point with a longer weight is kept.
    depth: distance from the vertex to the cut, over gamma; of a facial cut what <ubar, w> <= 1 is
        tightened by.
    rows: names of the rows of the cone, when lifted: "margin 3", "xi 5", "level", "cut 2".
    parents: numbers of the earlier cuts that the derivation uses.
    cone, sides (m, width) (m,): the rows <cone_i, z> <= sides_i that the vertex is on or a rounding
        beyond, and whose cone the cut is derived from: over weights, or when lifted over (weight,
        b, rho, xi) of centred points. Of a facial cut <ubar, w> <= 1.
    shift (d,): what was subtracted from the points, when lifted with a free intercept; else empty.
    """

    problem: str
    space: str
    vertex: Array
    rays: Array
    theta: Array
    gamma: float
    depth: float
    rows: tuple[str, ...] = ()
    parents: tuple[int, ...] = ()
    cone: Array = field(default_factory=lambda: np.zeros((0, 0)))
    sides: Array = field(default_factory=lambda: np.zeros(0))
    shift: Array = field(default_factory=lambda: np.zeros(0))

    def to_json(self) -> dict[str, Any]:
        """Plain dictionary; each row of the cone by its entries that are not 0."""
        entries = [np.flatnonzero(row) for row in self.cone]
        return {
            "problem": self.problem,
            "space": self.space,
            "vertex": self.vertex.tolist(),
            "rays": self.rays.tolist(),
            "theta": [step if math.isfinite(step) else None for step in self.theta.tolist()],
            "gamma": self.gamma,
            "depth": self.depth,
            "rows": list(self.rows),
            "parents": list(self.parents),
            "width": self.cone.shape[1],
            "cone": [
                [at.tolist(), row[at].tolist()] for at, row in zip(entries, self.cone, strict=True)
            ],
            "sides": self.sides.tolist(),
            "shift": self.shift.tolist(),
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> CutOrigin:
        """Read what `to_json` wrote.

        Raises KeyError, TypeError, ValueError, IndexError: missing or malformed entries.
        """
        vertex = np.array(given["vertex"], dtype=np.float64)
        cone = np.zeros((len(given["cone"]), int(given["width"])))
        for row, (at, numbers) in zip(cone, given["cone"], strict=True):
            row[np.array(at, dtype=np.int64)] = numbers
        sides = np.array(given["sides"], dtype=np.float64)
        if sides.shape != (len(cone),) or not np.isfinite([*cone.ravel(), *sides]).all():
            raise ValueError("rows and sides of the cone do not fit, or are not finite")
        return cls(
            problem=str(given["problem"]),
            space=str(given["space"]),
            vertex=vertex,
            rays=np.array(given["rays"], dtype=np.float64).reshape(-1, len(vertex)),
            theta=np.array(
                [math.inf if step is None else step for step in given["theta"]], dtype=np.float64
            ),
            gamma=float(given["gamma"]),
            depth=float(given["depth"]),
            rows=tuple(str(row) for row in given["rows"]),
            parents=tuple(int(number) for number in given["parents"]),
            cone=cone,
            sides=sides,
            shift=np.array(given["shift"], dtype=np.float64),
        )
