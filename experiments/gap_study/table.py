"""Gap studies as a data frame, as csv, as LaTeX and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tightmargin.experiments.data.loading import about
from tightmargin.experiments.gap_study.study import GapStudy
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.result import SolveResult

if TYPE_CHECKING:
    import pandas as pd


def to_frame(studies: Sequence[GapStudy]) -> pd.DataFrame:
    """All studies below each other: Comparison.to_frame with the instance and the entry added."""
    import pandas as pd

    frames = []
    for study in studies:
        frame = study.comparison.to_frame()
        frame.insert(0, "instance", study.instance.name)
        entries = [rung.formulation for rung in (*study.rungs, study.exact)]
        frame.insert(2, "entry", entries)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def to_latex(studies: Sequence[GapStudy]) -> str:
    """LaTeX table (booktabs) of all studies, relative gaps in percent."""
    frame = to_frame(studies)
    frame["gap (%)"] = [percent(gap) for gap in frame["relative gap"]]
    frame["seconds"] = [seconds_text(number) for number in frame["seconds"]]
    frame["certificate"] = [str(text).partition(" (")[0] for text in frame["certificate"]]
    columns = [
        "instance", "formulation", "value", "certified bound", "absolute gap", "gap (%)", "solver",
        "status", "seconds", "certificate",
    ]  # fmt: skip
    return frame[columns].to_latex(
        index=False, escape=True, float_format="%.4f", na_rep="", column_format="llrrrrllrl"
    )


def to_markdown(studies: Sequence[GapStudy]) -> str:
    """Markdown table: one row a relaxation, proven bound and gap of each study side by side.

    A relaxation that a study leaves out has a dash there, one without a proven bound says so.
    """
    labels = common_labels(studies)
    head = ["relaxation"]
    for study in studies:
        head += [f"{study.instance.name}: proven bound", "gap"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for label in labels:
        cells = [cell for study in studies for cell in _markdown_cells(study, label)]
        lines.append(f"| {' | '.join([label, *cells])} |")
    cells = [cell for study in studies for cell in _exact_markdown(study)]
    lines.append(f"| {' | '.join([f'{studies[0].exact.name} (exact)', *cells])} |")
    return "\n".join(lines)


def common_labels(studies: Sequence[GapStudy]) -> list[str]:
    """Labels of all rows, once each, in the order of the study that has most of them."""
    longest_first = sorted(studies, key=lambda study: -len(study.comparison.rows))
    return list(dict.fromkeys(row.label for s in longest_first for row in s.comparison.rows))


def _markdown_cells(study: GapStudy, label: str) -> tuple[str, str]:
    row = next((row for row in study.comparison.rows if row.label == label), None)
    if row is None:
        return "-", "-"
    if study.comparison.why_no_relaxation(row):
        return "no relaxation", "-"
    if row.bound is None:
        return "no bound", "-"
    gap = percent(study.comparison.relative_gap(row))
    return f"{row.bound:.4f}", f"{gap} %" if gap else "-"


def _exact_markdown(study: GapStudy) -> tuple[str, str]:
    upper, exact = study.comparison.upper, study.comparison.exact
    verdict = None if exact is None else exact.certificate.verdict
    if upper is None:
        return "no point", "-"
    near = "0.0 %, its point within tolerance"
    said = {Verdict.CERTIFIED: "0.0 %", Verdict.WITHIN_TOLERANCE: near}
    return f"{upper:.4f}", "best point known" if verdict is None else said.get(
        verdict, "best point known"
    )


def percent(gap: float | None) -> str:
    """Relative gap in percent with one digit; empty when there is none."""
    return "" if gap is None or gap != gap else f"{100 * gap:.1f}"


def seconds_text(number: float) -> str:
    """Seconds with three digits behind the point below 0.1, one from ten on, two between."""
    return f"{number:.{3 if number < 0.1 else 2 if number < 10 else 1}f}"


def to_json(study: GapStudy) -> dict[str, Any]:
    """One study as plain dictionaries; parameters are those the user gave."""
    comparison = study.comparison
    rows = [
        {
            "label": row.label,
            "parameters": dict(rung.parameters),
            "value": row.value,
            "certified_bound": row.bound,
            "absolute_gap": comparison.absolute_gap(row),
            "relative_gap": comparison.relative_gap(row),
            "remark": row.remark,
            "included": comparison.bound_of(row) is not None,
            "needs": None if rung.need is None else rung.need.name,
        }
        | solve_summary(row.result)
        | {"seconds": row.seconds, "preparation_seconds": row.seconds - row.result.seconds}
        for rung, row in zip(study.rungs, comparison.rows, strict=True)
    ]
    exact = comparison.exact
    return {
        "instance": study.instance.name,
        "title": study.instance.title,
        "data": about(study.prepared.raw),
        "settings": dict(study.instance.settings),
        "upper": comparison.upper,
        "exact": None
        if exact is None
        else {"label": study.exact.name, "parameters": dict(study.exact.parameters)}
        | solve_summary(exact),
        "rows": rows,
        "left_out": list(study.left_out),
        "violations": study.complaints,
    }


def solve_summary(result: SolveResult) -> dict[str, Any]:
    """What a gap table says about one solve: everything but the arrays."""
    certificate = result.certificate
    return {
        "formulation": result.formulation,
        "problem_class": result.problem_class,
        "status": str(result.status),
        "objective": result.objective,
        "bound": result.bound,
        "certificate": {
            "verdict": str(certificate.verdict),
            "reason": certificate.reason,
            "primal_residual": certificate.primal_residual,
            "dual_residual": certificate.dual_residual,
            "complementarity": certificate.complementarity,
            "gap": certificate.gap,
            "bound_method": certificate.bound_method,
            "solver_bound": certificate.solver_bound,
            "unproven": certificate.unproven,
            "facts": {
                word: fact
                for word, fact in certificate.facts.items()
                if not isinstance(fact, list | dict)
            },
        },
        "solver": {
            "name": result.solver,
            "version": result.version,
            "options": dict(result.options),
            "seed": result.seed,
            "threads": result.threads,
            "time_limit": result.time_limit,
        },
        "seconds": result.seconds,
        "message": result.message,
    }
