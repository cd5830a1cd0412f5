"""What there is: list, show, solvers."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from tightmargin.experiments.cli.options import Json
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import complain, working
from tightmargin.formulations.catalogue import CATALOGUE, Entry, entry_named
from tightmargin.solvers.backends.choice import capable
from tightmargin.solvers.backends.registry import SOLVERS


def describe(entry: Entry) -> dict[str, Any]:
    """One formulation as plain values."""
    return {
        "name": entry.name,
        "problem_class": str(entry.problem_class),
        "paper_class": entry.paper_class,
        "source": entry.source,
        "title": entry.title,
        "relaxes": entry.relaxes,
        "restates": entry.restates,
        "dual_of": entry.dual_of,
        "takes": [kind.__name__ for kind in entry.takes],
        "parameters": [
            {
                "name": name,
                "required": declared.default is inspect.Parameter.empty,
                "default": None
                if declared.default is inspect.Parameter.empty
                else declared.default,
            }
            for name, declared in entry.parameters.items()
        ],
        "solvers": capable(entry.problem_class),
    }


def list_command(json: Json = False) -> int:
    """The catalogue: name, class, source equation, relaxes, solvers that can take it here."""
    if json:
        emit("list", {"formulations": [describe(entry) for entry in CATALOGUE.values()]})
        return 0
    from tightmargin.experiments.console.catalogue import catalogue_table
    from tightmargin.experiments.console.tables import show

    able = {entry.name: capable(entry.problem_class) for entry in CATALOGUE.values()}
    show(catalogue_table(CATALOGUE.values(), able))
    return 0


def show_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A formulation, see list.")],
    json: Json = False,
) -> int:
    """Mathematics, source and parameters of one formulation."""
    entry = entry_named(name)
    document = describe(entry)
    mathematics = inspect.getdoc(entry.build) or ""
    if json:
        emit("show", {"formulation": document | {"mathematics": mathematics}})
        return 0
    from tightmargin.experiments.console.catalogue import entry_page
    from tightmargin.experiments.console.tables import show

    show(entry_page(document, mathematics))
    return 0


def solvers_command(json: Json = False) -> int:
    """The doctor: installed, version, licence, classes proven by a tiny solve, size limits."""
    from tightmargin.solvers.backends.registry import UNSUPPORTED
    from tightmargin.solvers.doctor import examine

    with working("solving tiny models with every solver"):
        reports = examine()
    if json:
        document = {
            "solvers": [report_document(report) for report in reports],
            "unsupported": [{"names": names, "reason": why} for names, why in UNSUPPORTED],
        }
        emit("solvers", document)
    else:
        from tightmargin.experiments.console.catalogue import doctor_page
        from tightmargin.experiments.console.tables import show

        show(doctor_page(reports, UNSUPPORTED))
    for report in reports:
        if report.broken:
            complain(f"{report.name} cannot be imported: {report.broken}")
        for trial in report.trials:
            if not trial.proven:
                complain(f"{report.name} does not prove {trial.problem_class}: {trial.reason}")
    return 0 if all(report.healthy for report in reports) else 1


def report_document(report: Any) -> dict[str, Any]:
    """One report of the doctor as plain values."""
    return {
        "name": report.name,
        "installed": report.installed,
        "version": report.version or None,
        "licence": report.licence,
        "broken": report.broken or None,
        "unlicensed": report.unlicensed or None,
        "classes": [
            {
                "problem_class": str(trial.problem_class),
                "proven": trial.proven,
                "seconds": trial.seconds,
                "reason": trial.reason,
            }
            for trial in report.trials
        ],
        "limits": report.limits,
        "tolerance": SOLVERS[report.name].tolerance,
        "tolerance_on_cones": SOLVERS[report.name].tolerance_on_cones,
        "tolerance_because": SOLVERS[report.name].tolerance_because,
        "install": report.install,
    }
