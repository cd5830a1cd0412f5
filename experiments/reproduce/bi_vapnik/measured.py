"""The rigorous SVM over a list of H^2/l on one sample, with what Tables 2 and 3 say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tightmargin.experiments.reproduce.bi_vapnik.samples import Sample
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.rigorous_svm.equivalence import equivalence
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.rigorous_svm.path import RsvmRow, rsvm_path


@dataclass(frozen=True)
class Rates:
    """Shares of points on the wrong side, in percent.

    errors: of all points.
    false_positive: of the points labelled -1.
    false_negative: of the points labelled +1.
    """

    errors: float
    false_positive: float
    false_negative: float


@dataclass(frozen=True)
class Measured:
    """One solution.

    ratio: H^2/l.
    norm_bound: H.
    C, D, nu: of the machines that have this solution.
    objective, bound: the loss, and what is proven below the least one.
    """

    ratio: float
    norm_bound: float
    support_vectors: int
    train: Rates
    test: Rates
    C: float
    D: float
    nu: float
    objective: float
    bound: float
    relative_gap: float | None
    verdict: Verdict
    method: str


@dataclass(frozen=True)
class Run:
    """The rows of one sample, by rising ratio; `not_reached` says that Ctrl-C came."""

    rows: tuple[Measured, ...]
    not_reached: bool

    @property
    def plain(self) -> dict[str, Any]:
        """Words and numbers only, to be stored."""
        return {"rows": [asdict(row) for row in self.rows], "not_reached": self.not_reached}


@dataclass(frozen=True)
class Curve:
    """Both risks of one size.

    limit_squared: H_lim^2.
    proven: whether H_lim is known to 1e-8 by proven bounds.
    """

    size: int
    limit_squared: float
    proven: bool
    run: Run

    @property
    def rows(self) -> tuple[Measured, ...]:
        """By rising ratio."""
        return self.run.rows


def as_run(plain: Mapping[str, Any]) -> Run:
    """The run that was stored."""
    return Run(tuple(_as_measured(row) for row in plain["rows"]), plain["not_reached"])


def cut_short(plain: Mapping[str, Any]) -> bool:
    """Whether a run as it is stored is what Ctrl-C left of one."""
    return bool(plain["not_reached"])


def _as_measured(plain: Mapping[str, Any]) -> Measured:
    changed = {
        "train": Rates(**plain["train"]), "test": Rates(**plain["test"]),
        "verdict": Verdict(plain["verdict"]),
    }  # fmt: skip
    return Measured(**{**plain, **changed})


def measured(sample: Sample, ratios: Sequence[float], method: str = "auto") -> Run:
    """Follow the path of the rigorous SVM over H = sqrt(ratio l), and count.

    ratios: H^2/l, each once.
    method: of `rsvm_path`.
    """
    train = sample.train
    bounds = {float(np.sqrt(ratio * train.n)): ratio for ratio in ratios}
    path = rsvm_path(train, bounds, method=method)
    rows = tuple(_measure(sample, bounds[row.norm_bound], row) for row in path.rows)
    return Run(rows, bool(path.not_reached))


def _measure(sample: Sample, ratio: float, row: RsvmRow) -> Measured:
    point = row.point
    same = equivalence(sample.train, point.norm_bound, point.alpha)
    return Measured(
        ratio=ratio,
        norm_bound=point.norm_bound,
        support_vectors=row.support_vectors,
        train=_rates(sample.train, row),
        test=_rates(sample.test, row),
        C=same.C,
        D=same.hull_bound,
        nu=same.nu,
        objective=point.objective,
        bound=point.bound,
        relative_gap=point.relative_gap,
        verdict=row.verdict,
        method=row.method,
    )


def _rates(data: TrainingData, row: RsvmRow) -> Rates:
    wrong = data.y * (data.X @ row.point.w + row.point.b) <= 0
    return Rates(
        errors=100 * float(wrong.mean()),
        false_positive=100 * float(wrong[data.y < 0].mean()),
        false_negative=100 * float(wrong[data.y > 0].mean()),
    )
