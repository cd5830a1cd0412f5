"""The solve command, and the way from a name and settings to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pyomo.environ as pyo
import typer

from experiments.commands import options
from experiments.commands.settings import (
    Settings,
    parse_settings,
    refuse_unknown,
    split_preprocessing,
)
from experiments.commands.streams import complain, emit, working
from experiments.preparation import Prepared, prepare
from formulations.catalogue import CATALOGUE
from solvers.algorithms.prepare import build, entry_named
from solvers.isolated import solve_isolated
from solvers.result import SolveResult, Verdict
from solvers.solve import solve

METHODS = ("direct",)


def solve_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A formulation, see list.")],
    data: options.Spec,
    settings: options.Settings = None,
    method: Annotated[
        str, typer.Option(metavar="M", help="direct: the whole model goes to the solver.")
    ] = "direct",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Save for certify and predict.")
    ] = None,
    label: options.Label = None,
    positive: options.Positive = None,
    solver: options.Solver = "auto",
    second_solver: options.SecondSolver = None,
    time_limit: options.TimeLimit = None,
    seed: options.Seed = None,
    threads: options.Threads = None,
    log: options.Log = False,
    isolate: options.Isolate = False,
    json: options.Json = False,
) -> int:
    """Solve one formulation on data and print the result with its certificate."""
    if method not in METHODS:
        raise ValueError(f"method {method!r} is not known; there is {', '.join(METHODS)}")
    options.writable(out, (".json",))
    choice = options.SolverChoice(solver, time_limit, threads, seed, log)
    with working(f"solving {name}", log=log):
        prepared, model = prepared_model(
            name, data, label, positive, parse_settings(settings or ())
        )
        run = solve_isolated if isolate else solve
        result = run(model, choice.solver, second_solver=second_solver, **choice.limits)
        result = options.recorded(result, prepared, label, positive)
        if out is not None:
            result.save(out)
    if json:
        emit("solve", result.to_json())
    else:
        from experiments.render import result_page, show

        show(result_page(result))
    explain(result, out)
    return 130 if options.was_interrupted(result) else options.exit_code(result)


def prepared_model(
    name: str, spec: str, label: str | None, positive: str | None, settings: Settings
) -> tuple[Prepared, pyo.ConcreteModel]:
    """Data as the builder reads it, and the model.

    Raises
    ------
    ValueError
        Unknown formulation, setting or data, or data that the builder does not take.
    """
    entry = entry_named(name)
    refuse_unknown(settings, [name])
    preprocessing, hyperparameters = split_preprocessing(settings)
    prepared = prepare(options.load_data(spec, label, positive), preprocessing)
    if not isinstance(prepared.data, entry.takes):
        able = [e.name for e in CATALOGUE.values() if isinstance(prepared.data, e.takes)]
        raise ValueError(
            f"{name} reads points, not a kernel matrix: leave kernel out, or take one of "
            f"{', '.join(able)}"
        )
    return prepared, build(name, prepared.data, **hyperparameters)


def explain(result: SolveResult, out: Path | None = None) -> None:
    """Say on standard error, in one sentence, why a result is no certified optimum."""
    certificate = result.certificate
    if options.was_interrupted(result):
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
    elif certificate.verdict is Verdict.NOT_CERTIFIED:
        complain(f"{result.formulation}: NOT_CERTIFIED, {certificate.reason}")
