"""The cross-validate command: the hyperparameter with the fewest mistakes on unseen points."""

from __future__ import annotations

import csv as csv_format
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from tightmargin.experiments.cli import options
from tightmargin.experiments.cli.settings import parse_settings, split_preprocessing
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import complain, working
from tightmargin.experiments.console.tables import BAD, number, plain_table, show, verdict_text
from tightmargin.experiments.gap_study.table import percent, seconds_text
from tightmargin.experiments.paths.family import Settings
from tightmargin.experiments.validation.cross_validation import cross_validate, cross_validate_folds
from tightmargin.experiments.validation.error_rates import TEST_POINTS, synthetic_samples
from tightmargin.experiments.validation.loss_grids import GRID, METHODS
from tightmargin.experiments.validation.result import TIES, CrossValidation, SelectedModel
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import did_you_mean, one_of
from tightmargin.solvers.result import versions

OWN = ("intercept",)


def cross_validate_command(
    method: Annotated[str, typer.Argument(metavar="METHOD", help=f"{' or '.join(METHODS)}.")],
    data: options.Spec,
    grid: Annotated[
        int, typer.Option(metavar="N", min=1, help="Values of the paper's grid.")
    ] = GRID,
    tie: Annotated[
        str, typer.Option(metavar="RULE", help=f"Among equals: {', '.join(TIES)}.")
    ] = "first",
    folds: Annotated[
        int | None,
        typer.Option(metavar="K", help="Cut the data into K folds [synthetic: 3 samples; else 5]."),
    ] = None,
    fold_seed: Annotated[int, typer.Option("--fold-seed", min=0, help="How folds are dealt.")] = 0,
    test_points: Annotated[
        int, typer.Option("--test-points", metavar="N", min=2, help="Clean synthetic points.")
    ] = TEST_POINTS,
    settings: options.Settings = None,
    include_uncertified: Annotated[
        bool,
        typer.Option("--include-uncertified", help="Choose among NOT_CERTIFIED fits too; named."),
    ] = False,
    csv: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Write the grid.")] = None,
    label: options.Label = None,
    positive: options.Positive = None,
    solver: options.Solver = "auto",
    time_limit: options.TimeLimit = None,
    json: options.Json = False,
) -> int:
    """Choose beta of the hinge loss or kappa of the conic loss (Cepeda et al. 2024, sec. 5.1.2).

    Synthetic data: sample 0 trains, 1 chooses, 2 tests, and the error is also computed exactly
    where it can be. Other data, or --folds K: every fold is judged by a machine trained on the
    others. Leaves with 1 when a fit is not certified.
    """
    options.writable(csv, (".csv",))
    one_of("METHOD", method, METHODS)
    preprocessing, own = _own(parse_settings(settings or ()))
    common: Settings = {
        "grid": grid, "tie": tie, "preprocessing": preprocessing, "solver": solver,
        "time_limit": time_limit, "include_uncertified": include_uncertified, **own,
    }  # fmt: skip
    with working("loading data") as progress:
        if data.startswith("synthetic:") and folds is None:
            samples = synthetic_samples(data, test_points=test_points)
            train = samples.train
            found = cross_validate(method, samples, progress=progress, **common)
        else:
            train = options.load_data(data, label, positive)
            found = cross_validate_folds(
                method, train, folds=folds or 5, fold_seed=fold_seed, progress=progress, **common
            )
    if csv is not None:
        _write(found, csv)
    if json:
        emit("cross-validate", to_json(found, train))
    else:
        show(validation_page(found, data))
    for row in found.rows:
        for remark in filter(None, (fit.remark for fit in row.fits)):
            complain(f"{method}: {row.hyperparameter:g}: {remark}")
    for line in found.complaints:
        complain(f"{method}: {line}")
    return 1 if found.complaints else 0


def _own(settings: Settings) -> tuple[Settings, Settings]:
    preprocessing, own = split_preprocessing(settings)
    for word in own:
        if word not in OWN:
            raise ValueError(
                f"cross-validate chooses the hyperparameter itself; --set takes intercept and what "
                f"is done to the data, not {word!r}{did_you_mean(word, OWN)}"
            )
    return preprocessing, own


def _write(found: CrossValidation, path: Path) -> None:
    rows = to_rows(found)
    with path.open("w", newline="", encoding="utf-8") as stream:
        table = csv_format.DictWriter(stream, list(rows[0]))
        table.writeheader()
        for row in rows:
            table.writerow({word: _cell(value) for word, value in row.items()})


def _cell(value: Any) -> Any:
    """One number a cell where there is one fit; all of them, with spaces, where there are folds."""
    return " ".join(map(str, value)) if isinstance(value, list) else value


# --- the page and the document --------------------------------------------------------------------


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
