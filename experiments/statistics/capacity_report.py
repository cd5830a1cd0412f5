"""Rows of a path of the rigorous SVM with what each H stands for and what its capacity costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tightmargin.experiments.statistics.structural_risk import ERROR_RATE, RiskTable, risk_table
from tightmargin.experiments.statistics.vc_bound import VcBound
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.rigorous_svm.equivalence import Equivalence, equivalence
from tightmargin.solvers.rigorous_svm.norm_limit import NormLimit
from tightmargin.solvers.rigorous_svm.path import RsvmPath

# H^2 / n of the paper's Table 2.
PAPER_RATIOS = (0.03, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True, eq=False)
class RsvmReport:
    """A path with the parameters of the other machines, and the bounds on its risk.

    maps: one for each row.
    risks: one row for each row.
    form: of the VC bound on the error rate that is shown.
    """

    path: RsvmPath
    maps: tuple[Equivalence, ...]
    risks: RiskTable
    form: str

    @property
    def best(self) -> int:
        """Position of the row with the least VC bound."""
        return self.risks.best[self.form]

    def bound(self, k: int) -> VcBound:
        """VC bound of row k."""
        return self.risks.rows[k].bounds[ERROR_RATE, self.form]


def rsvm_report(path: RsvmPath, eta: float, form: str) -> RsvmReport:
    """What the rows of a path stand for.

    path: with a row at least.
    eta: each VC bound fails with this probability at most.
    form: see `tightmargin.experiments.statistics.vc_bound`.
    """
    maps = tuple(equivalence(path.data, row.norm_bound, row.point.alpha) for row in path.rows)
    return RsvmReport(path, maps, risk_table(path.data, path.rows, eta=eta), form)


def default_norm_bounds(data: TrainingData | GramData, limit: NormLimit) -> Sequence[float]:
    """The paper's H^2 / n as far as H matters; where none of them does, these shares of H_lim^2.

    limit: of the data.
    Raises ValueError: the limit was not found in time, or is 0.
    """
    top = limit.value**2
    if not top > 0:
        raise ValueError(
            "no list of norm bounds can be proposed: H_lim is "
            f"{'not known' if math.isnan(top) else '0'}; name them, as in --set norm_bound=1,2,4"
        )
    squares = [ratio * data.n for ratio in PAPER_RATIOS if ratio * data.n < top]
    return [math.sqrt(square) for square in squares or [ratio * top for ratio in PAPER_RATIOS]]


def numbers_of(report: RsvmReport, k: int) -> dict[str, Any]:
    """What is written to files about row k."""
    row, maps, risk = report.path.rows[k], report.maps[k], report.risks.rows[k]
    point, bound = row.point, report.bound(k)
    low, high = row.b_interval
    return {
        "norm_bound": row.norm_bound,
        "capacity": row.norm_bound**2 / report.path.data.n,
        "objective": point.objective,
        "bound": point.bound,
        "gap": point.gap,
        "relative_gap": point.relative_gap,
        "verdict": str(row.verdict),
        "gamma": maps.gamma,
        "C": maps.C,
        "hull_bound": maps.hull_bound,
        "nu": maps.nu,
        "rho": maps.rho,
        "ridge": maps.ridge,
        "beta": maps.beta,
        "price": maps.price,
        "degenerate": maps.degenerate,
        "same_nu_from": None if maps.norm_bounds is None else maps.norm_bounds[0],
        "same_nu_to": None if maps.norm_bounds is None else maps.norm_bounds[1],
        "support_vectors": row.support_vectors,
        "free": row.free,
        "at_cap": row.at_cap,
        "errors": row.errors,
        "error_rate": risk.error_rate,
        "mean_hinge": risk.mean_hinge,
        "vc_dimension": risk.h,
        "vc_bound": bound.bound,
        "vc_confidence": bound.confidence,
        "vacuous": bound.vacuous,
        "b": point.b,
        "b_low": low,
        "b_high": high,
        "w": point.w,
        "alpha": point.alpha,
        "method": row.method,
        "steps": row.steps,
        "seconds": row.seconds,
        "stop": row.stop,
    }


def limit_numbers(limit: NormLimit | None) -> dict[str, Any] | None:
    """What is written to files about the largest H that matters; None where it is not known."""
    if limit is None:
        return None
    words = ("value", "lower", "upper", "separable", "least_loss", "least_loss_bound", "proof")
    return {word: getattr(limit, word) for word in words}
