"""What there is: list, show, solvers."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from tightmargin.experiments.cli.options import Json, Name
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import complain, working
from tightmargin.experiments.console.tables import BAD, GOOD, WARN, fits, plain_table, show
from tightmargin.experiments.data.loading import KINDS
from tightmargin.formulations.catalogue import CATALOGUE, Entry, entry_named
from tightmargin.solvers.engines.registry import SOLVERS, UNSUPPORTED, capable

if TYPE_CHECKING:
    from tightmargin.solvers.doctor import SolverReport

WIDE = 200  # characters of a line with source and solvers
SHOW_SAYS = "show NAME: its mathematics, its source, what it relaxes, solvers that take it"


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
    """The catalogue: every formulation with its class, and what it is or where it is from.

    On a wide screen and in a file: source equation, relaxes, solvers that can take it here.
    """
    if json:
        emit("list", {"formulations": [describe(entry) for entry in CATALOGUE.values()]})
        return 0
    able = {entry.name: capable(entry.problem_class) for entry in CATALOGUE.values()}
    if fits(WIDE):
        show(catalogue_table(CATALOGUE.values(), able))
    else:
        show(short_table(CATALOGUE.values(), able), SHOW_SAYS)
    return 0


def show_command(
    name: Name,
    json: Json = False,
) -> int:
    """Mathematics, source and parameters of one formulation."""
    entry = entry_named(name)
    document = describe(entry)
    mathematics = inspect.getdoc(entry.build) or ""
    if json:
        emit("show", {"formulation": document | {"mathematics": mathematics}})
        return 0
    show(entry_page(document, mathematics))
    return 0


def solvers_command(
    compile_searches: Annotated[
        bool,
        typer.Option("--compile", help="Compile the 0-1 searches by numba, once: a minute or two."),
    ] = False,
    json: Json = False,
) -> int:
    """The doctor: installed, version, licence, classes proven by a tiny solve, size limits."""
    from tightmargin.solvers.doctor import examine

    if compile_searches:
        if find_spec("numba") is None:
            raise ValueError('--compile needs the package numba: pip install "tightmargin[numba]"')
        # numba is optional.
        from tightmargin.solvers.zero_one.compiled import compile_levels, compile_nodes

        with working("compiling the searches of the 0-1 loss"):
            compile_levels()
            compile_nodes()
    with working("solving tiny models with every solver"):
        reports = examine()
    if json:
        document = {
            "solvers": [report_document(report) for report in reports],
            "unsupported": [{"names": names, "reason": why} for names, why in UNSUPPORTED],
        }
        emit("solvers", document)
    else:
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


# --- pages ----------------------------------------------------------------------------------------


def catalogue_table(entries: Iterable[Entry], solvers: Mapping[str, Sequence[str]]) -> Table:
    """All formulations: name, class, source, what it relaxes, solvers that can take it here."""
    table = plain_table("name", "class", "source", "relaxes", "solvers here")
    for entry in entries:
        related = entry.relaxes or ""
        if entry.dual_of:
            related = f"dual of {entry.dual_of}"
        if entry.restates:
            related = f"= {entry.restates}"
        able = ", ".join(solvers[entry.name]) or Text("none installed", style=BAD)
        table.add_row(entry.name, str(entry.problem_class), entry.source, related, able)
    return table


def short_table(entries: Iterable[Entry], solvers: Mapping[str, Sequence[str]]) -> Table:
    """All formulations on a screen of 80 columns: name, class, and what it is."""
    table = plain_table("name", "class", "")
    for entry in entries:
        missing = "" if solvers[entry.name] else " (no solver installed)"
        table.add_row(entry.name, str(entry.problem_class), f"{entry.title}{missing}")
    return table


def entry_page(document: Mapping[str, Any], mathematics: str) -> Group:
    """One formulation: its docstring, then where it is from and what it takes."""
    facts = plain_table("", "")
    facts.show_header = False
    for word in ("source", "problem_class", "relaxes", "restates", "dual_of"):
        if document[word]:
            facts.add_row(word.replace("_", " "), str(document[word]))
    facts.add_row("solvers here", ", ".join(document["solvers"]) or "none installed")
    facts.add_row("reads", " or ".join(KINDS.get(kind, kind) for kind in document["takes"]))
    options = plain_table("--set", "default")
    for parameter in document["parameters"]:
        default = "required" if parameter["required"] else str(parameter["default"])
        options.add_row(parameter["name"], default)
    return Group(
        Text(document["name"], style="bold"), Text(mathematics), Text(), facts, Text(), options
    )


def doctor_page(reports: Iterable[SolverReport], unsupported: Iterable[tuple[str, str]]) -> Group:
    """Solvers, a few lines for each, then what has no back end here and why."""
    table = plain_table("name", "version", "")
    table.show_header = False
    for report in reports:
        version = report.version or Text(
            "cannot be imported" if report.broken else "not installed",
            style=BAD if report.broken else WARN,
        )
        table.add_row(Text(report.name, style="bold"), version, _doctor_cell(report))
    others = plain_table("", "")
    others.show_header = False
    for names, why in unsupported:
        others.add_row(names, why)
    return Group(table, Text(), Text("Without a back end here", style="bold"), others)


def _doctor_cell(report: SolverReport) -> Text:
    """Classes proven a moment ago, licence, limits, how to install."""
    cell = Text()
    if report.broken:
        cell.append(f"{report.broken}\n", BAD)
    elif report.unlicensed:
        cell.append(f"no licence: {report.unlicensed}\n", WARN)
    elif report.installed:
        cell.append("proven now:")
        for trial in report.trials:
            mark = "" if trial.proven else " FAILED"
            cell.append(f" {trial.problem_class}{mark}", GOOD if trial.proven else BAD)
        cell.append("\n")
    cell.append("; ".join(part for part in (report.licence, report.limits) if part))
    return cell.append(f"\n{report.install}")
