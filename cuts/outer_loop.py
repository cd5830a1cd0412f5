"""The outer loop of Takeda & Sugiyama's Algorithm 10, on the polytope where cuts are meaningful.

Each round looks for a local solution, the longest weight along itself on what the cuts have left
of P, and cuts it off; when the linear relaxation has no point left, nothing is longer than gamma
and the best point is optimal. As printed the algorithm leaves open what is done at a vertex that
only cuts make, adds inhomogeneous cuts to a program normalised by <w_ref, w> = 1, and ends when "no
face remains", for which it has no test; see cuts/relaxation.py and cuts/facial.py.

    strategy "concavity"   a concavity cut at every vertex
    strategy "literal"     concavity cuts at corners of P, facial cuts at its proper faces, and a
                           concavity cut wherever no facial cut can be had
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import current_thread, main_thread
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cuts.concavity import concavity_cut
from cuts.cut import Cut, InvalidCutError, Kind
from cuts.cutting_plane_result import CuttingPlaneResult
from cuts.endings import Incumbent, StopError, StopReason
from cuts.faces import FaceProgram, extreme_face, face_through
from cuts.facial import facial_cut
from cuts.lifted import LiftedRows, lifted_cut, tight_basis
from cuts.polar import PolarProblem, polar_problem
from cuts.pool import Pool
from cuts.relaxation import (
    COLD,
    Found,
    InterruptedLoopError,
    LostNumbersError,
    Relaxation,
    TimeIsUpError,
)
from cuts.trace import Round, Trace
from formulations.data import TrainingData
from formulations.parameters import one_of
from formulations.proven_slope import proven_slope
from formulations.support_function import support_value
from solvers.limits import checked_limits

Array = NDArray[np.float64]

STRATEGIES = ("concavity", "literal")
SPACES = ("projected", "lifted")
SAME_LENGTH = 1e-12
LOCAL_STEPS = 200
TRIES = 5  # vertices that may fail to give a cut, one after the other
BOUND_EVERY = 10  # rounds
PRUNE_EVERY = 50
NEVER = "below nu_bar the objective is never negative"
ZERO = 1e-13  # of the largest signed point: an objective below it, by sorting, is rounding
BOX = "proven bounds on a box that holds every weight the cuts leave"
REMOVED = 1e-12  # relative: a cut violated by less at its vertex does not remove it
KEPT = 1e-7  # relative: a known point may violate a cut by so much


def cutting_plane(
    data: TrainingData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
    strategy: str = "concavity",
    space: str = "projected",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    round_limit: int = 100_000,
    starts: int = 5,
    least_depth: float = 1e-6,
    seed: int = 0,
    known_point: ArrayLike | None = None,
) -> CuttingPlaneResult:
    """Solve the extended nu-SVC to a proven global optimum by cuts alone.

    Practical for up to three features, and four with few points; what is reached grows
    exponentially beyond.

    Parameters
    ----------
    strategy : "concavity" or "literal"
        See the module's docstring.
    space : "projected" or "lifted"
        Cuts over w, or over (w, b, rho, xi).
    tolerance : float
        Relative: a solution better by less than that may be cut off.
    time_limit : float, optional
        Seconds; the best point and a proven bound are returned all the same, as after Ctrl-C.
    round_limit : int
        Most cuts.
    starts : int
        Local searches before the first cut.
    least_depth : float
        Distance from a vertex to its cut over gamma, or violation there over the size of the row's
        terms: cuts with less of both are refused.
    known_point : array (k,) or (m, k), optional
        Weights whose directions are known, that of an optimum say. Each cut is checked to keep
        those that are better than all cuts so far may lose, and a facial cut to keep any corner.

    Raises
    ------
    ValueError
        As extended_nu_svc_polar: nu at or above nu_bar, dependent features; bad arguments.
    InvalidCutError
        A cut that removes a known point, named with the point.
    """
    one_of("strategy", strategy, STRATEGIES)
    one_of("space", space, SPACES)
    if strategy == "literal" and space == "lifted":
        raise ValueError("strategy=literal has its faces in the projected space: space=projected")
    limits = checked_limits(time_limit, None, seed)
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance must lie between 0 and 1, got {tolerance!r}")
    if not 0 <= least_depth < 1:
        raise ValueError(f"least_depth must lie in [0, 1), got {least_depth!r}")
    if starts < 1 or round_limit < 0:
        raise ValueError("starts must be at least 1, and round_limit not negative")
    problem = polar_problem(data, nu=nu, class_balance=class_balance, intercept=intercept)
    loop = _Loop(
        problem, strategy, space, tolerance, limits.time_limit, round_limit, starts, least_depth,
        seed, _known(problem, known_point),
    )  # fmt: skip
    return loop.run()


def _known(problem: PolarProblem, given: ArrayLike | None) -> list[Array]:
    if given is None:
        return []
    points = np.atleast_2d(np.asarray(given, dtype=np.float64))
    if points.shape[1] != problem.hulls.k or not np.isfinite(points).all():
        raise ValueError(f"known_point must hold {problem.hulls.k} finite numbers each")
    if not points.any(axis=1).all():
        raise ValueError("known_point: a weight of 0 has no direction")
    return [problem.onto_boundary(point) for point in points]


@dataclass(eq=False)
class _Loop:
    """State of one run."""

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
    trace: Trace = field(default_factory=Trace)
    lower: float = -np.inf
    at_corners: int = 0
    asked_to_stop: bool = False

    def run(self) -> CuttingPlaneResult:
        """Cut until something ends it."""
        self.started = time.perf_counter()
        self.rng = np.random.default_rng(self.seed)
        directions = self._directions()
        self._set_up(directions)
        if self.reach is None and self._is_flat():
            self._note(0.0, 0.0)
            return self._result(StopReason.PROVEN, "a weight with objective 0 was found", NEVER)
        with self._listening():
            stop, message, proof = self._until_stopped(directions)
            if stop is StopReason.PROVEN:
                self.lower = max(self.lower, self.value / (1 + self.tolerance))
            else:
                self._final_bound()
                if self.lower * self.gamma >= 1 - SAME_LENGTH:
                    message = f"what the cuts leave is not longer than gamma; {message}"
                    stop, proof = StopReason.PROVEN, BOX
        self._note(0.0, 0.0)
        return self._result(stop, message, proof)

    def _set_up(self, directions: list[Array]) -> None:
        """The best of the first directions, the live programs, and a first bound by sorting."""
        deadline = self.started + (np.inf if self.time_limit is None else self.time_limit)
        values = [self.problem.value(direction) for direction in directions]
        best = directions[int(np.argmin(values))]
        self.best, self.value = best / np.linalg.norm(best), min(values)
        if self.value <= ZERO * self.size:
            self.value = 0.0
        unit = self.value if self.value > 0 else self.size
        form = "primal" if self.space == "lifted" else "auto"
        self.relaxation = Relaxation(self.problem, unit, form, deadline)
        self.pool = Pool(self.relaxation)
        self.faces: FaceProgram | None = None
        if self.strategy == "literal":
            beside = Relaxation(self.problem, unit, "primal", deadline, rebuilds=False)
            self.faces = FaceProgram(beside)
        self.lower = max(0.0, proven_slope(self.problem.hulls, self.best) or 0.0)
        # Longest weight of P and largest value of each variable: for coefficients that are too
        # small to be kept.
        self.reach = 1.0 / self.lower if self.lower > 0 else None
        self.reaches: dict[str, Array] | None = None

    @property
    def size(self) -> float:
        """Length of the largest signed point."""
        return float(np.linalg.norm(self.problem.hulls.signed, axis=1).max())

    def _is_flat(self) -> bool:
        """Whether some weight has objective 0, which nothing is below: then it is the best."""
        if self.value > 0:
            flat = self.relaxation.flat_weight()
            if flat is None or self.problem.value(flat) > ZERO * self.size:
                return False
            self.best, self.value = flat / np.linalg.norm(flat), 0.0
        self.lower = 0.0
        return True

    def _until_stopped(self, directions: list[Array]) -> tuple[StopReason, str, str]:
        """Search locally, then cut; the reason, its words, and the proof if there is one."""
        try:
            if self.reach is None:
                self._bound()
                self.reach = 1.0 / self.lower if self.lower > 0 else None
            if self.reach is not None:
                self.relaxation.most = {"w": np.array(self.reach * self.relaxation.unit)}
                if self.space == "lifted":
                    self.reaches = self.relaxation.reach(self.reach)
            for direction in directions:
                self._record(self._local(direction))
            self._note(0.0, 0.0)
            while True:
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
            self._record(found)
            cut, words = self._cut_at(found)
            if cut is not None:
                self._take(cut, found)
                return
        stalled = words.startswith("shallow")
        raise StopError(StopReason.STALLED if stalled else StopReason.NUMERICAL, words)

    def _cut_at(self, found: Found) -> tuple[Cut | None, str]:
        """A cut that removes a vertex, or why there is none."""
        cut = self._facial(found) if self.strategy == "literal" else None
        if cut is None:
            cut = self._concavity(found)
        if cut is None:
            return None, "no cone could be made out at a vertex within the tolerances"
        # Where P is a needle, distances in units of its length say little, and rows of its width.
        vertex = self._vertex_of(cut, found)
        depth = max(cut.origin.depth, cut.violation(vertex) / cut.size_at(vertex))
        if depth < self.least_depth:
            return None, (
                f"shallow: a cut of depth {depth:.3g} where {self.least_depth:.3g} is asked for, "
                "at each of the last vertices: no progress"
            )
        return cut, ""

    def _concavity(self, found: Found) -> Cut | None:
        if self.space == "projected":
            return concavity_cut(
                self.problem, found.weight, self.gamma, self.pool.active, self.reach
            )
        rows = LiftedRows(
            self.problem, self.relaxation.unit, {cut.name: cut for cut in self.pool.active}
        )
        z = self.relaxation.lifted_point(found)
        basis = tight_basis(rows, z, self.relaxation.used_rows(found, self.pool.active))
        return None if basis is None else lifted_cut(rows, basis, self.gamma, self.reaches)

    def _facial(self, found: Found) -> Cut | None:
        """Algorithm 10's steps 3 and 4; None where a concavity cut at the vertex is due."""
        assert self.faces is not None
        values = self.problem.split(found.weight)
        on_cut = any(
            abs(cut.violation(values)) <= 1e-8 * cut.size_at(values) for cut in self.pool.active
        )
        if not on_cut or support_value(self.problem.hulls, found.weight) < 1 - 1e-8:
            return None
        try:
            return self._facial_at(self.faces, found.weight)
        except LostNumbersError:
            return None  # a face whose programs are lost gets no facial cut

    def _facial_at(self, faces: FaceProgram, weight: Array) -> Cut | None:
        face = extreme_face(faces, weight)
        self._record_weight(face.weight)
        if face.corner:
            cut = concavity_cut(self.problem, face.weight, self.gamma, (), self.reach)
            return cut if cut is not None and cut.origin.depth >= self.least_depth else None
        parents = tuple(cut.number for cut in self.pool.active)
        return facial_cut(faces, face, parents, self.gamma, self.reach)

    def _vertex_of(self, cut: Cut, found: Found) -> dict[str, Array]:
        """Values at the point that a cut must remove."""
        if self.space == "lifted":
            return self.relaxation.values(found)
        return self.problem.point(cut.origin.vertex)

    def _take(self, cut: Cut, found: Found) -> None:
        cut = cut.numbered(len(self.cuts), len(self.cuts))
        vertex = self._vertex_of(cut, found)
        if cut.violation(vertex) <= REMOVED * cut.size_at(vertex):
            raise StopError(
                StopReason.STALLED, f"{cut.name} does not remove its own vertex: no progress"
            )
        self._check_known(cut)
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
        self._note(float(np.linalg.norm(found.weight)) * self.value, cut.origin.depth)

    def _check_known(self, cut: Cut) -> None:
        """Refuse a cut that removes what it must keep; forget known points that it may remove.

        That is whatever is longer than gamma; and facial cuts keep shorter corners as well.
        """
        left = []
        for weight in self.known:
            point, length = self.problem.point(weight), float(np.linalg.norm(weight))
            excess = cut.violation(point)
            if excess <= KEPT * cut.size_at(point):
                left.append(weight)
                continue
            longer = length > self.gamma * (1 + KEPT)
            if longer or (cut.kind is Kind.FACIAL and face_through(self.problem, weight).corner):
                raise InvalidCutError(
                    f"{cut.name} ({cut.origin.space}, round {cut.round}) removes a known point: "
                    f"w = {np.array2string(weight, precision=6)}, of norm {length:.6g} where "
                    f"gamma = {self.gamma:.6g}, violates it by {excess:.3g}"
                )
        self.known = left

    def _nothing_left(self) -> StopError:
        proof = self.relaxation.emptiness(self.pool.active)
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

    @property
    def gamma(self) -> float:
        """Norm up to which weights may be lost."""
        return (1 + self.tolerance) / self.value

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
            if self.asked_to_stop:
                raise InterruptedLoopError
            further = self.relaxation.longest(found.weight)
            if further is None:
                return None
            length, new = (float(np.linalg.norm(f.weight)) for f in (found, further))
            found = further
            if new <= length * (1 + SAME_LENGTH):
                break
        return found

    def _record(self, found: Found | None) -> None:
        if found is not None:
            self._record_weight(found.weight)

    def _record_weight(self, weight: Array) -> None:
        length = float(np.linalg.norm(weight))
        if length > 0:
            value = self.problem.value(weight)
            if value < self.value:
                self.best, self.value = weight / length, value

    # --- bounds --------------------------------------------------------------------------------

    def _bound(self) -> None:
        """Bound what is left by a box along the best weight, from exact bounds of its sides."""
        k = self.problem.hulls.k
        axes = np.linalg.qr(np.column_stack([self.best, np.eye(k)]))[0][:, :k].T
        square = 0.0
        for axis in axes:
            sides = [self.relaxation.proven_length(sign * axis) for sign in (1.0, -1.0)]
            if any(side is None or not np.isfinite(side) for side in sides):
                return  # where nothing seems to be left, the next round asks for the proof
            square += max(0.0, *(side for side in sides if side is not None)) ** 2
        length = max(float(np.sqrt(square)) * (1 + 1e-12), self.gamma)
        self.lower = max(self.lower, 1 / length)

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
        self.trace.add(
            Round(
                round=len(self.cuts),
                upper=self.value,
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

    def _result(self, stop: StopReason, message: str, proof: str) -> CuttingPlaneResult:
        best = Incumbent(self.best, self.value, self.problem.point(self.best))
        return CuttingPlaneResult(
            best, self.lower, self.trace, stop, message, proof, tuple(self.cuts), self.tolerance,
            self.strategy, self.space, self.seed, self._solves(),
            time.perf_counter() - self.started, self.problem,
        )  # fmt: skip

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Have the first Ctrl-C end the loop with its result, and the second as usual."""
        previous = signal.getsignal(signal.SIGINT)
        if current_thread() is not main_thread() or previous in (None, signal.SIG_IGN):
            yield
            return

        def ask(number: int, frame: Any) -> None:
            if self.asked_to_stop:
                raise KeyboardInterrupt
            self.asked_to_stop = True

        signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)
