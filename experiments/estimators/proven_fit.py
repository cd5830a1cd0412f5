"""How far a fitted estimator is from the optimum of its own problem, as a result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from decimal import ROUND_CEILING, Decimal
from typing import Any

from tightmargin.number_words import bound_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.kernel.statement import FeasiblePoint, LowerBound
from tightmargin.solvers.kernel.verdict import Judgement, Verdict, judged, weakest
from tightmargin.solvers.tables import Framed

LEAST_SHARE = 1e-6
FEW = 4
MANY = 10**6  # numbers from which on powers of ten are shorter
OPTIMAL = "optimal, proven to 0.0001 % of the objective"


@dataclass(frozen=True, repr=False)
class ProblemStatement(Printed):
    """What is minimised, in words.

    problem: the objective as mathematics.
    formulation: the entry of the catalogue that is this problem; empty where none is. That of a
        kernel is the dual, which reads kernel values and whose optimum is minus this one.
    hyperparameters: with which `tm.build(formulation, data, **hyperparameters)` builds it; without
        a formulation, the numbers of `problem`.
    kernel: the kernel and its numbers; empty for points as they are.
    remark: what the problem leaves out, adds or assumes, if anything.
    """

    problem: str
    formulation: str = ""
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    kernel: str = ""
    remark: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class FittedPart(Printed):
    """One binary problem of an estimator.

    negative, positive: the classes of label -1 and of label +1.
    attained: that the fitted machine costs at most so much.
    below: that no machine costs less.
    """

    negative: str
    positive: str
    statement: ProblemStatement
    attained: FeasiblePoint | None
    below: LowerBound | None
    _shown = ("classes", "objective", "bound", "gap", "verdict")

    @property
    def objective(self) -> float:
        """At the fitted machine, rounded up; nan where it is beyond doubles."""
        return float("nan") if self.attained is None else self.attained.value(0.0)

    @property
    def bound(self) -> float:
        """Proven: no machine costs less; -inf where nothing is proven."""
        return float("-inf") if self.below is None else self.below.value(0.0)

    @property
    def judgement(self) -> Judgement:
        """What the two proofs amount to."""
        return judged(self.attained, self.below)

    @property
    def gap(self) -> float:
        """Share of the larger of |objective| and |bound| that the optimum may be away, proven."""
        found = self.judgement.gap
        return float("inf") if found is None else found

    @property
    def verdict(self) -> Verdict:
        """That of the proofs."""
        return self.judgement.verdict

    @property
    def classes(self) -> str:
        """Both classes in words."""
        return f"{self.positive} against {self.negative}"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words, without the proofs."""
        return {
            "classes": self.classes,
            "objective": self.objective,
            "bound": self.bound,
            "gap": self.gap,
            "verdict": str(self.verdict),
            **asdict(self.statement),
        }


