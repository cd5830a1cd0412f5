"""A cross-validation as people, tables and scripts read it."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.text import Text

from tightmargin.experiments.console.tables import BAD, number, plain_table, verdict_text
from tightmargin.experiments.gap_study.table import percent, seconds_text
from tightmargin.experiments.validation.result import CrossValidation, SelectedModel
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.versions import versions


def validation_page(found: CrossValidation, title: str) -> Group:
    """What every tie rule chooses; the grid itself is in the csv and in the JSON."""
    numbers = (found.symbol, "validation", "test", "exact")
    table = plain_table("tie", *numbers, "certificate", right=numbers)
    for rule, choice in found.choices.items():
        mark = " (chosen)" if rule == found.tie else ""
        certificate = choice.fit.certificate
        table.add_row(
            f"{rule}{mark}",
            number(choice.row.hyperparameter, 4),
            _share(choice.row.mistakes, found.validation_points),
            _share(choice.test_mistakes, found.test_points),
            "-" if choice.exact_error is None else f"{percent(choice.exact_error)} %",
            verdict_text(certificate.verdict, certificate.reason),
        )
    head = Text(f"{found.method}: {title}", style="bold")
    complaints = (Text(line, style=BAD) for line in found.complaints)
    return Group(head, table, Text(_summary(found)), *complaints)


def _share(count: int | None, points: int) -> str:
    return "-" if count is None or not points else f"{percent(count / points)} %"


def _summary(found: CrossValidation) -> str:
    fewest = found.chosen.row.mistakes
    equal = sum(row.mistakes == fewest for row in found.rows)
    part = f"in {found.folds} folds" if found.folds > 1 else "of the validation sample"
    certified = sum(not row.complaint for row in found.rows)
    return (
        f"fewest mistakes: {fewest} of {found.validation_points} points {part}, at {equal} of "
        f"{len(found.rows)} values of {found.symbol}; {certified} values certified; "
        f"{seconds_text(found.seconds)} s"
    )


def to_rows(found: CrossValidation) -> list[dict[str, Any]]:
    """One plain dictionary a value of the grid, for csv and JSON."""
    return [
        {
            found.symbol: row.hyperparameter,
            "mistakes": row.mistakes,
            "verdict": " ".join(dict.fromkeys(str(f.certificate.verdict) for f in row.fits)),
            "objective": [fit.objective for fit in row.fits],
            "bound": [fit.bound for fit in row.fits],
            "gap": [fit.certificate.gap for fit in row.fits],
            "seconds": sum(fit.seconds for fit in row.fits),
            "complaint": row.complaint,
        }
        for row in found.rows
    ]


def to_json(found: CrossValidation, data: TrainingData) -> dict[str, Any]:
    """Everything but the hyperplanes that were not chosen."""
    return {
        "method": found.method,
        "hyperparameter": found.symbol,
        "tie": found.tie,
        "folds": found.folds,
        "validation_points": found.validation_points,
        "test_points": found.test_points,
        "choices": {rule: _choice(found, choice) for rule, choice in found.choices.items()},
        "rows": to_rows(found),
        "seconds": found.seconds,
        "complaints": found.complaints,
        "data": {"spec": data.spec, "n": data.n, "d": data.d, "sha256": data.sha256},
        "versions": versions(),
    }


def _choice(found: CrossValidation, choice: SelectedModel) -> dict[str, Any]:
    fit = choice.fit
    test = choice.test_mistakes
    return {
        found.symbol: choice.row.hyperparameter,
        "mistakes": choice.row.mistakes,
        "test_mistakes": test,
        "test_error": None if test is None or not found.test_points else test / found.test_points,
        "exact_error": choice.exact_error,
        "w": fit.w,
        "b": fit.b,
        "objective": fit.objective,
        "bound": fit.bound,
        "verdict": str(fit.certificate.verdict),
        "bound_method": fit.certificate.bound_method,
    }
