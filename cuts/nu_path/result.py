"""What Algorithm 11 found for a descending list of nu."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from tightmargin.cuts.nu_path.chords import anchors_of
from tightmargin.cuts.nu_path.row import PathRow
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.execution.path_result import PathResult
from tightmargin.solvers.nu.nu_range import NuRange


@dataclass(frozen=True, eq=False)
class ExtendedNuPath(PathResult[PathRow]):
    """Rows by falling nu, and where the problem changes its nature.

    Attributes
    ----------
    rows : tuple of PathRow
    range : NuRange
        nu_bar, nu_max and the end of the constant zone.
    nu_bar_bounds : (float or None, float)
        Proven.
    data, class_balance, intercept
        Of the problem.
    searches : int
        How many nu took the engine.
    not_reached : tuple of float
        The nu that Ctrl-C came before; empty else.
    """

    rows: tuple[PathRow, ...]
    range: NuRange
    nu_bar_bounds: tuple[float | None, float]
    data: TrainingData
    class_balance: ArrayLike | str
    intercept: str
    searches: int
    not_reached: tuple[float, ...]

    parameter = "nu"

    @property
    def anchors(self) -> tuple[tuple[float, float], ...]:
        """Rising pairs (nu, proven lower bound of Phi) that chords join; (0, 0) is the first."""
        return anchors_of((row.anchor for row in self.rows), self.nu_bar_bounds[0])

    @property
    def weights(self) -> tuple[Array, ...]:
        """The weights (k,) of all rows, of norm 1."""
        return tuple(row.unit_weight(self.intercept) for row in self.rows)
