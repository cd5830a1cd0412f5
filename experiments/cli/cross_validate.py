"""The cross-validate command: the hyperparameter with the fewest mistakes on unseen points."""

from __future__ import annotations

import csv as csv_format
from pathlib import Path
from typing import Annotated, Any

import typer

from tightmargin.experiments.cli import options
from tightmargin.experiments.cli.settings import parse_settings, split_preprocessing
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import complain, working
from tightmargin.experiments.console.validation import to_json, to_rows, validation_page
from tightmargin.experiments.paths.family import Settings
from tightmargin.experiments.validation.cross_validation import cross_validate, cross_validate_folds
from tightmargin.experiments.validation.error_rates import TEST_POINTS, synthetic_samples
from tightmargin.experiments.validation.loss_grids import GRID, METHODS
from tightmargin.experiments.validation.result import TIES, CrossValidation
from tightmargin.formulations.parameters import did_you_mean, one_of

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
        from tightmargin.experiments.console.tables import show

        show(validation_page(found, data))
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
