"""One run of the outer loop: a vertex found by local search is cut off, until nothing is left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from tightmargin.cuts.cut.cut import Cut, InvalidCutError, Kind
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.generation.separation import BestWeight, VertexCuts
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult, Round
from tightmargin.cuts.relaxation.emptiness import COLD, emptiness
from tightmargin.cuts.relaxation.faces import FaceProgram, face_through
from tightmargin.cuts.relaxation.lifted_points import reach_of
from tightmargin.cuts.relaxation.pool import Pool
from tightmargin.cuts.relaxation.relaxation import (
    Found,
    InterruptedLoopError,
    LostNumbersError,
    Relaxation,
    TimeIsUpError,
)
from tightmargin.cuts.search.result import Incumbent, StopError
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.slope_bound import proven_slope
from tightmargin.solvers.execution.live_line import live_line
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.execution.stop_request import CtrlC

KEPT = 1e-7  # relative: a known point may violate a cut by so much

SAME_LENGTH = 1e-12
LOCAL_STEPS = 200
TRIES = 5  # vertices that may fail to give a cut, one after the other
BOUND_EVERY = 10  # rounds
PRUNE_EVERY = 50
NEVER = "below nu_bar the objective is never negative"
ZERO = 1e-13  # of the largest signed point: an objective below it, by sorting, is rounding
BOX = "proven bounds on a box that holds every weight the cuts leave"
REMOVED = 1e-12  # relative: a cut violated by less at its vertex does not remove it


@dataclass(eq=False)
class LoopRun:
    """One run with its state; the arguments are those of cutting_plane, checked."""

    problem: PolarProblem
    strategy: str
    space: str
    tolerance: float
    time_limit: float | None
    round_limit: int
    starts: int
    least_depth: float
    seed: int
    known: list[Array]
    cuts: list[Cut] = field(default_factory=list)
    trace: list[Round] = field(default_factory=list)
    lower: float = -np.inf
    at_corners: int = 0
    ctrl_c: CtrlC = field(default_factory=CtrlC)

    def result(self) -> CuttingPlaneResult:
        """Cut until something ends it."""
        self.started = time.perf_counter()
        self.rng = np.random.default_rng(self.seed)
        directions = self._directions()
        self._set_up(directions)
        if self.vertices.reach is None and self._is_flat():
            self._note(0.0, 0.0)
            return self._told(StopReason.PROVEN, "a weight with objective 0 was found", NEVER)
        with self.ctrl_c.listening():
            stop, message, proof = self._until_stopped(directions)
            if stop is StopReason.PROVEN:
                self.lower = max(self.lower, self.best.value / (1 + self.tolerance))
            else:
                self._final_bound()
                if self.lower * self.best.gamma >= 1 - SAME_LENGTH:
                    message = f"what the cuts leave is not longer than gamma; {message}"
                    stop, proof = StopReason.PROVEN, BOX
        self._note(0.0, 0.0)
        return self._told(stop, message, proof)

    def _set_up(self, directions: list[Array]) -> None:
        """The best of the first directions, the live programs, and a first bound by sorting."""
        deadline = self.started + (np.inf if self.time_limit is None else self.time_limit)
        values = [self.problem.value(direction) for direction in directions]
        best = directions[int(np.argmin(values))]
        value = min(values)
        if value <= ZERO * self.size:
            value = 0.0
        self.best = BestWeight(self.problem, self.tolerance, best / np.linalg.norm(best), value)
        unit = value if value > 0 else self.size
        form = "primal" if self.space == "lifted" else "auto"
        self.relaxation = Relaxation(self.problem, unit, form, deadline)
        self.pool = Pool(self.relaxation)
        self.faces: FaceProgram | None = None
        if self.strategy == "literal":
            beside = Relaxation(self.problem, unit, "primal", deadline, rebuilds=False)
            self.faces = FaceProgram(beside)
        self.lower = max(0.0, proven_slope(self.problem.hulls, self.best.weight) or 0.0)
        self.vertices = VertexCuts(
            self.problem, self.strategy, self.space, self.least_depth, self.relaxation, self.pool,
            self.faces, self.best, self._longest(),
        )  # fmt: skip

    def _longest(self) -> float | None:
        """Bound on the norm of all of P, as far as the first bound gives one."""
        return 1.0 / self.lower if self.lower > 0 else None

    @property
    def size(self) -> float:
        """Length of the largest signed point."""
        return float(np.linalg.norm(self.problem.hulls.signed, axis=1).max())

    def _is_flat(self) -> bool:
        """Whether some weight has objective 0, which nothing is below: then it is the best."""
        if self.best.value > 0:
            flat = self.relaxation.flat_weight()
            if flat is None or self.problem.value(flat) > ZERO * self.size:
                return False
            self.best.weight, self.best.value = flat / np.linalg.norm(flat), 0.0
        self.lower = 0.0
        return True

    def _measure(self) -> None:
        """Longest weight of P and largest value of each variable, as far as they can be had."""
        if self.vertices.reach is None:
            self._bound()
            self.vertices.reach = self._longest()
        reach = self.vertices.reach
        if reach is not None:
            self.relaxation.most = {"w": np.array(reach * self.relaxation.unit)}
            if self.space == "lifted":
                self.vertices.reaches = reach_of(self.relaxation, reach)

    def _until_stopped(self, directions: list[Array]) -> tuple[StopReason, str, str]:
        """Search locally, then cut; the reason, its words, and the proof if there is one."""
        try:
            self._measure()
            for direction in directions:
                found = self._local(direction)
                if found is not None:
                    self.best.record(found.weight)
            self._note(0.0, 0.0)
            with live_line("cutting planes") as line:
                while True:
                    if line.is_due:
                        line.show(self.lower, self.best.value, f"{len(self.cuts)} cuts")
                    self._round()
        except TimeIsUpError:
            return StopReason.TIME_LIMIT, f"time limit of {self.time_limit:g} s", ""
        except InterruptedLoopError:
            return StopReason.INTERRUPTED, "interrupted by Ctrl-C", ""
        except LostNumbersError as error:
            return StopReason.NUMERICAL, str(error), ""
        except StopError as end:
            return end.reason, end.message, end.proof

    # --- one round -----------------------------------------------------------------------------

    def _round(self) -> None:
        rounds = len(self.cuts)
        if rounds >= self.round_limit:
            raise StopError(StopReason.ROUND_LIMIT, f"round limit of {self.round_limit}")
        if rounds and rounds % PRUNE_EVERY == 0:
            self.pool.prune(rounds)
        words = ""
        for _ in range(TRIES):
            direction = self.rng.standard_normal(self.problem.hulls.k)
            found = self._local(direction)
            if found is None:
                raise self._nothing_left()
            self.best.record(found.weight)
            cut, words = self.vertices.cut_at(found)
            if cut is not None:
                self._take(cut, found)
                return
        stalled = words.startswith("shallow")
        raise StopError(StopReason.STALLED if stalled else StopReason.NUMERICAL, words)

    def _take(self, cut: Cut, found: Found) -> None:
        cut = cut.numbered(len(self.cuts), len(self.cuts))
        vertex = self.vertices.vertex_of(cut, found)
        if cut.violation(vertex) <= REMOVED * cut.size_at(vertex):
            raise StopError(
                StopReason.STALLED, f"{cut.name} does not remove its own vertex: no progress"
            )
        self.known = known_after(self.problem, self.known, cut, self.best.gamma)
        corner = not cut.origin.parents and cut.kind is Kind.CONCAVITY
        if not self.pool.add(cut):
            raise StopError(
                StopReason.STALLED, f"{cut.name} says what an earlier cut says: no progress"
            )
        if self.faces is not None:
            self.faces.relaxation.add(cut)
        self.cuts.append(cut)
        self.at_corners += corner
        if self.space == "projected":
            self.pool.mark_tight(self.problem.split(found.weight), cut.round)
        if len(self.cuts) % BOUND_EVERY == 0:
            self._bound()
        self._note(float(np.linalg.norm(found.weight)) * self.best.value, cut.origin.depth)

    def _nothing_left(self) -> StopError:
        proof = emptiness(self.relaxation, self.pool.active)
        if proof == COLD:
            words = f"{COLD}, and that nothing is left stays the solver's word"
            return StopError(StopReason.NUMERICAL, words)
        if proof:
            words = f"nothing is left after {len(self.cuts)} cuts"
            facial = sum(cut.kind is Kind.FACIAL for cut in self.cuts)
            if facial:
                proof += f"; the depths of {facial} facial cuts are those of linear programs"
            return StopError(StopReason.PROVEN, words, proof)
        return StopError(
            StopReason.NUMERICAL,
            "the relaxation is reported to be empty, which neither a Farkas vector nor a cold "
            "solve confirms",
        )

    # --- points --------------------------------------------------------------------------------

    def _directions(self) -> list[Array]:
        """The difference of the class means where there is one, then random ones."""
        hulls = self.problem.hulls
        mean = sum(hulls.signed[hulls.y == side].mean(axis=0) for side in (1.0, -1.0))
        random = list(self.rng.standard_normal((self.starts, hulls.k)))
        return [mean, *random[1:]] if np.linalg.norm(mean) > 0 else random

    def _local(self, direction: Array) -> Found | None:
        """A vertex that is longest along itself, found from a direction."""
        found = self.relaxation.longest(direction)
        for _ in range(LOCAL_STEPS):
            if found is None or not found.weight.any():
                return found
            if self.ctrl_c.asked:
                raise InterruptedLoopError
            further = self.relaxation.longest(found.weight)
            if further is None:
                return None
            length, new = (float(np.linalg.norm(f.weight)) for f in (found, further))
            found = further
            if new <= length * (1 + SAME_LENGTH):
                break
        return found

    # --- bounds --------------------------------------------------------------------------------

    def _bound(self) -> None:
        """Bound what is left by a box along the best weight, from exact bounds of its sides."""
        length = rest_length(self.relaxation, self.best.weight)
        if length is not None:  # where nothing seems to be left, the next round asks for the proof
            self.lower = max(self.lower, 1 / max(length, self.best.gamma))

    def _final_bound(self) -> None:
        """The same once more, when the loop is ended by a limit."""
        self.relaxation.deadline = np.inf
        try:
            self._bound()
        except (InterruptedLoopError, LostNumbersError):
            return  # what was proven before stands

    # --- telling -------------------------------------------------------------------------------

    def _note(self, length: float, depth: float) -> None:
        facial = sum(cut.kind is Kind.FACIAL for cut in self.cuts)
        self.trace.append(
            Round(
                round=len(self.cuts),
                upper=self.best.value,
                lower=self.lower,
                concavity=len(self.cuts) - facial,
                facial=facial,
                at_corners=self.at_corners,
                length=length,
                depth=depth,
                lp_solves=self._solves(),
                seconds=time.perf_counter() - self.started,
            )
        )

    def _solves(self) -> int:
        beside = 0 if self.faces is None else self.faces.relaxation.solves
        return self.relaxation.solves + beside

    def _told(self, stop: StopReason, message: str, proof: str) -> CuttingPlaneResult:
        weight = self.best.weight
        best = Incumbent(weight, self.best.value, self.problem.point(weight))
        return CuttingPlaneResult(
            best, self.lower, tuple(self.trace), stop, message, proof, tuple(self.cuts),
            self.tolerance, self.strategy, self.space, self.seed, self._solves(),
            time.perf_counter() - self.started, self.problem,
        )  # fmt: skip


def known_after(problem: PolarProblem, known: list[Array], cut: Cut, gamma: float) -> list[Array]:
    """Known points on the boundary of P that a cut leaves; refuse one that removes others.

    What it must keep is whatever is longer than gamma; and facial cuts keep shorter corners as
    well.

    Raises
    ------
    InvalidCutError
        The cut removes a point that it must keep.
    """
    left = []
    for weight in known:
        point, length = problem.point(weight), float(np.linalg.norm(weight))
        excess = cut.violation(point)
        if excess <= KEPT * cut.size_at(point):
            left.append(weight)
            continue
        longer = length > gamma * (1 + KEPT)
        if longer or (cut.kind is Kind.FACIAL and face_through(problem, weight).corner):
            raise InvalidCutError(
                f"{cut.name} ({cut.origin.space}, round {cut.round}) removes a known point: "
                f"w = {np.array2string(weight, precision=6)}, of norm {length:.6g} where "
                f"gamma = {gamma:.6g}, violates it by {excess:.3g}"
            )
    return left


def rest_length(relaxation: Relaxation, axis: Array) -> float | None:
    """Proven bound on ||w|| over a relaxation, from a box with one side along an axis (k,).

    The corner of the box that is farthest from 0 has the norm sqrt(sum_j m_j^2), m_j the larger
    distance of the two sides across axis j. None where a side has no proven bound, or where
    nothing seems to be left.

    Raises
    ------
    TimeIsUpError, InterruptedLoopError, LostNumbersError
        As Relaxation.longest.
    """
    k = len(axis)
    axes = np.linalg.qr(np.column_stack([axis, np.eye(k)]))[0][:, :k].T
    square = 0.0
    for each in axes:
        sides = [relaxation.proven_length(sign * each) for sign in (1.0, -1.0)]
        if any(side is None or not np.isfinite(side) for side in sides):
            return None
        square += max(0.0, *(side for side in sides if side is not None)) ** 2
    return float(np.sqrt(square)) * (1 + 1e-12)
