"""What the list command shows: the catalogue, one formulation, and the solvers that are here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tightmargin.experiments.console.tables import BAD, GOOD, WARN, plain_table
from tightmargin.experiments.data.loading import KINDS
from tightmargin.formulations.catalogue import Entry

if TYPE_CHECKING:
    from tightmargin.solvers.doctor import SolverReport


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
