"""The compare command: gap tables, by default the main study, and tables of several solvers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tightmargin.experiments.cli import options
from tightmargin.experiments.cli.compare_solvers import (
    Question,
    asks_for_several,
    compare_solvers,
    refuse_strange,
)
from tightmargin.experiments.cli.settings import parse_row, parse_settings, refuse_unknown
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.gaps import gap_page
from tightmargin.experiments.console.streams import complain, working
from tightmargin.experiments.console.tables import show
from tightmargin.experiments.gap_study.ladder import RAMP_L1, whole_ladder
from tightmargin.experiments.gap_study.rungs import GapEffort, Rung
from tightmargin.experiments.gap_study.study import (
    EXACT,
    INSTANCES,
    LADDER_INSTANCES,
    RELAXATIONS,
    GapStudy,
    Instance,
    run,
)
from tightmargin.experiments.gap_study.table import to_frame, to_json, to_latex
from tightmargin.experiments.paths.family import Settings
from tightmargin.experiments.plots import save_figure
from tightmargin.experiments.plots.style import SUFFIXES
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.result import was_interrupted

# Exact problems that have a ladder, with the M they take unless it is stated.
USUAL = {rung.formulation: rung for rung in (EXACT, RAMP_L1)}


def compare_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME[:KEY=VALUE,...]]...", help="Relaxations, see list."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="SPEC", help="Data set; see solve --help."),
    ] = None,
    exact: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE,...]", help="The problem they relax [zero_one_big_m]."
        ),
    ] = None,
    ladder: Annotated[
        bool, typer.Option("--ladder", help="The whole ladder of bounds, weakest first.")
    ] = False,
    tighten_time: Annotated[
        float | None,
        typer.Option("--tighten-time", metavar="SECONDS", help="Of --ladder: bound tightening."),
    ] = GapEffort.tighten_time,
    lift_points: Annotated[int | None, typer.Option("--lift-points", hidden=True)] = None,
    include_uncertified: Annotated[
        bool,
        typer.Option("--include-uncertified", help="Gaps of NOT_CERTIFIED rows too; marked."),
    ] = False,
    settings: options.Settings = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Write the table.")] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FILE.tex", help="Write the table.")] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw the gaps: png, pdf or svg.")
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png", help="Of several solvers: draw who solves most how quickly."
        ),
    ] = None,
    label: options.Label = None,
    positive: options.Positive = None,
    weight_column: options.WeightColumn = None,
    class_weight: options.ClassWeights = None,
    solver: Annotated[
        str,
        typer.Option(
            metavar="NAME[,NAME...]",
            help=f"auto, {', '.join(SOLVERS)}; several, or all: do they agree?",
        ),
    ] = "auto",
    time_limit: options.TimeLimit = None,
    seed: options.Seed = None,
    threads: options.Threads = None,
    log: options.Log = False,
    json: options.Json = False,
) -> int:
    """How far relaxations are from the exact optimum; without arguments, the main study.

    The main study takes two documented instances and eight relaxations and needs less than two
    minutes; with --ladder it takes three and goes up to tightened bounds, in some minutes. With
    several solvers, every NAME, which then need not be a relaxation, is solved with each of them,
    and the table tells whether they agree.
    """
    _refuse_gone(lift_points)
    for path, suffixes in (
        (csv, (".csv",)),
        (latex, (".tex",)),
        (plot, SUFFIXES),
        (profile, SUFFIXES),
    ):
        options.writable(path, suffixes)
    if data is not None:
        data = options.weighted_spec(data, weight_column, class_weight)
    elif weight_column or class_weight:
        raise ValueError("weights of points need --data SPEC: the main study has none")
    choice = options.SolverChoice(solver, time_limit, threads, seed, log)
    common = parse_settings(settings or ())
    _refuse_other_pictures(solver, plot, profile, include_uncertified)
    if asks_for_several(solver):
        rungs = _named_rungs(names or [], exact, ladder)
        if data is None:
            raise ValueError("compare needs --data SPEC for several solvers")
        question = Question(rungs, data, common, label, positive, choice)
        return compare_solvers(question, csv, latex, json, profile)
    instances, rungs, target = _plan(
        names or [], data, exact or EXACT.formulation, ladder, common, label, positive
    )
    effort = GapEffort(tighten_time)
    studies, interrupted = _run(instances, rungs, target, choice, effort, include_uncertified)
    if studies:
        _write(studies, csv, latex, plot)
    if json:
        emit("compare", {"studies": [to_json(study) for study in studies]})
        for line in (f"{s.instance.name}: {why}" for s in studies for why in s.left_out):
            complain(line)
    else:
        show(*(gap_page(study) for study in studies))
    if interrupted:
        complain(f"interrupted: {sum(len(study.rungs) for study in studies)} rows are finished")
        return 130
    return _judge(studies)


def _refuse_gone(lift_points: int | None) -> None:
    if lift_points is not None:
        raise ValueError("--lift-points is gone with the level-1 lift: leave it out")


def _refuse_other_pictures(
    solver: str, plot: Path | None, profile: Path | None, include_uncertified: bool
) -> None:
    """Refuse what is about gaps when several solvers are compared, and the other way round."""
    if not asks_for_several(solver):
        if profile is not None:
            raise ValueError("--profile is about several solvers: name them with --solver, or all")
        return
    for given, word in (
        (plot, "--plot draws"),
        (include_uncertified, "--include-uncertified is about"),
    ):
        if given:
            raise ValueError(f"{word} gaps: leave it out, or name one solver")


def _named_rungs(names: Sequence[str], exact: str | None, ladder: bool) -> tuple[Rung, ...]:
    """What is solved with several solvers: what is named, and what the ladder has as it stands."""
    listed = [*names, *([exact] if exact and not (ladder and exact in USUAL) else [])]
    found = [Rung(*parse_row(text)) for text in listed]
    if ladder:
        name = parse_row(exact)[0] if exact else EXACT.formulation
        steps = [rung for rung in whole_ladder({}, name) if rung.need is None]
        found += [*steps, USUAL.get(name, EXACT)]
    if not found:
        raise ValueError("name the formulations that several solvers are to solve, see list")
    return tuple(found)


def _plan(
    names: Sequence[str],
    spec: str | None,
    exact: str,
    ladder: bool,
    settings: Settings,
    label: str | None,
    positive: str | None,
) -> tuple[tuple[Instance, ...], tuple[Rung, ...], Rung]:
    """Instances, relaxations and the exact problem, all names and keys known."""
    given = tuple(Rung(*parse_row(text)) for text in names)
    name, own = parse_row(exact)
    target = Rung(name, own)
    usual = USUAL.get(name)
    if usual and "big_m" not in {**settings, **own} and (ladder or not given):
        target = Rung(name, {**usual.parameters, **own}, usual.label)
    rungs = given
    if ladder:
        rungs += whole_ladder(settings, name)
    elif not given:
        rungs = RELAXATIONS
    refuse_strange((target, *rungs))
    if spec is None:
        if given or settings or label or positive or target != EXACT:
            raise ValueError("compare needs --data SPEC for anything but the main study")
        return LADDER_INSTANCES if ladder else INSTANCES, rungs, target
    if not given and not ladder:
        raise ValueError("name the relaxations to compare, or add --ladder for all we have")
    refuse_unknown(settings, dict.fromkeys(r.formulation for r in (target, *rungs)))
    return (Instance(spec, spec, spec, settings, label, positive),), rungs, target


def _run(
    instances: Sequence[Instance],
    rungs: Sequence[Rung],
    exact: Rung,
    choice: options.SolverChoice,
    effort: GapEffort,
    include_uncertified: bool,
) -> tuple[list[GapStudy], bool]:
    """Studies as far as they are finished, and whether the user stopped them."""
    latest: dict[str, GapStudy] = {}
    with working("loading data", log=choice.log) as progress:
        try:
            for instance in instances:
                for study in run(
                    instance,
                    rungs,
                    exact=exact,
                    solver=choice.solver,
                    progress=progress,
                    effort=effort,
                    include_uncertified=include_uncertified,
                    **choice.limits,
                ):
                    latest[instance.name] = study
                    _stop_if_interrupted(study)
        except KeyboardInterrupt:
            return list(latest.values()), True
    return list(latest.values()), False


def _stop_if_interrupted(study: GapStudy) -> None:
    """Go on where a solver swallowed Ctrl-C and returned as if it had finished."""
    exact, rows = study.comparison.exact, study.comparison.rows
    result = rows[-1].result if rows else exact
    if result is not None and was_interrupted(result):
        raise KeyboardInterrupt


def _write(
    studies: Sequence[GapStudy], csv: Path | None, latex: Path | None, plot: Path | None
) -> None:
    if csv is not None:
        to_frame(studies).to_csv(csv, index=False)
    if latex is not None:
        latex.write_text(to_latex(studies), encoding="utf-8")
    if plot is not None and any(study.rungs for study in studies):
        save_figure(studies, plot)


def _judge(studies: Sequence[GapStudy]) -> int:
    """Exit code: 1 for an impossible order or an uncertified row, else that of the exact solve."""
    codes = []
    for study in studies:
        exact = study.comparison.exact
        assert exact is not None
        codes.append(options.exit_code(exact))
        for line in study.complaints:
            complain(f"{study.instance.name}: {line}")
            codes.append(1)
        for row in study.comparison.rows:
            if row.verdict is Verdict.NOT_CERTIFIED and row.bound is None:
                complain(f"{study.instance.name}: {row.label}: {row.remark}")
                codes.append(1)
            elif row.verdict in (Verdict.WITHIN_TOLERANCE, Verdict.NOT_CERTIFIED):
                why = row.result.certificate.reason
                complain(f"{study.instance.name}: {row.label}: {row.verdict}, {why}")
    return next((code for code in (3, 1, 4) if code in codes), 0)