@dataclass(frozen=True, eq=False, repr=False)
class ProvenFit(Framed):
    """How far an estimator is from the optimum of the problem that it says it solves.

    Numbers are those of its worst part: the binary problem of largest gap, and of two classes the
    only one.

    Attributes
    ----------
    estimator : str
        Its class.
    parts : tuple of FittedPart
        One for each binary problem: pairs of classes of SVC and NuSVC, else one class against the
        rest.
    stopped_early : bool
        Whether it says that it stopped at its limit of iterations.
    seconds : float
        Of wall clock, for the whole proof.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> fitted = SVC(kernel="linear").fit(data.X, data.y)
    >>> 0 <= tm.certify_fitted(fitted, data.X, data.y).gap < 0.01
    True
    """

    estimator: str
    parts: tuple[FittedPart, ...]
    stopped_early: bool
    seconds: float

    @property
    def worst(self) -> FittedPart:
        """The part of the largest gap, the first of several."""
        return max(self.parts, key=lambda part: part.gap)

    @property
    def objective(self) -> float:
        """Of the fitted machine, recomputed and rounded up."""
        return self.worst.objective

    @property
    def bound(self) -> float:
        """Proven: no machine costs less."""
        return self.worst.bound

    @property
    def gap(self) -> float:
        """Share of the larger of |objective| and |bound| that the optimum may be away, proven."""
        return self.worst.gap

    @property
    def verdict(self) -> Verdict:
        """That of the weakest part."""
        return weakest(part.verdict for part in self.parts)

    @property
    def statement(self) -> ProblemStatement:
        """What is minimised."""
        return self.worst.statement

    @property
    def formulation(self) -> str:
        """The entry of the catalogue that is this problem; empty where none is."""
        return self.worst.statement.formulation

    @property
    def sentence(self) -> str:
        """The result in a line."""
        who = self.estimator + (", stopped early" if self.stopped_early else "")
        judgement = self.worst.judgement
        if judgement.gap is None:
            return f"{who}: no gap is proven, {judgement.reason}"
        if self.verdict is Verdict.CERTIFIED:
            return f"{who}: {OPTIMAL}"
        if judgement.gap >= 1:  # a share of itself says nothing of what may be 0
            ends = bound_text(self.objective, -math.inf), bound_text(self.bound, math.inf)
            return f"{who}: the objective is {ends[0]}, and no machine is below {ends[1]}, proven"
        said = f"{who}: at most {percent(judgement.gap)} from optimal"
        times = self.times_the_optimum
        return said + (f", {times}" if times else "") + ", proven"

    @property
    def times_the_optimum(self) -> str:
        """How many times the optimum the objective may be; empty below twice, and where it is 0."""
        if not 0 < 2 * self.bound < self.objective:
            return ""
        return f"{two_digits(self.objective / self.bound)} times the optimum"

    def _title(self) -> str:
        return f"{self.sentence} ({self.verdict})"

    def _page(self) -> Page:
        said, worst = self.statement, self.worst
        given = ", ".join(
            f"{name} = {_short(value)}" for name, value in said.hyperparameters.items()
        )
        least = bound_text(worst.bound, math.inf)
        facts = [
            ("objective", f"{bound_text(worst.objective, -math.inf)}, no machine below {least}"),
            ("problem", said.problem),
            ("model", ", ".join(part for part in (said.formulation, given, said.kernel) if part)),
            ("worst of", f"{len(self.parts)}: {worst.classes}" if len(self.parts) > 1 else ""),
            ("remark", said.remark),
        ]
        return Page(self._title(), [(word, text) for word, text in facts if text])

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words of the whole and of its parts, as JSON takes them."""
        whole: dict[str, Any] = {"estimator": self.estimator, "sentence": self.sentence}
        whole |= {"objective": self.objective, "bound": self.bound, "gap": self.gap}
        whole |= {"verdict": str(self.verdict), "stopped_early": self.stopped_early}
        return {**whole, "seconds": self.seconds, "parts": [p.to_dict() for p in self.parts]}

    def _records(self) -> list[dict[str, Any]]:
        """One line a binary problem."""
        return [part.to_dict() for part in self.parts]


def _short(value: Any) -> str:
    """A hyperparameter; one number a point would fill the page."""
    many = isinstance(value, list) and len(value) > FEW
    return f"{len(value)} numbers" if many else str(value)


def percent(share: float) -> str:
    """A share in percent to two digits, rounded up; nothing but 0 is said to be below 0.0001 %."""
    return f"{two_digits(Decimal(max(share, LEAST_SHARE) if share else 0.0) * 100)} %"


def two_digits(number: float | Decimal) -> str:
    """A number that is not negative to two digits, rounded up."""
    exact = Decimal(number)
    if not exact:
        return "0"
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - 1), rounding=ROUND_CEILING)
    plain = rounded.normalize()
    return f"{plain:f}" if plain < MANY else f"{plain:e}".replace("e+", "e")
