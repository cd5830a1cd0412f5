"""The solve command, and the way from a name and settings to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pyomo.environ as pyo
import typer

from cuts.search_engines import SOLVERS_THAT_SEARCH
from cuts.searched import SEARCHED, SEARCHES, solve_by_search
from experiments.commands import options
from experiments.commands.settings import (
    Settings,
    parse_settings,
    refuse_unknown,
    split_preprocessing,
)
from experiments.commands.streams import complain, emit, working
from experiments.preparation import Prepared, prepare
from experiments.tightening import wants_tightening, with_tightened
from formulations.catalogue import CATALOGUE
from solvers.algorithms.prepare import build, entry_named
from solvers.algorithms.rsvm_result import METHODS as RSVM_METHODS
from solvers.isolated import solve_isolated
from solvers.result import SolveResult, Verdict
from solvers.rsvm_searched import SEARCHED_RSVM, solve_by_rsvm
from solvers.solve import solve
from solvers.zero_one_searched import CONFLICT_SEARCH, SEARCHED_ZERO_ONE, solve_by_conflicts

DIRECT = "direct"
METHODS = (DIRECT, *SEARCHES, *SOLVERS_THAT_SEARCH)


def solve_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A formulation, see list.")],
    data: options.Spec,
    settings: options.Settings = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            help="direct: the whole model goes to the solver. For the extended nu-SVC and its "
            "forms auto (by default), branch-and-cut, hull and cutting-plane prove the global "
            "optimum; local proves nothing; scip or gurobi gets the model. For the 0-1 loss "
            "conflict-search proves the optimum without a solver. For the rigorous SVM with a "
            f"free intercept {', '.join(RSVM_METHODS)} (auto by default) prove it.",
        ),
    ] = None,
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
    options.writable(out, (".json",))
    own_process = isolate or second_solver is not None
    found = parse_settings(settings or ())
    method, solver = chosen_method(
        name, method, solver, by_solver=own_process, intercept=found.get("intercept", "free")
    )
    choice = options.SolverChoice(solver, time_limit, threads, seed, log)
    with working(f"solving {name}", log=log):
        prepared, model = prepared_model(name, data, label, positive, found)
        if method == DIRECT:
            run = solve_isolated if isolate else solve
            result = run(model, choice.solver, second_solver=second_solver, **choice.limits)
        elif method == CONFLICT_SEARCH:
            result = solve_by_conflicts(model, time_limit=time_limit, threads=threads, seed=seed)
        else:
            search = solve_by_rsvm if name in SEARCHED_RSVM else solve_by_search
            result = search(model, method, time_limit=time_limit, threads=threads, seed=seed)
        result = options.recorded(result, prepared, label, positive)
        if out is not None:
            result.save(out)
    if json:
        emit("solve", result.to_json())
    else:
        from experiments.render import result_page, show

        show(result_page(result))
    explain(result, out)
    if options.was_interrupted(result):
        return 130
    return options.exit_code(result)


def chosen_method(
    name: str, method: str | None, solver: str, *, by_solver: bool, intercept: str = "free"
) -> tuple[str, str]:
    """Method and solver of a solve.

    Parameters
    ----------
    by_solver : bool
        Whether something was asked for that only a solver has: a second one, or its own process.
    intercept : str
        Of the model; the methods of the rigorous SVM take the free one.

    Returns
    -------
    (method, solver)
        The method is "direct", one of `cuts.searched.SEARCHES`, "conflict-search", or one of the
        METHODS of the rigorous SVM.

    Raises
    ------
    ValueError
        A method that does not belong to the formulation, or to what else was asked for.
    """
    able: tuple[str, ...] = METHODS if entry_named(name).name in SEARCHED else (DIRECT,)
    if name in SEARCHED_ZERO_ONE:
        able = (DIRECT, CONFLICT_SEARCH)
    if name in SEARCHED_RSVM:
        able = (DIRECT, *RSVM_METHODS)
    if method is None:
        ours = "auto" in able and (name not in SEARCHED_RSVM or intercept == "free")
        method = "auto" if ours and solver == "auto" and not by_solver else DIRECT
    if method not in able:
        raise ValueError(f"{name} has no method {method!r}; it has {', '.join(able)}")
    if method in SOLVERS_THAT_SEARCH:
        if solver not in ("auto", method):
            raise ValueError(f"--method {method} and --solver {solver} name two solvers: leave one")
        return DIRECT, method
    if method != DIRECT and (solver != "auto" or by_solver):
        raise ValueError(
            f"--method {method} is a search of our own: --solver, --second-solver and --isolate "
            f"belong to --method {DIRECT}"
        )
    return method, solver


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
        able = [e for e in CATALOGUE.values() if isinstance(prepared.data, e.takes)]
        nearest = [e.name for e in able if e.dual_of == name] or [e.name for e in able]
        raise ValueError(
            f"{name} reads points, not a kernel matrix: leave kernel out, or take one of "
            f"{', '.join(nearest)}"
        )
    if wants_tightening(hyperparameters):
        hyperparameters = with_tightened(entry, prepared.data, hyperparameters)
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
