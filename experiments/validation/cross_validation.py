"""Choose the hyperparameter of an estimator by the fewest misclassified validation points.

Cepeda, Gomez & Han 2024, section 5.1.2 and Appendix C. The paper does not say what happens when
several values are equally good, so the choice by every tie rule is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.experiments.data.preparation import prepare
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.progress import Say
from tightmargin.experiments.validation.error_rates import ErrorRate, Samples, mistakes
from tightmargin.experiments.validation.loss_grids import (
    GRID,
    Fit,
    checked_grid,
    fits,
    papers_grid,
)
from tightmargin.experiments.validation.result import (
    TIES,
    CrossValidation,
    GridRow,
    SelectedModel,
    choose,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import refuse_weights
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import one_of


def cross_validate(
    method: str,
    samples: Samples,
    *,
    grid: int | Sequence[float] | Array = GRID,
    tie: str = "first",
    preprocessing: Mapping[str, Any] | None = None,
    include_uncertified: bool = False,
    progress: Say | None = None,
    **settings: Any,
) -> CrossValidation:
    """Train on one sample, choose on a second one, judge by a third one.

    Parameters
    ----------
    method : str
        hinge or conic, see `tightmargin.experiments.validation.loss_grids.fits`.
    samples : Samples
        See `tightmargin.experiments.validation.error_rates.synthetic_samples`.
    grid : int or sequence of float
        So many values of the paper's grid, or the values themselves.
    tie : str
        first, middle or last, see `tightmargin.experiments.validation.result.choose`.
    preprocessing : mapping, optional
        Fitted on the training points and applied to the others, see
        `tightmargin.experiments.data.preparation`.
    include_uncertified : bool
        Let fits that are NOT_CERTIFIED take part in the choice; they stay named.
    progress : callable(str), optional
        Told what is being done; by default a terminal shows it.
    settings
        intercept, solver and time_limit of `tightmargin.experiments.validation.loss_grids.fits`.

    Raises
    ------
    ValueError
        Bad method, grid, tie rule or intercept, before anything is solved; or no fit is certified.
    """
    values = _values(method, grid, tie)
    prepared = _prepared(samples.train, preprocessing)
    found = fits(method, _points(prepared), values, progress=progress, **settings)
    rows = [
        _judged(
            GridRow(fit.hyperparameter, (fit,), _mistakes(fit, prepared, samples.validation)),
            include_uncertified,
        )
        for fit in found
    ]
    exact = samples.exact if not prepared.record else None
    choices = {}
    for rule in TIES:
        row = rows[choose([r.mistakes for r in rows], rule)]
        choices[rule] = _tested(SelectedModel(row, row.fits[0]), prepared, samples.test, exact)
    return CrossValidation(method, tuple(rows), choices, tie, samples.validation.n, samples.test.n)


def cross_validate_folds(
    method: str,
    data: TrainingData,
    *,
    folds: int = 5,
    fold_seed: int = 0,
    grid: int | Sequence[float] | Array = GRID,
    tie: str = "first",
    preprocessing: Mapping[str, Any] | None = None,
    include_uncertified: bool = False,
    progress: Say | None = None,
    **settings: Any,
) -> CrossValidation:
    """Choose by the mistakes on every fold of a machine trained on the others, added up.

    The chosen machine is trained once more, on all points. Parameters as for `cross_validate`; the
    preprocessing is fitted again for every training part.

    Parameters
    ----------
    folds, fold_seed : int
        See `tightmargin.experiments.validation.cross_validation.fold_numbers`.

    Raises
    ------
    ValueError
        As `cross_validate`, and for folds that are no whole number, or more than the smaller class
        has points.
    """
    values = _values(method, grid, tie)
    found: list[tuple[Fit, ...]] = []
    counts: list[list[int | None]] = []
    for k, (train, validation) in enumerate(splits(data, folds, seed=fold_seed), start=1):
        prepared = _prepared(train, preprocessing)
        tell = _about(progress, f"fold {k} of {folds}: ")
        found.append(fits(method, _points(prepared), values, progress=tell, **settings))
        counts.append([_mistakes(fit, prepared, validation) for fit in found[-1]])
    rows = []
    for value, of_value, counted in zip(
        values.tolist(), zip(*found, strict=True), zip(*counts, strict=True), strict=True
    ):
        total = None if None in counted else sum(count or 0 for count in counted)
        rows.append(_judged(GridRow(value, of_value, total), include_uncertified))
    chosen = {rule: rows[choose([row.mistakes for row in rows], rule)] for rule in TIES}
    wanted = sorted({row.hyperparameter for row in chosen.values()})
    all_points = _points(_prepared(data, preprocessing))
    tell = _about(progress, "all points: ")
    again = {
        fit.hyperparameter: fit
        for fit in fits(method, all_points, wanted, progress=tell, **settings)
    }
    choices = {rule: SelectedModel(row, again[row.hyperparameter]) for rule, row in chosen.items()}
    return CrossValidation(method, tuple(rows), choices, tie, data.n, folds=folds)


def _values(method: str, grid: int | Sequence[float] | Array, tie: str) -> Array:
    """Values of the grid, after all words are known to be right."""
    one_of("tie", tie, TIES)
    return checked_grid(method, papers_grid(method, grid) if isinstance(grid, int) else grid)


def _prepared(data: TrainingData, preprocessing: Mapping[str, Any] | None) -> Prepared:
    refuse_weights("cross-validation", data)  # it counts mistakes
    prepared = prepare(data, preprocessing or {})
    _points(prepared)
    return prepared


def _points(prepared: Prepared) -> TrainingData:
    if not isinstance(prepared.data, TrainingData):
        raise ValueError("cross-validation reads points, not a kernel matrix: leave kernel out")
    return prepared.data.dense_for("cross-validation")


def _about(progress: Say | None, where: str) -> Say | None:
    return None if progress is None else lambda text: progress(f"{where}{text}")


def _mistakes(fit: Fit, prepared: Prepared, points: TrainingData) -> int | None:
    if fit.w is None:
        return None
    return mistakes(points.y, prepared.scores(points.X, fit.w, fit.b))


def _judged(row: GridRow, include_uncertified: bool) -> GridRow:
    """The row without its mistakes when it must take no part in the choice."""
    return replace(row, mistakes=None) if row.complaint and not include_uncertified else row


def _tested(
    choice: SelectedModel, prepared: Prepared, test: TrainingData, exact: ErrorRate | None
) -> SelectedModel:
    fit = choice.fit
    assert fit.w is not None
    return replace(
        choice,
        test_mistakes=_mistakes(fit, prepared, test),
        exact_error=None if exact is None else exact(fit.w, fit.b),
    )


# --- folds in which both classes keep their shares ------------------------------------------------


def fold_numbers(data: TrainingData, count: int, *, seed: int = 0) -> NDArray[np.intp]:
    """Fold of every point, 0 to count - 1, (n,).

    Each class is shuffled by default_rng(seed), positive points first, and dealt out to the folds
    in turn, the second class where the first one ended: sizes differ by at most one, of each class
    and of all points.

    Raises
    ------
    ValueError
        Fewer than two folds, or more than the smaller class has points: a training part must hold
        both classes.
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 2:
        raise ValueError(f"folds must be a whole number of at least 2, got {count!r}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, got {seed!r}")
    smaller = min(data.n_pos, data.n_neg)
    if count > smaller:
        raise ValueError(
            f"folds: {count} of them need as many points of each class, and one class has {smaller}"
        )
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(np.flatnonzero(data.y == label)) for label in (1, -1)])
    numbers = np.empty(data.n, dtype=np.intp)
    numbers[order] = np.arange(data.n) % count
    return numbers


def splits(
    data: TrainingData, count: int, *, seed: int = 0
) -> Iterator[tuple[TrainingData, TrainingData]]:
    """Training and validation points, once for every fold.

    Raises
    ------
    ValueError
        See `fold_numbers`.
    """
    numbers = fold_numbers(data, count, seed=seed)
    for k in range(count):
        yield (
            TrainingData(data.X[numbers != k], data.y[numbers != k], spec=data.spec),
            TrainingData(data.X[numbers == k], data.y[numbers == k], spec=data.spec),
        )
