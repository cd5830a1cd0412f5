"""Figure 3: corners, concavity cuts and facial cuts of real runs, until no face remains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightmargin.cuts.cut.cut import Kind
from tightmargin.cuts.generation.verification import verify_cut
from tightmargin.cuts.nu_path.row import judgement_at
from tightmargin.cuts.outer_loop.cutting_plane import cutting_plane
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult, Round
from tightmargin.experiments.data.public_data import files_of
from tightmargin.experiments.data.specs import load
from tightmargin.experiments.plots.cutting_planes import cut_figure
from tightmargin.experiments.plots.plane_polygons import corners_of
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table
from tightmargin.experiments.reproduce.framework.registry import Effort, reproduction
from tightmargin.experiments.reproduce.framework.report import PaperClaim, Report
from tightmargin.experiments.reproduce.framework.runs import run_tasks
from tightmargin.experiments.reproduce.takeda_sugiyama.machines import LIVER_NOTE, NO_NUMBERS, PAPER
from tightmargin.experiments.reproduce.takeda_sugiyama.outer_loop_runs import (
    faces_left,
    kept,
    rebuilt,
)
from tightmargin.formulations.data.normalisation import normalise
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.solvers.engines.running import StopReason
from tightmargin.solvers.nu.nu_range import nu_range

NAME = "takeda-sugiyama-figure3"
SHARE = 0.5  # of nu_bar
STRATEGIES = ("literal", "concavity")
EXACT = "exact rational bound"
OPTIMA = 2e-6  # relative: two optima, each proven to half of it

Run = tuple[Mapping[str, Any], CuttingPlaneResult]


@dataclass(frozen=True)
class DataSet:
    """Points whose run is looked at; every feature with mean 0 and deviation 1."""

    spec: str
    words: str


WDBC = "sklearn:breast_cancer,features=0+1"
DATA_SETS = {
    "14": DataSet(f"{WDBC},n=14,stratify,seed=3", "breast cancer, 14 points"),
    "60": DataSet(f"{WDBC},n=60,stratify,seed=0", "breast cancer, 60 points"),
    "569": DataSet(WDBC, "breast cancer, 569 points"),
    "liver": DataSet("uci:liver_disorders,features=2+5", "liver disorders, 345 points"),
    "100-3": DataSet(f"{WDBC}+4,n=100,stratify,seed=0", "breast cancer, 100 points, 3 features"),
}
DRAWN, QUICK = "14", ("14", "60")
KEYS = (Column("cut", "cut"),)
COLUMNS = (
    Column("1/|v|", r"$1/\|v\|$", ".6f"), Column("best", "best", ".6f"),
    Column("bound", "bound", ".6f"),
    Column("depth", "depth", ".2e"), Column("corners", "corners", ".0f"),
    Column("sides", "sides", ".0f"), Column("LPs", "LPs", ".0f"),
)  # fmt: skip
RUN_KEYS = (Column("data", "data"), Column("strategy", "strategy"))
RUN_COLUMNS = (
    Column("nu", r"$\nu$", ".4f"), Column("corners", "corners", ".0f"),
    Column("at corners", "at corners", ".0f"), Column("other", "other vertices", ".0f"),
    Column("facial", "facial", ".0f"), Column("LPs", "LPs", ".0f"),
    Column("found at", "found at", ".0f"), Column("best", "best", ".6f"),
)  # fmt: skip
NOTES = (
    NO_NUMBERS,
    "breast cancer: mean radius and mean texture, mean smoothness as the third feature; nu is "
    f"{SHARE:g} nu_bar; features have mean 0 and deviation 1",
    "as printed Algorithm 10 adds cuts to a program normalised by <w_ref, w> = 1, where they mean "
    "nothing: here all is in the polytope P = {w : h(w) <= 1}, h the objective of (3) for a given "
    "w, whose longest corner is the optimum. Step 2 may also end at a vertex that only cuts make, "
    "where the paper has no cut: a concavity cut is taken there ('cut vertex'), and so where a "
    "facial cut would be too shallow or finds no corner left",
    "corners, sides: of P, not yet removed when the round is over; 1/|v|: value of the linear "
    "program at the local solution v, for norm 1; best, bound: the least objective so far, and "
    "what was proven below it by then, which says little until nothing is left ('end'); found at: "
    "how many cuts there were when the optimum was first known, 0 for the searches before the "
    "first cut",
    "the proof that nothing is left is a linear program's multipliers in exact rational "
    "arithmetic; the depths of facial cuts are those of linear programs in floating point, and "
    "every cut is derived again without the run",
)

Numbers = dict[str, Any]


def points(name: str) -> TrainingData:
    """Points of an instance."""
    return normalise(load(DATA_SETS[name].spec), "zscore")[0]


def cut_run(name: str, strategy: str) -> Numbers:
    """One run of the outer loop, in plain values, with its cuts derived again.

    Raises KeyboardInterrupt: Ctrl-C came.
    """
    data = points(name)
    nu = SHARE * nu_range(data).nu_bar
    result = cutting_plane(data, nu=nu, strategy=strategy)
    if result.stop is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    for cut in result.cuts:
        verify_cut(cut, result.problem, result.cuts)
    facts: Numbers = {"data": name, "strategy": strategy, "d": data.d}
    if data.d == 2:
        corners = corners_of(result.problem.hulls)
        longest = float(np.linalg.norm(corners, axis=1).max())
        facts |= {"corners": len(corners), "longest": longest}
        facts["left"] = [list(pair) for pair in faces_left(result, corners)]
    return facts | {"run": kept(result)}


@reproduction(
    NAME,
    "corners and cuts of real runs in the plane, until no face remains",
    source=f"{PAPER}, Figure 3",
    quick="two of the five data sets",
)
def run(effort: Effort) -> Report:
    """Every run; the rounds of the one that is drawn."""
    names = QUICK if effort.quick else tuple(DATA_SETS)
    for name in names:
        points(name)
    tasks = [(name, strategy) for name in names for strategy in STRATEGIES]
    reads = files_of(DATA_SETS[name].spec for name in names)
    done = run_tasks(cut_run, tasks, effort, reads=reads)
    runs = [(one, rebuilt(points(one["data"]), one["run"])) for one in done.results]
    tables = [Table(f"{NAME}-runs", "all runs", RUN_KEYS, RUN_COLUMNS, tuple(map(_run_row, runs)))]
    figure = None
    for one, result in runs:
        if (one["data"], one["strategy"]) == (DRAWN, "literal"):
            title = f"rounds of {DATA_SETS[DRAWN].words}, Algorithm 10 as printed"
            tables.insert(0, Table(NAME, title, KEYS, COLUMNS, tuple(_rounds(one, result))))
            figure = cut_figure(result, f"{DATA_SETS[DRAWN].words}, nu = {result.problem.nu:.4f}")
    return Report(
        NAME, f"{PAPER}, Figure 3", tuple(tables),
        claims=tuple(claims(runs, {name: DATA_SETS[name].words for name in names})),
        notes=(*NOTES, *((LIVER_NOTE,) if "liver" in names else ())), figure=figure,
        unfinished=done.unfinished(len(tasks), "runs"),
    )  # fmt: skip


def _rounds(one: Numbers, result: CuttingPlaneResult) -> list[Row]:
    """One row for each cut with what was proven by then, and one for the end of the run."""
    states = after_each_cut(result.trace)
    found = []
    for number, (cut, state) in enumerate(zip(result.cuts, states, strict=True), start=1):
        corners, sides = one["left"][number - 1]
        cells = {
            "1/|v|": Cell(state.upper / state.length), "best": Cell(state.upper),
            "bound": Cell(state.lower), "depth": Cell(cut.origin.depth),
            "LPs": Cell(state.lp_solves), "corners": Cell(corners), "sides": Cell(sides),
        }  # fmt: skip
        word = "facial" if cut.kind is Kind.FACIAL else "corner"
        word = "cut vertex" if cut.kind is Kind.CONCAVITY and cut.origin.parents else word
        gap = (state.upper - state.lower) / state.upper
        found.append(Row((f"{number}, {word}",), cells, gap))
    cells = {
        "best": Cell(result.best.objective), "bound": Cell(result.bound),
        "LPs": Cell(result.lp_solves),
    }  # fmt: skip
    return [*found, _row_of(("end",), cells, result)]


def after_each_cut(rounds: Sequence[Round]) -> list[Round]:
    """The first state that counts each cut; a run notes one more when it ends."""
    seen: dict[int, Round] = {}
    for state in rounds:
        seen.setdefault(state.round, state)
    return [seen[number] for number in sorted(seen) if number]


def _run_row(pair: tuple[Numbers, CuttingPlaneResult]) -> Row:
    one, result = pair
    facial = sum(cut.kind is Kind.FACIAL for cut in result.cuts)
    last = result.trace[-1]
    cells = {
        "nu": Cell(result.problem.nu), "best": Cell(result.best.objective),
        "at corners": Cell(last.at_corners), "facial": Cell(facial),
        "other": Cell(len(result.cuts) - last.at_corners - facial), "LPs": Cell(result.lp_solves),
        "found at": Cell(found_at(result)),
    }  # fmt: skip
    cells |= {"corners": Cell(one["corners"])} if "corners" in one else {}
    key = (DATA_SETS[one["data"]].words, one["strategy"])
    return _row_of(key, cells, result)


def found_at(result: CuttingPlaneResult) -> int:
    """How many cuts there were when the best point was first known."""
    best = result.best.objective * (1 + result.tolerance)
    return next(state.round for state in result.trace if state.upper <= best)


def _row_of(key: tuple[str, ...], cells: dict[str, Cell], result: CuttingPlaneResult) -> Row:
    problem, best = result.problem, result.best.weight
    judgement = judgement_at(
        problem.data, problem.nu, problem.class_balance, problem.intercept, best,
        Lemma(result.bound, result.proof, {"the loop ended with its proof": result.proven}),
    )  # fmt: skip
    return Row.of_runs(key, cells, [max(0.0, result.gap)], [judgement.verdict])


# --- what section 4.2.2 says of Algorithm 10 ------------------------------------------------------


def claims(runs: Sequence[Run], words: Mapping[str, str]) -> list[PaperClaim]:
    """Every statement about all runs."""
    plane = [run for run in runs if run[0]["d"] == 2]
    return [_nothing_left(runs), _no_face(plane), _one_face(plane), _longest(plane),
            *_strategies(runs, words)]  # fmt: skip


def _nothing_left(runs: Sequence[Run]) -> PaperClaim:
    exact = sum(result.proven and result.proof.startswith(EXACT) for _, result in runs)
    cuts = sum(len(result.cuts) for _, result in runs)
    return PaperClaim(
        f"that the {cuts} cuts leave nothing of P is proven in exact arithmetic in {exact} of "
        f"{len(runs)} runs",
        exact == len(runs),
    )


def _no_face(plane: Sequence[Run]) -> PaperClaim:
    none = sum(one["left"][-1] == [0, 0] for one, _ in plane)
    text = "step 6: in the plane no corner and no side of P remains at the end of "
    return PaperClaim(f"{text}{none} of {len(plane)} runs", none == len(plane))


def _one_face(plane: Sequence[Run]) -> PaperClaim:
    """A cut at a vertex that only cuts make need not remove any face of P."""
    at_faces = removing = others = 0
    for one, result in plane:
        before = [2 * one["corners"], *(sum(pair) for pair in one["left"])]
        for number, cut in enumerate(result.cuts):
            if cut.kind is Kind.CONCAVITY and cut.origin.parents:
                others += 1
                continue
            at_faces += 1
            removing += before[number + 1] < before[number]
    return PaperClaim(
        f"a cut at a corner or of a side removes at least one face of P: {removing} of {at_faces} "
        f"in the plane; {others} more cuts are at vertices that only cuts make, which the paper "
        "does not foresee",
        removing == at_faces,
    )


def _longest(plane: Sequence[Run]) -> PaperClaim:
    off = max(abs(result.best.objective * one["longest"] - 1) for one, result in plane)
    count = sum({one["data"]: one["corners"] for one, _ in plane}.values())
    text = f"step 7: the best local solution is the longest of all {count} corners of P, which are "
    return PaperClaim(f"{text}enumerated, to {off:.1e}", off <= OPTIMA)


def _strategies(runs: Sequence[Run], words: Mapping[str, str]) -> list[PaperClaim]:
    """Both strategies on one data set: the same optimum, and how many linear programs it took."""
    pairs: dict[str, dict[str, CuttingPlaneResult]] = {}
    for one, result in runs:
        pairs.setdefault(one["data"], {})[one["strategy"]] = result
    both = {name: pair for name, pair in pairs.items() if len(pair) == 2}
    if not both:
        return []
    off = max(
        abs(pair["literal"].best.objective / pair["concavity"].best.objective - 1)
        for pair in both.values()
    )
    times = {
        words[name]: pair["literal"].lp_solves / pair["concavity"].lp_solves
        for name, pair in both.items()
    }
    told = ", ".join(f"{name} {ratio:.1f}" for name, ratio in times.items())
    return [
        PaperClaim(
            f"with facial cuts and without the optimum is the same to {off:.1e}", off <= OPTIMA
        ),
        PaperClaim(
            f"facial cuts do not pay: with them a run takes more linear programs ({told} times)",
            min(times.values()) > 1,
        ),
    ]
