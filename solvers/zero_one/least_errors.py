"""The least number of errors, and of the hyperplanes with so few the one of largest margin.

A hyperplane commits an error where y_i (<w, x_i> + b) < 1, with any w that is no longer than
1 / margin: no point that it keeps is nearer to it than `margin`. First the errors alone are
minimised over cones of directions, then the norm among hyperplanes with so few of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from tightmargin.formulations.common.hyperplane import norm_of
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.training_data import TrainingData, reads_dense_points
from tightmargin.formulations.parameters import positive
from tightmargin.formulations.zero_one.loss import margins, scale_onto_margin, trivial_points
from tightmargin.number_words import count_text, number_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.certify.case import SEARCH_GAP
from tightmargin.solvers.kernel.cones import cone_problem
from tightmargin.solvers.kernel.signed_points import Count, SideRows
from tightmargin.solvers.zero_one.cones import ConeSearch, checked_run, cone_search, search_cells
from tightmargin.solvers.zero_one.planes import ConePlane, LeastCost, Plane

LEAST = 1e-12  # of the longest square, for an error's price


@dataclass(frozen=True, eq=False, repr=False)
class LeastErrors(Printed):
    """Fewest errors at a margin, and the largest margin of hyperplanes with so few.

    Attributes
    ----------
    w, b : array (d,), float
        Of the hyperplane; the points that it keeps have y_i (<w, x_i> + b) >= 1.
    errors, bound : int
        Points that it gives up, and what no hyperplane of at least the asked margin is below.
    margin : float
        1 / ||w||, or 1 / ||(w, b)|| where the intercept is penalised; infinite for w = 0.
    largest_margin : float
        Proven: no hyperplane with `errors` errors has a larger one. Infinite where nothing is.
    counting, widening : ConeSearch
        The two searches; the second is None where the first left the errors open.
    """

    w: Array
    b: float
    errors: int
    bound: int
    margin: float
    largest_margin: float
    counting: ConeSearch
    widening: ConeSearch | None

    def _page(self) -> Page:
        least = "" if self.errors == self.bound else f", at least {self.bound} proven"
        widest = f"{number_text(self.margin)}, at most {number_text(self.largest_margin)} proven"
        return Page(
            f"LeastErrors: {count_text(len(self.w), 'feature')}",
            [
                ("errors", f"{self.errors}{least}"),
                ("margin", widest),
                ("ended", str((self.widening or self.counting).stop)),
                ("next", ".w, .b, .counting, .widening"),
            ],
        )


@unweighted
@reads_dense_points
def least_errors(
    data: TrainingData,
    *,
    margin: float,
    intercept: str = "free",
    time_limit: float | None = None,
    cell_limit: int | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> LeastErrors:
    """Fewest points on the wrong side, in few dimensions, and then the widest margin.

    Parameters
    ----------
    data : TrainingData
        Without weights.
    margin : float
        Hyperplanes that are nearer to a point they keep do not count. In general position any
        small number finds the misclassifications themselves; what points on a line, or in one
        place, tie takes the longer the smaller it is.
    intercept : str
        As for zero_one_big_m.
    time_limit, cell_limit : float, int, optional
        For each of the two searches.
    clock : callable
        Seconds since some moment.

    Raises
    ------
    ValueError
        A bad margin, intercept or limit; no feature; weighted points.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=40, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.least_errors(data, margin=1e-3)
    >>> found.errors == found.bound
    True
    """
    started = clock()
    largest = 1 / positive("margin", margin) ** 2
    # Errors are whole: half of one is gap enough.
    run = checked_run(data, intercept, 0.5 / data.n, time_limit, cell_limit, clock)
    problem = cone_problem(
        data.X, data.y, np.ones(data.n), intercept=intercept, free_norm=True, largest_norm=largest
    )
    best = _FewestErrors(data, largest, intercept)
    best.start()
    counting = search_cells(problem, best, run, started, "count of errors")
    errors = int(best.objective)
    bound = int(np.ceil(counting.bound - 1e-9))
    if errors > bound:
        return LeastErrors(
            best.w, best.b, errors, bound, _margin(norm_of(best.w, best.b, intercept)), np.inf,
            counting, None,
        )  # fmt: skip
    # Hyperplanes with fewer errors are longer than the limit, and must cost more than this one.
    known = norm_of(best.w, best.b, intercept)
    price = max(min(known, (largest - known) / max(errors, 1)) / 2, LEAST * largest)
    nothing = SideRows.nothing(data.n, data.d)
    few = (Count(np.ones(data.n, dtype=bool), errors),)
    widening = cone_search(
        data, penalty=price, intercept=intercept, incumbent=(best.w, best.b), gap=SEARCH_GAP,
        time_limit=time_limit, cell_limit=cell_limit, side=replace(nothing, counts=few),
        clock=clock,
    )  # fmt: skip
    # Beside a count points are kept to a tolerance.
    plane = scale_onto_margin(data, widening.w, widening.b, ~widening.given_up)
    w, b = (widening.w, widening.b) if plane is None else plane
    if int((margins(data, w, b) < 1).sum()) > errors:
        w, b = best.w, best.b
    least = widening.bound - price * errors * (1 + 1e-15)
    return LeastErrors(
        w, b, errors, bound, _margin(norm_of(w, b, intercept)), _margin(least), counting, widening
    )  # fmt: skip


def _margin(norm2: float) -> float:
    return float(1 / np.sqrt(norm2)) if norm2 > 0 else float(np.inf)


class _FewestErrors(ConePlane):
    """Of hyperplanes no longer than a limit."""

    def __init__(self, data: TrainingData, largest: float, intercept: str) -> None:
        super().__init__(data)
        self.largest, self.intercept = largest, intercept
        self.costs = LeastCost(data, largest, intercept)

    def start(self) -> None:
        """What costs least where an error is as dear as the longest hyperplane."""
        for point in trivial_points(self.data, penalty=1.0, intercept=self.intercept):
            self.take(point.w, point.b)
        self.costs.start()
        self.offer((self.costs.w, self.costs.b))

    def search(self) -> None:
        """By local search over active sets."""
        self.costs.search()
        self.offer((self.costs.w, self.costs.b))

    def take(self, w: Array, b: float) -> None:
        """Errors are counted strictly."""
        given_up = margins(self.data, w, b) < 1
        errors = float(given_up.sum())
        if errors < self.objective and norm_of(w, b, self.intercept) <= self.largest:
            self.w, self.b, self.objective, self.given_up = w, b, errors, given_up

    def refined(self, w: Array, b: float) -> Iterable[Plane]:
        """The least norm that keeps what it keeps."""
        return self.costs.refined(w, b)
