"""Runs of the outer loop: as plain values and back again, and what they leave of P in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.cut.polar_problem import polar_problem
from tightmargin.cuts.generation.remaining_faces import FaceSeen
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult, Round
from tightmargin.cuts.search.result import Incumbent
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.engines.running import StopReason

SAME = 1e-9  # relative: a corner that near to a cut is on it, a side that short is none


def kept(result: CuttingPlaneResult) -> dict[str, Any]:
    """Everything of a run but its data."""
    return result.to_json() | {
        "nu": result.problem.nu,
        "weight": result.best.weight.tolist(),
    }


def rebuilt(data: TrainingData, plain: dict[str, Any]) -> CuttingPlaneResult:
    """The run that `kept` wrote, of the same data.

    Raises ValueError: its cuts were made for other data.
    """
    problem = polar_problem(data, nu=plain["nu"])
    cuts = tuple(Cut.from_json(cut) for cut in plain["cuts"])
    if any(cut.origin.problem != problem.fingerprint for cut in cuts):
        raise ValueError(f"the run at nu = {plain['nu']:g} was made for other data")
    values = {name: np.array(part) for name, part in plain["values"].items()}
    faces = tuple(FaceSeen(**{**face, "rows": tuple(face["rows"])}) for face in plain["faces"])
    stopped = plain["no_face_left"]
    same = ("bound", "message", "proof", "tolerance", "strategy", "space", "seed", "lp_solves")
    return CuttingPlaneResult(
        best=Incumbent(np.array(plain["weight"]), plain["objective"], values),
        trace=tuple(Round(**state) for state in plain["trace"]),
        stop=StopReason(plain["stop"]),
        cuts=cuts,
        seconds=plain["seconds"],
        problem=problem,
        nodes=plain["nodes"],
        faces=faces,
        no_face_left=None if stopped is None else Round(**stopped),
        **{name: plain[name] for name in same},
    )


def faces_left(result: CuttingPlaneResult, corners: Array) -> list[tuple[int, int]]:
    """Corners and sides of P of which something is left after each cut.

    result: in the plane, with cuts over weights.
    corners (m, 2): of P, in their order around it.
    Returns: one pair for each cut. A side of which one end alone is left is none.
    """
    ahead = np.roll(corners, -1, axis=0) - corners
    kept = np.ones(len(corners), dtype=bool)
    low, high = np.zeros(len(corners)), np.ones(len(corners))
    found = []
    for cut in result.cuts:
        row = result.problem.weight_part(cut.coefficients)
        room = SAME * (abs(cut.rhs) + float(np.linalg.norm(row) * np.abs(corners).max()))
        excess, slope = corners @ row - cut.rhs, ahead @ row
        kept &= excess <= room
        low, high = _clipped(low, high, excess, slope, room)
        found.append((int(kept.sum()), int((high - low > SAME).sum())))
    return found


def _clipped(
    low: Array, high: Array, excess: Array, slope: Array, room: float
) -> tuple[Array, Array]:
    """Shares [low, high] of each side where excess + share slope <= 0."""
    flat = np.abs(slope) <= room
    crossing = -excess / np.where(flat, 1.0, slope)
    high = np.where(~flat & (slope > 0), np.minimum(high, crossing), high)
    low = np.where(~flat & (slope < 0), np.maximum(low, crossing), low)
    return low, np.where(flat & (excess > room), low, high)
