"""Structural risk minimisation over norm bounds: training risk, capacity and bound at each H.

Proposition 1 of Bi & Vapnik 2003 chooses the H of a list whose solution has the least bound (1).
Two things about that are not as the paper reads.

The range it recommends, H^2 in [0.05 n, 0.30 n], does not come out. On its own digits all forms of
the bound, with either training risk, choose the smallest H of Table 2, where Vapnik's form is
1.01 (n = 200) and 0.86 (n = 1000) and elsewhere above 1, which says nothing; the range comes from
the error on test points.

And the sets {sgn(<w, x> + b): ||w|| <= H} are one and the same set of classifiers for every H, as
(w, b) may be scaled: nesting them, as the proof does, orders nothing. The dimension H^2 + 1 is that
of hyperplanes that keep every point at a distance of 1 / H at least, and slacks let points come
nearer. So h is an estimate, and the least bound a guide, not a guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightmargin.experiments.statistics.vc_bound import FORMS, VcBound, vc_bound
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.training_data import GramData, TrainingData, reads_dense_points
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.rigorous_svm.path import RsvmRow
from tightmargin.solvers.rigorous_svm.point import RsvmPoint
from tightmargin.solvers.tables import Framed, table_page

ERROR_RATE, MEAN_HINGE = "error_rate", "mean_hinge"
RISKS = (ERROR_RATE, MEAN_HINGE)


@dataclass(frozen=True, repr=False)
class RiskRow(Printed):
    """The terms of the bound at one norm bound.

    norm_bound: H.
    error_rate: share of training points on the wrong side or on the hyperplane: the risk of the
        theory.
    mean_hinge: E / n, which the rigorous SVM minimises: at least the error rate.
    h: estimate of the VC dimension.
    bounds (risk, form): for both risks in RISKS and all forms of `vc_bound`.
    """

    norm_bound: float
    error_rate: float
    mean_hinge: float
    h: float
    bounds: Mapping[tuple[str, str], VcBound]


@dataclass(frozen=True, repr=False)
class RiskTable(Framed):
    """Rows in the order given, and which of them minimises what.

    rows, tuple of RiskRow.
    n: number of training points.
    eta: each bound fails with this probability at most; of the least of k bounds k eta is said.
    """

    rows: tuple[RiskRow, ...]
    n: int
    eta: float

    def least(self, risk: str, form: str) -> int:
        """Position of the row with the least bound, the first of equal ones."""
        return int(np.argmin([row.bounds[risk, form].bound for row in self.rows]))

    @property
    def best(self) -> dict[str, int]:
        """By form, the position of the row with the least bound on the error rate."""
        return {form: self.least(ERROR_RATE, form) for form in FORMS}

    @property
    def best_by_hinge(self) -> dict[str, int]:
        """The same with the mean hinge loss in place of the error rate."""
        return {form: self.least(MEAN_HINGE, form) for form in FORMS}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the table cannot show by itself, in sentences."""
        k = len(self.rows)
        found = [
            f"each bound holds with probability {1 - self.eta:g}, all {k} of them, and so the one "
            f"chosen, with {max(0.0, 1 - k * self.eta):g} at least",
            "h = min(R^2 H^2, d) + 1 is an estimate: it is proven of hyperplanes that keep every "
            "point at a distance of 1 / H",
        ]
        silent = [
            form for form in FORMS if self.rows[self.best[form]].bounds[ERROR_RATE, form].vacuous
        ]
        if silent:
            found.append(f"the least bound is 1 or more, and says nothing: {', '.join(silent)}")
        return tuple(found)

    def _page(self) -> Page:
        title = f"RiskTable: {count_text(len(self.rows), 'norm bound')}, {self.n} points"
        columns = ("norm_bound", "error_rate", "mean_hinge", "h")
        records = [vars(row) for row in self.rows]
        return table_page(title, records, columns, more=".rows, .notes, .to_frame()")

    def _records(self) -> list[dict[str, Any]]:
        """One line for each H: the risks, h, and capacity and bound by risk and form."""
        return [_line(row, self.n) for row in self.rows]


@unweighted
@reads_dense_points
def risk_table(
    data: TrainingData | GramData,
    rows: Iterable[RsvmRow | RsvmPoint],
    *,
    eta: float = 0.05,
) -> RiskTable:
    """Evaluate the bound (1) at solutions of the rigorous SVM.

    h = min(R^2 H^2, d) + 1 with R the largest norm of a point: H^2 + 1 on the unit sphere in many
    dimensions, as the paper has it.

    Parameters
    ----------
    data : TrainingData or GramData
        What they were trained on.
    rows : RsvmPath.rows, or points
    eta : float
        Probability with which each bound may fail.

    Raises
    ------
    ValueError
        No rows, a point of other data, or a bad eta.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> rows = tm.paths.rsvm_path(data, [0.25, 0.5]).rows
    >>> len(tm.theory.risk_table(data, rows).rows)
    2
    """
    points = [row if isinstance(row, RsvmPoint) else row.point for row in rows]
    if not points:
        raise ValueError("rows is empty: there is nothing to choose from")
    for point in points:
        if point.w.shape != (data.d,):
            raise ValueError(f"rows: w has {len(point.w)} entries, and the data {data.d} features")
    radius = float(np.sqrt(np.einsum("ij,ij->i", data.factor, data.factor).max(initial=0.0)))
    found = [_row(data, point, radius, eta) for point in points]
    return RiskTable(tuple(found), data.n, eta)


def _row(data: TrainingData | GramData, point: RsvmPoint, radius: float, eta: float) -> RiskRow:
    margins = data.y * (data.factor @ point.w + point.b)
    risks = {
        ERROR_RATE: float((margins <= 0).mean()),
        MEAN_HINGE: float(np.maximum(0.0, 1 - margins).mean()),
    }
    h = min((radius * point.norm_bound) ** 2, data.d) + 1.0
    bounds = {
        (name, form): vc_bound(risk, h, data.n, eta, form)
        for name, risk in risks.items()
        for form in FORMS
    }
    return RiskRow(point.norm_bound, risks[ERROR_RATE], risks[MEAN_HINGE], h, bounds)


def _line(row: RiskRow, n: int) -> dict[str, float]:
    line = {
        "norm_bound": row.norm_bound,
        "norm_bound_squared_over_n": row.norm_bound**2 / n,
        "error_rate": row.error_rate,
        "mean_hinge": row.mean_hinge,
        "h": row.h,
    }
    for (risk, form), found in row.bounds.items():
        line[f"{form}_capacity"] = found.capacity
        line[f"{form}_bound_of_{risk}"] = found.bound
    return line
