"""What people see: rich tables and a few lines of text."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from experiments.equivalence_page import equivalence_rows
from experiments.gap_study import Study
from experiments.gap_table import percent, seconds_text
from experiments.loading import KINDS
from formulations.catalogue import Entry
from solvers.comparison import Bound, Comparison, mark
from solvers.result import SolveResult, Status, Verdict

if TYPE_CHECKING:
    from cuts.nu_path_result import ExtendedNuPath
    from experiments.recheck import Recheck
    from solvers.doctor import Report

PIPE_WIDTH = 240  # nothing wraps before this in a file or a pipe
SHOWN = 12  # longer arrays are described, not printed
GOOD, WARN, BAD = "green", "yellow", "bold red"


def _console() -> Console:
    """Standard output: colours and the width of the screen only on a terminal."""
    console = Console(file=sys.stdout, highlight=False, markup=False)
    if console.is_terminal:
        return console
    return Console(file=sys.stdout, highlight=False, markup=False, width=PIPE_WIDTH)


def fits(characters: int) -> bool:
    """Whether a line of so many characters fits on the screen."""
    return _console().width >= characters


def show(*parts: RenderableType) -> None:
    """Print on standard output."""
    console = _console()
    for part in parts:
        console.print(part)


def plain_table(*columns: str, right: Sequence[str] = ()) -> Table:
    """A table without borders; numbers to the right."""
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, collapse_padding=True)
    for name in columns:
        table.add_column(
            name,
            justify="right" if name in right else "left",
            no_wrap=name in right or name in ("name", "relaxation", "solver"),
        )
    return table


def number(value: float | None, digits: int = 6) -> str:
    """A number with so many significant digits; a dash when there is none."""
    return "-" if value is None or not np.isfinite(value) else f"{value:#.{digits}g}"


def verdict_text(verdict: Verdict, remark: str = "") -> Text:
    """A verdict in its colour, with a remark."""
    colour = {Verdict.CERTIFIED: GOOD, Verdict.SOLVER_BOUND: WARN, Verdict.NOT_CERTIFIED: BAD}
    return Text(f"{verdict}{remark and f' ({remark})'}", style=colour[verdict])


# The catalogue and the solvers


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


def doctor_page(reports: Iterable[Report], left_out: Iterable[tuple[str, str]]) -> Group:
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
    for names, why in left_out:
        others.add_row(names, why)
    return Group(table, Text(), Text("Without a back end here", style="bold"), others)


def _doctor_cell(report: Report) -> Text:
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


# One result


def result_page(result: SolveResult) -> Group:
    """A solved model: status, numbers with their certificate, the hyperplane, remarks."""
    facts = plain_table("", "")
    facts.show_header = False
    for word, value in (*_numbers(result), *_point(result)):
        if value:
            facts.add_row(word, value)
    return Group(facts)


def _numbers(result: SolveResult) -> Iterator[tuple[str, RenderableType]]:
    certificate = result.certificate
    yield "formulation", f"{result.formulation} ({result.problem_class})"
    yield "data", _data_text(result.data)
    yield "status", _status_text(result.status)
    yield "objective", "" if result.objective is None else f"{result.objective:.10g}"
    if result.bound is not None:
        yield "proven bound", f"{result.bound:.10g}  ({certificate.bound_method})"
    if result.relative_gap is not None:
        gap = number(result.absolute_gap, 3)
        yield "gap", f"{gap}  ({100 * result.relative_gap:.2g} %)"
    if certificate.solver_bound is not None and certificate.verdict is not Verdict.CERTIFIED:
        claim = f"{certificate.solver_bound:.10g}  (the word of {result.solver})"
        yield "solver's bound", claim
    yield "residuals", _residuals(result)
    proof = certificate.bound_method if result.objective is None else ""
    yield "certificate", verdict_text(certificate.verdict, certificate.reason or proof)
    yield "no bound", Text(certificate.unproven, style=WARN)
    yield "solver", f"{result.solver} {result.version}, {seconds_text(result.seconds)} s"


def _point(result: SolveResult) -> Iterator[tuple[str, RenderableType]]:
    """Short arrays, what the formulation's own check counted, and the solver's words."""
    for name, array in result.values.items():
        if np.ndim(array) < 2 and np.size(array) <= SHOWN:
            yield from _array(result, name, array)
    for name, array in result.ray.items():
        if np.ndim(array) < 2 and np.size(array) <= SHOWN:
            yield f"ray of {name}", "  ".join(number(x) for x in np.atleast_1d(array).tolist())
    for word, fact in result.certificate.facts.items():
        if fact is not None and np.ndim(fact) == 0 and not isinstance(fact, dict):
            yield word.replace("_", " "), _fact_text(fact)
    if "equivalence" in result.certificate.facts:
        yield from equivalence_rows(result.certificate.facts["equivalence"])
    yield "remark", result.message


def _array(result: SolveResult, name: str, array: Any) -> Iterator[tuple[str, str]]:
    """Numbers of a variable, with those of each class on a line of its own."""
    numbers, classes = np.atleast_1d(array).tolist(), result.data.get("classes", ())
    if name not in ("B", "b") or len(classes) < 2:
        yield name, "  ".join(number(x) for x in numbers)
        return
    each = len(numbers) // len(classes)
    for k, word in enumerate(classes):
        yield f"{name} {word}", "  ".join(number(x) for x in numbers[k * each : (k + 1) * each])


def _residuals(result: SolveResult) -> str:
    """The conditions of optimality, each with its largest relative violation."""
    certificate = result.certificate
    parts = (
        ("primal", certificate.primal_residual),
        ("dual", certificate.dual_residual),
        ("complementarity", certificate.complementarity),
    )
    return ", ".join(f"{word} {number:.1e}" for word, number in parts if number is not None)


def _fact_text(fact: Any) -> str:
    return f"{fact:.6g}" if isinstance(fact, float) else str(fact)


def _data_text(data: Mapping[str, Any]) -> str:
    if "n" not in data:
        return ""
    classes = f", {len(data['classes'])} classes" if "classes" in data else ""
    return f"{data['spec']}: {data['n']} points, {data['d']} features{classes}"


def _status_text(status: Status) -> Text:
    style = {Status.OPTIMAL: GOOD, Status.FEASIBLE: WARN}.get(status, BAD)
    return Text(str(status), style=style)


def recheck_page(found: Recheck) -> Group:
    """A saved result beside its recomputation, and what remains a claim."""
    table = plain_table("number", "saved", "computed again", "", right=("saved", "computed again"))
    for row in found.numbers:
        mark = Text("confirmed", GOOD) if row.confirmed else Text("not confirmed", BAD)
        if row.saved is None and row.recomputed is None:
            continue
        table.add_row(row.name, number(row.saved, 12), number(row.recomputed, 12), mark)
    lines: list[RenderableType] = [table, Text()] if found.numbers else []
    if found.bound_method:
        what = "bound" if found.numbers else str(found.status)
        lines.append(Text(f"{what} proven again by {found.bound_method}"))
    lines += [Text(f"claim: {claim}", style=WARN) for claim in found.claims]
    lines.append(verdict_text(found.verdict, found.reason))
    return Group(*lines)


# The path of the extended nu-SVC


PATH_COLUMNS = (
    "nu", "CVaR", "value", "bound", "how", "rho", "lambda", "SV %", "errors", "s", "certificate",
)  # fmt: skip
NARROW_PATH = ("nu", "value", "bound", "how", "certificate")


def path_page(path: ExtendedNuPath) -> Group:
    """Rows by falling nu, and where the problem changes its nature."""
    columns = PATH_COLUMNS if fits(WIDE) else NARROW_PATH
    left = ("how", "certificate")
    table = plain_table(*columns, right=[name for name in columns if name not in left])
    for row in path.rows:
        cells: dict[str, RenderableType] = {
            "nu": f"{row.nu:.6g}{' c' if row.constant else ''}",
            "CVaR": number(row.cvar),
            "value": number(row.value),
            "bound": number(row.lower_bound),
            "how": row.how,
            "rho": number(row.rho, 4),
            "lambda": number(row.norm_multiplier, 4),
            "SV %": f"{100 * row.support_share:.1f}",
            "errors": str(row.errors),
            "s": seconds_text(row.seconds),
            "certificate": verdict_text(
                row.verdict, "" if row.verdict is Verdict.CERTIFIED else row.stop
            ),
        }
        table.add_row(*(cells[name] for name in columns))
    lower, upper = path.nu_bar_bounds
    between = f"between {'-' if lower is None else f'{lower:.10g}'} and {upper:.10g}"
    ends = (
        f"nu_bar {path.range.nu_bar:.6g}, proven {between}: convex above it, not convex below",
        f"nu_max {path.range.nu_max:.6g}",
        f"c: the CVaR is the same for all nu up to {path.range.constant_until:.6g}",
        f"{path.searches} of {len(path.rows)} nu took a search",
    )
    data = {"spec": path.data.spec, "n": path.data.n, "d": path.data.d}
    title = Text(f"extended_nu_svc, {_data_text(data)}", style="bold")
    return Group(title, table, *(Text(line, style="dim") for line in ends))


# Gap tables


COLUMNS = (
    "relaxation", "value", "bound", "gap", "gap %", "solver", "status", "s", "certificate",
)  # fmt: skip
NARROW = ("relaxation", "bound", "gap %", "solver", "s", "certificate")
WIDE = 100  # characters that all columns need


def gap_page(study: Study) -> Group:
    """Gap table of one study with its title, and what proves the optimum."""
    columns = COLUMNS if fits(WIDE) else NARROW
    table = plain_table(*columns, right=("value", "bound", "gap", "gap %", "s"))
    for row in study.comparison.rows:
        cells = _cells(study, row)
        table.add_row(*(cells[name] for name in columns))
    exact = study.comparison.exact
    footer = []
    if exact is not None:
        table.add_section()
        cells = _exact_cells(study.comparison, exact)
        table.add_row(*(cells[name] for name in columns))
        footer.append(Text(proof_of(exact), style="dim"))
    footer += [Text(line, style="dim") for line in study.left_out]
    footer += [Text(f"WRONG: {line}", style=BAD) for line in study.complaints]
    return Group(Text(heading(study), style="bold"), table, *footer, Text())


def _cells(study: Study, row: Bound) -> dict[str, RenderableType]:
    comparison = study.comparison
    remark = Text(mark(row), style=BAD)
    included = comparison.bound_of(row)
    missing = "no bound" if included is None else f"{number(included)} ?"
    return {
        "relaxation": row.label,
        "value": number(row.value),
        "bound": number(row.bound) if row.certified else Text(missing, style=BAD),
        "gap": number(comparison.absolute_gap(row)),
        "gap %": percent(comparison.relative_gap(row)) or "-",
        "solver": row.solver,
        "status": _status_text(row.status),
        "s": seconds_text(row.seconds),
        "certificate": verdict_text(row.verdict, row.remark) if row.certified else remark,
    }


def _exact_cells(comparison: Comparison, exact: SolveResult) -> dict[str, RenderableType]:
    usable = comparison.upper is not None  # an inaccurate value is the upper end of no gap
    return {
        "relaxation": f"{comparison.exact_label} (exact)",
        "value": number(exact.objective),
        "bound": number(exact.bound),
        "gap": number(exact.absolute_gap if usable else None, 2),
        "gap %": percent(exact.relative_gap if usable else None) or "-",
        "solver": exact.solver,
        "status": _status_text(exact.status),
        "s": seconds_text(exact.seconds),
        "certificate": verdict_text(exact.certificate.verdict, exact.certificate.reason),
    }


def heading(study: Study) -> str:
    """Title of a study with the settings common to its rows."""
    words = ", ".join(f"{word} = {value}" for word, value in study.instance.settings.items())
    return f"{study.instance.title}{words and f' ({words})'}"


def proof_of(exact: SolveResult) -> str:
    """Who says that the optimum is one."""
    certificate = exact.certificate
    if exact.objective is None:
        return f"{exact.solver} {exact.version} found no point: {exact.message}"
    claim = certificate.solver_bound
    said = "" if claim is None else f"; {exact.solver} {exact.version} claims {claim:.6g}"
    if certificate.verdict is Verdict.CERTIFIED:
        return f"optimum proven by {certificate.bound_method}{said}"
    own = "no bound of our own" if exact.bound is None else f"our own bound {exact.bound:.6g}"
    return f"best point known, optimum not proven by us: {own}{said}"
