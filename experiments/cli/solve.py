"""The solve command, and the way from a name and settings to a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pyomo.environ as pyo
import typer

from tightmargin.experiments.cli import options
from tightmargin.experiments.cli.settings import (
    parse_settings,
    refuse_unknown,
    split_preprocessing,
)
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.result import result_page
from tightmargin.experiments.console.streams import complain, working
from tightmargin.experiments.console.tables import show
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.data.readers import existing
from tightmargin.experiments.estimators.fitted import fitted
from tightmargin.experiments.paths.family import Settings
from tightmargin.experiments.plots.bounds import bound_trace, save_bounds
from tightmargin.experiments.plots.machine import refuse_undrawable, save_machine
from tightmargin.experiments.plots.style import SUFFIXES
from tightmargin.formulations.catalogue import CATALOGUE, entry_named
from tightmargin.solvers.engines.running import SHORTEST, ends_within, limit_left
from tightmargin.solvers.isolated import solve_isolated
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.registry import AUTO, SCHEDULER, WORKERS, build, methods, refuse_method
from tightmargin.solvers.result import SolveResult, refuse_bad_path, was_interrupted
from tightmargin.solvers.result_proof import NO_FILE
from tightmargin.solvers.solve import solve


def _methods() -> str:
    """What --method takes, for --help."""
    said = {m.name: f"{m.name} ({', '.join(m.entries)}): {m.title}" for m in methods()}
    said.pop(AUTO, None)
    return "; ".join((
        "auto (by default) takes the method that was measured to be best, and says so; direct "
        "sends the whole model to a solver",
        *said.values(),
    ))  # fmt: skip


METHODS = _methods()


def solve_command(
    name: options.Name,
    data: options.Spec,
    settings: options.Settings = None,
    method: Annotated[str, typer.Option(metavar="M", help=METHODS)] = AUTO,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Save for certify and predict.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw the machine over two features: png, pdf, svg."),
    ] = None,
    plot_bounds: Annotated[
        Path | None,
        typer.Option(
            "--plot-bounds", metavar="FILE.png", help="Draw bound and best point over time."
        ),
    ] = None,
    proof: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json.gz",
            help="Write the proof for check: of an optimum, or of what a limit leaves.",
        ),
    ] = None,
    label: options.Label = None,
    positive: options.Positive = None,
    weight_column: options.WeightColumn = None,
    class_weight: options.ClassWeights = None,
    solver: options.Solver = "auto",
    second_solver: options.SecondSolver = None,
    option: options.SolverOptions = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes that share a search over kept points."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Of dask's scheduler, whose workers share it."),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="A saved result to start from."),
    ] = None,
    time_limit: options.TimeLimit = None,
    seed: options.Seed = None,
    threads: options.Threads = None,
    log: options.Log = False,
    absolute_gap: options.AbsoluteGap = 0.0,
    prove: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="For the proof of what a solver merely claims; 0 for none.",
            show_default="until it is proven",
        ),
    ] = None,
    isolate: options.Isolate = False,
    json: options.Json = False,
) -> int:
    """Solve one formulation on data and print the result with its certificate."""
    data = options.weighted_spec(data, weight_column, class_weight)
    options.writable(out, (".json",))
    refuse_bad_path(proof)
    for picture in (plot, plot_bounds):
        options.writable(picture, SUFFIXES)
    found = parse_settings(settings or ())
    named = solver != AUTO or second_solver is not None
    refuse_method(method, entry_named(name).name, solver=named)
    own = options.solver_options(option or (), solver, method)
    own |= {word: to for word, to in ((WORKERS, workers), (SCHEDULER, scheduler)) if to is not None}
    first = None if start is None else SolveResult.load(existing(str(start)))
    choice = options.SolverChoice(solver, time_limit, threads, seed, log, absolute_gap)
    with working(f"solving {name}", log=log), ends_within(time_limit):
        prepared, model = prepared_model(name, data, label, positive, found)
        if plot is not None:
            refuse_undrawable(name, prepared)
        run = solve_isolated if isolate else solve
        words = {
            "second_solver": second_solver,
            "method": method,
            "proof": proof,
            "prove": False if prove == 0 else prove,
            "options": own or None,
            "warm_start": first,
            **choice.limits,
        }
        if isolate and time_limit is not None:
            words["time_limit"] = max(limit_left() or 0.0, SHORTEST)
        result = replace(run(model, choice.solver, **words), time_limit=time_limit)
        result = options.recorded(result, prepared, label, positive)
        if out is not None:
            result.save(out)
    if json:
        emit("solve", result.to_json())
    else:
        show(result_page(result))
    explain(result, out)
    if proof is not None and NO_FILE in result.message:
        complain(f"{result.formulation}: {result.message[result.message.index(NO_FILE) :]}")
    title = f"{name} on {data}"
    if plot is not None and result.values and not result.ray:
        save_machine(fitted(result, prepared), prepared.raw, plot, title)
    if plot_bounds is not None:
        save_bounds([bound_trace(result)], plot_bounds, title=title)
    if was_interrupted(result):
        return 130
    return options.exit_code(result)


def prepared_model(
    name: str, spec: str, label: str | None, positive: str | None, settings: Settings
) -> tuple[Prepared, pyo.ConcreteModel]:
    """Data as the builder reads it, and the model.

    Raises ValueError: unknown formulation, setting or data, or data that the builder does not take.
    """
    entry = entry_named(name)
    refuse_unknown(settings, [name])
    preprocessing, hyperparameters = split_preprocessing(settings)
    prepared = options.prepared_data([name], spec, label, positive, preprocessing)
    if not isinstance(prepared.data, entry.takes):
        able = [e for e in CATALOGUE.values() if isinstance(prepared.data, e.takes)]
        nearest = [e.name for e in able if e.dual_of == name] or [e.name for e in able]
        raise ValueError(
            f"{name} reads points, not a kernel matrix: leave kernel out, or take one of "
            f"{', '.join(nearest)}"
        )
    return prepared, build(name, prepared.data, **hyperparameters)


def explain(result: SolveResult, out: Path | None = None) -> None:
    """Say on standard error, in one sentence, why a result is no certified optimum.

    A point within tolerance is a success, and is told all the same.
    """
    certificate = result.certificate
    if was_interrupted(result):
        kept = [
            f"{name} {number:.9g}"
            for name, number in (
                ("objective", result.objective),
                ("proven bound", result.bound),
                ("solver's bound", certificate.solver_bound),
            )
            if number is not None
        ]
        where = f" in {out}" if out is not None else ""
        complain(f"{result.formulation}: interrupted; kept {', '.join(kept) or 'nothing'}{where}")
    elif result.objective is None:
        complain(f"{result.formulation}: {result.status}; {certificate.reason or result.message}")
    elif certificate.verdict in (Verdict.WITHIN_TOLERANCE, Verdict.NOT_CERTIFIED):
        complain(f"{result.formulation}: {certificate.verdict}, {certificate.reason}")
