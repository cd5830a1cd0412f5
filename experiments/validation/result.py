"""What a cross-validation finds: the whole grid, and the choice by every tie rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tightmargin.experiments.validation.loss_grids import SYMBOLS, Fit
from tightmargin.formulations.parameters import one_of

TIES = ("first", "middle", "last")


def choose(counts: Sequence[int | None], tie: str) -> int:
    """Number of the value with the fewest mistakes; the tie rule decides among equals.

    first and last are the least and the greatest of the equally good values, middle the one in the
    middle of their list, and of two in the middle the lesser. Equally good values need not be
    neighbours in the grid.

    counts: mistakes for each value of a rising grid; None takes no part.
    Raises ValueError: an unknown rule, or nothing takes part.
    """
    one_of("tie", tie, TIES)
    present = [count for count in counts if count is not None]
    if not present:
        raise ValueError("nothing to choose from: no fit of the grid is certified")
    best = [k for k, count in enumerate(counts) if count == min(present)]
    return best[{"first": 0, "middle": (len(best) - 1) // 2, "last": -1}[tie]]


@dataclass(frozen=True, eq=False)
class GridRow:
    """One value of the hyperparameter.

    fits: one, or one for every fold.
    mistakes: misclassified validation points, of all folds together; None, and no part in the
        choice, when a fit is not certified (unless that was asked for) or left no hyperplane.
    """

    hyperparameter: float
    fits: tuple[Fit, ...]
    mistakes: int | None

    @property
    def complaint(self) -> str:
        """What is wrong with the fits; empty when all are certified."""
        return "; ".join(fit.complaint for fit in self.fits if not fit.certified)


@dataclass(frozen=True, eq=False)
class SelectedModel:
    """What a tie rule chooses, and how good it is.

    fit: trained on the training points; with folds, on all points.
    test_mistakes: misclassified test points, where there are any.
    exact_error: probability of a mistake in closed form, where there is one.
    """

    row: GridRow
    fit: Fit
    test_mistakes: int | None = None
    exact_error: float | None = None


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """A grid of fits and what is chosen from it.

    method: hinge or conic.
    rows: by rising hyperparameter; none is left out.
    choices: by tie rule, every one of `TIES`.
    tie: the rule that was asked for.
    validation_points, test_points: how many; test_points is 0 without a test sample.
    folds: 1 for a training and a validation sample.
    """

    method: str
    rows: tuple[GridRow, ...]
    choices: Mapping[str, SelectedModel]
    tie: str
    validation_points: int
    test_points: int = 0
    folds: int = 1

    @property
    def chosen(self) -> SelectedModel:
        """The choice by the rule that was asked for."""
        return self.choices[self.tie]

    @property
    def symbol(self) -> str:
        """Name of the hyperparameter in the paper."""
        return SYMBOLS[self.method]

    @property
    def seconds(self) -> float:
        """Time of all fits of the grid."""
        return sum(fit.seconds for row in self.rows for fit in row.fits)

    @property
    def complaints(self) -> list[str]:
        """Fits that are not certified, by name."""
        found = [
            f"{self.symbol} = {row.hyperparameter:.6g}: {row.complaint}"
            for row in self.rows
            if row.complaint
        ]
        again = {choice.fit.hyperparameter: choice.fit for choice in self.choices.values()}
        if self.folds > 1:
            found += [
                f"{self.symbol} = {value:.6g}, on all points: {fit.complaint}"
                for value, fit in again.items()
                if fit.complaint
            ]
        return found
