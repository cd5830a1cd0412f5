"""One run of the outer loop: a vertex found by local search is cut off, until nothing is left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from tightmargin.cuts.cut.cut import Cut, Kind
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.generation.separation import BestWeight, VertexCuts
from tightmargin.cuts.outer_loop.emptiness import emptiness
from tightmargin.cuts.outer_loop.known_points import known_after
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult, Round
from tightmargin.cuts.relaxation.faces import FaceProgram
from tightmargin.cuts.relaxation.lifted_points import reach_of
from tightmargin.cuts.relaxation.pool import Pool
from tightmargin.cuts.relaxation.relaxation import (
    Found,
    InterruptedLoopError,
    LostNumbersError,
    Relaxation,
    TimeIsUpError,
)
from tightmargin.cuts.relaxation.rest_length import rest_length
from tightmargin.cuts.search.result import Incumbent, StopError
from tightmargin.cuts.spatial_branching.branch_and_cut import close_gap
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.polytope import proven_slope
from tightmargin.solvers.engines.running import CtrlC, StopReason, live_line

SAME_LENGTH = 1e-12
LOCAL_STEPS = 200
TRIES = 5  # vertices that may fail to give a cut, one after the other
BOUND_EVERY = 10  # rounds
PRUNE_EVERY = 50
NEVER = "below nu_bar the objective is never negative"
ZERO = 1e-13  # of the largest signed point: an objective below it, by sorting, is rounding
BOX = "proven bounds on a box that holds every weight the cuts leave"
LOST = (StopReason.NUMERICAL, StopReason.STALLED)
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
    no_face_left: Round | None = None
    nodes: int = 0
    beside: int = 0  # linear programs of these nodes
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
        if stop in LOST:
            stop, message, proof = self._branched(message)
        self._note(0.0, 0.0)
        return self._told(stop, message, proof)

    def _branched(self, message: str) -> tuple[StopReason, str, str]:
        """Boxes go on where rounding leaves cuts no way: they need no cone, and no empty rest."""
        found = close_gap(
            self.problem, self.best.weight, tolerance=self.tolerance, absolute=0.0,
            time_limit=self.time_limit, seed=self.seed, began=self.started,
        )  # fmt: skip
        self.best.record(found.best.weight)
        self.lower = max(self.lower, found.bound)
        self.nodes, self.beside = found.steps, found.lp_solves
        proof = found.proof if found.proven else ""
        return found.stop, f"{message}; branch and cut went on: {found.message}", proof

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
            cut, words = self.vertices.cut_at(found, rounds)
            if self.vertices.no_face_left and self.no_face_left is None:
                self.no_face_left = self._state(0.0, 0.0)
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
        if self.strategy == "literal" and self.no_face_left is None:
            self.no_face_left = self._state(0.0, 0.0)  # none is left where nothing is
        proof = emptiness(self.relaxation, self.pool.active, self.best.gamma)
        if not proof:
            words = "a linear program finds nothing left, and no multipliers prove that"
            return StopError(StopReason.NUMERICAL, words)
        words = f"nothing is left after {len(self.cuts)} cuts"
        facial = sum(cut.kind is Kind.FACIAL for cut in self.cuts)
        if facial:
            proof += f"; the depths of {facial} facial cuts are those of linear programs"
        return StopError(StopReason.PROVEN, words, proof)

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
        self.trace.append(self._state(length, depth))

    def _state(self, length: float, depth: float) -> Round:
        facial = sum(cut.kind is Kind.FACIAL for cut in self.cuts)
        return Round(
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

    def _solves(self) -> int:
        of_faces = 0 if self.faces is None else self.faces.relaxation.solves
        return self.relaxation.solves + of_faces + self.beside

    def _told(self, stop: StopReason, message: str, proof: str) -> CuttingPlaneResult:
        weight = self.best.weight
        best = Incumbent(weight, self.best.value, self.problem.point(weight))
        return CuttingPlaneResult(
            best=best,
            bound=self.lower,
            trace=tuple(self.trace),
            stop=stop,
            message=message,
            proof=proof,
            cuts=tuple(self.cuts),
            tolerance=self.tolerance,
            seed=self.seed,
            lp_solves=self._solves(),
            seconds=time.perf_counter() - self.started,
            problem=self.problem,
            strategy=self.strategy,
            space=self.space,
            nodes=self.nodes,
            faces=tuple(self.vertices.seen),
            no_face_left=self.no_face_left,
        )
