"""What is proven: four statements about a subject, which the kernel alone can make.

Everything outside `solvers/kernel` may be wrong without a false verdict, as in the provers that
keep their theorems behind a type (Gordon, Milner & Wadsworth, Edinburgh LCF, 1979). A statement is
therefore made by the functions of this folder and by nothing else: its constructor asks for a seal
that they alone hold, `dataclasses.replace` has none, and a test looks for others who do.

The subject is a model as it stands (a `StandardForm`, whose doubles are taken as the exact numbers
that they are), or a problem of which a family's lemma speaks. Statements about different subjects
are never put together. Values are of the minimisation, the constant of the objective left out:
beside a large constant they are what a small gap shows in.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import InitVar, dataclass, field
from fractions import Fraction

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.number_words import bound_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.exact import rounded_down, rounded_up, shortened_down
from tightmargin.solvers.model.reader import StandardForm

SEAL = object()


def relaxed(form: StandardForm) -> str:
    """What is said behind the proof of a bound that does not ask columns to be whole."""
    return " of the continuous relaxation" if form.integer.any() else ""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Proof(Printed):
    """A proven statement.

    subject: what it speaks of; compared by `==`, which is identity for models.
    words: how it is proven, for people.
    Raises TypeError: made outside the kernel.
    """

    subject: Hashable
    words: str
    seal: InitVar[object]

    def _says(self) -> str:
        """The statement in words."""
        raise NotImplementedError

    def _title(self) -> str:
        return self._says()

    def _page(self) -> Page:
        facts = [("says", self._says()), ("proof", self.words), ("next", ".to_dict()")]
        return Page(type(self).__name__, facts)

    def __post_init__(self, seal: object) -> None:
        """Refuse everybody who does not hold the seal."""
        if seal is not SEAL:
            raise TypeError(
                f"{type(self).__name__} is made by the functions of tightmargin.solvers.kernel, "
                "which prove it, and by nothing else"
            )


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LowerBound(Proof):
    """Every feasible point has an objective of at least `varying` + constant, without tolerance.

    varying: finite.
    number: the same where a float would lose digits: beside a large constant they decide.
    evidence: the numbers that prove it, for a file: multipliers, a tree, or what a family keeps.
    """

    varying: float
    number: Fraction | None = None
    evidence: object = None

    @property
    def end(self) -> Fraction:
        """What is proven, without the constant of the objective."""
        return Fraction(self.varying) if self.number is None else self.number

    def _says(self) -> str:
        value = bound_text(self.varying, math.inf)
        return f"no feasible point has an objective below {value}, constant aside"

    def __post_init__(self, seal: object) -> None:
        """Refuse a bound that is no number."""
        super().__post_init__(seal)
        if not math.isfinite(self.varying):
            raise ValueError(f"a lower bound of {self.varying} says nothing")

    def value(self, constant: float) -> float:
        """The bound with the constant of the objective, rounded down."""
        return rounded_down(self.end + Fraction(constant))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FeasiblePoint(Proof):
    """There is a feasible point with an objective of at most `varying` + constant.

    varying: rounded up.
    x (n,): its coordinates to the nearest doubles.
    eps: 0: feasible in exact arithmetic. Above 0 it is another statement: `x` misses no row by more
        than this once the largest coefficient of each row is 1, and there need be no feasible point
        at all.
    worst: the row that is missed by most; empty for an exact point.
    rational: coordinates that are no doubles, by column: solutions of equations.
    between: whether `x` is only next to the point, which lies on a segment and has no coordinates
        that are known.
    number: `varying` where a float would lose digits: beside a large constant they decide.
    """

    varying: float
    x: Array | None
    eps: float = 0.0
    worst: str = ""
    rational: Mapping[int, Fraction] = field(default_factory=dict)
    between: bool = False
    number: Fraction | None = None

    @property
    def end(self) -> Fraction | float:
        """What is proven, without the constant; infinity or nan where that is no number."""
        if self.number is not None or not math.isfinite(self.varying):
            return self.varying if self.number is None else self.number
        return Fraction(self.varying)

    def _says(self) -> str:
        value = bound_text(self.varying, -math.inf)
        if self.exact:
            return f"a feasible point has an objective of at most {value}, constant aside"
        return f"a point of {value}, constant aside, misses no row by more than {self.eps:.2g}"

    @property
    def exact(self) -> bool:
        """Whether a feasible point is proven to be there."""
        return self.eps == 0.0

    def value(self, constant: float) -> float:
        """The objective with its constant, rounded up."""
        return rounded_up(Fraction(self.end) + Fraction(constant)) + 0.0  # never -0.0


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Infeasible(Proof):
    """There is no feasible point.

    multipliers (m,): Farkas vector over the linear rows, positive at a lower side and negative at
        an upper one.
    z: one over all rows of the conic form, where cones take part.
    evidence: a tree, or a model with affine functions that has no point either.
    """

    multipliers: Array | None = None
    z: Array | None = None
    evidence: object = None

    def _says(self) -> str:
        return "there is no feasible point"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Unbounded(Proof):
    """The objective falls without end along a ray that starts at a feasible point.

    x, ray (n,): the point, to the nearest doubles, and a direction in whole numbers where 53 bits
        hold them.
    eps: as of a FeasiblePoint: above 0 the point is within tolerance only.
    evidence: how a model with exp and log was read.
    """

    x: Array
    ray: Array
    eps: float = 0.0
    evidence: object = None

    def _says(self) -> str:
        return "the objective falls without end along a ray"


# --- When a lower bound closes the gap to an objective: one unit for every verdict ---------------


# A minimum is proven when bound and objective agree to this share of the unit below.
CLOSED = 1e-6

Number = float | Fraction


def exact_unit(objective: Fraction, bound: Fraction, constant: Fraction) -> Fraction:
    """min(max(|objective|, |bound|), max(|objective - k|, |bound - k|)), k being the constant.

    k is the constant of the objective once everything is expanded and fixed columns are put in.
    Either one of the two alone can be inflated: a constant that somebody adds makes the first one
    large, and squares leave a constant behind that makes the second one large. Nothing that depends
    on the matrix, the rows or the size of single terms enters, since those change with the units of
    the data while the gap does not.
    """
    whole = max(abs(objective), abs(bound))
    return min(whole, max(abs(objective - constant), abs(bound - constant)))


def unit(objective: Number, bound: Number, constant: Number = 0) -> float:
    """The same of floats, to the nearest one; infinity where one of them is no finite number."""
    numbers = objective, bound, constant
    if not all(map(math.isfinite, numbers)):
        return math.inf
    return float(exact_unit(Fraction(objective), Fraction(bound), Fraction(constant)))


def closes(objective: Number, bound: Number | None, constant: Number = 0) -> bool:
    """Whether |objective - bound| <= 1e-6 * unit(objective, bound, constant), compared exactly.

    A bound above the objective by more than that is a contradiction, not a proof: one of the two
    numbers is wrong, and it is not known which. A value or bound that is no finite number closes
    nothing. Where the unit is 0 both numbers must agree exactly.
    """
    if bound is None or not math.isfinite(objective) or not math.isfinite(bound):
        return False
    alpha, beta, k = Fraction(objective), Fraction(bound), Fraction(constant)
    return abs(alpha - beta) <= Fraction(CLOSED) * exact_unit(alpha, beta, k)


# --- Closed forms and searches of the families, whose hypotheses were stated and checked ----------


def by_lemma(subject: Hashable, lemma: Lemma | None, constant: float = 0.0) -> LowerBound | None:
    """The bound of a lemma; None without one, or where a hypothesis does not hold.

    subject: the model, as it was built from the catalogue, or what names the problem.
    constant: of the objective, which the lemma's value contains.
    Raises ValueError: it states no hypothesis: then nobody can have checked one.
    """
    if lemma is None:
        return None
    if not lemma.hypotheses:
        raise ValueError(f"the lemma {lemma.words!r} states no hypotheses")
    if not all(lemma.hypotheses.values()) or not math.isfinite(lemma.value):
        return None
    end = shortened_down(Fraction(lemma.value) - Fraction(constant))
    varying = rounded_down(end)
    return LowerBound(subject=subject, words=lemma.words, seal=SEAL, varying=varying, number=end)


def point_by_formula(
    subject: Hashable,
    value: float,
    error: float,
    words: str,
    x: Array | None = None,
    *,
    eps: float = 0.0,
    worst: str = "",
) -> FeasiblePoint:
    """A point whose slacks a formula gives, so that there is nothing for it to be off by.

    value, error: its objective as computed, and a proven bound on how far that may be off.
    words: why it is feasible.
    x: its coordinates to the nearest doubles.
    eps, worst: above 0 it is not: it misses the row `worst` by at most so much, and no other.
    Raises ValueError: the error or eps is negative or no number, or a row is missed that has no
        name.
    """
    if not (error >= 0 and eps >= 0):
        raise ValueError(f"{words}: an error of {error}, or of {eps}, bounds nothing")
    if (eps > 0) != bool(worst):
        raise ValueError(f"{words}: a row is missed where it has a name, and {worst!r} by {eps}")
    varying = value
    if math.isfinite(value) and math.isfinite(error):
        varying = rounded_up(Fraction(value) + Fraction(error))
    elif math.isfinite(value):
        varying = math.inf
    return FeasiblePoint(
        subject=subject, words=words, seal=SEAL, varying=varying, x=x, eps=eps, worst=worst
    )
