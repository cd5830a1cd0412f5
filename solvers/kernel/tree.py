"""A tree of boxes that covers all points, each leaf closed by one inequality.

The proof has a cutoff U (without the constant of the objective), rounds of derived limits and rows
(derived.py) that hold wherever f(x) <= U, and a tree: a branch on an integer column splits a box
into x_j <= k and x_j >= k + 1, and a leaf names multipliers. With v the least bound over the
leaves, every feasible point has f(x) >= min(U, v): where f(x) <= U, x lies in one of the leaves.
Nothing needs to attain U. A leaf without points counts for nothing; where U is infinite and all of
them have none, there is no feasible point at all.

Where the objective is a sum of whole multiples of one number over integer columns, so is each of
its values, and a bound is rounded up to the next of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.rounding import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import count_text, number_text
from tightmargin.printing import Printed
from tightmargin.solvers.exact import rounded_down
from tightmargin.solvers.kernel.bound import Minorant, Rows, SparseMultipliers, minorant
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import SEAL, Infeasible, LowerBound
from tightmargin.solvers.model.conic import Block, ConicForm, without_own_bounds

# --- Limits and rows that every point of objective at most U meets, each proven by the ones before
# A step is a use of the inequality of kernel/bound.py with a direction g:
#     limit     g = +-e_j: a limit of one column, rounded to a whole number where it is integer
#     row       g = -a: a row a'x <= b
#     switch    a row a'x + c s <= b with a binary s, proven end by end: at one value of s by a
#               row that is there already, at the other by the inequality in that half of the box.
#               So the large M of a row that s switches off becomes as small as the cutoff allows
# The steps of one round rest on what was there before the round, so that their order does not
# matter.


@dataclass(frozen=True, eq=False)
class DerivedLimit:
    """x_j >= value for sign = 1, x_j <= value for sign = -1."""

    column: int
    sign: int
    value: float
    multipliers: SparseMultipliers


@dataclass(frozen=True, eq=False)
class DerivedRow:
    """a'x <= side."""

    a: Array
    side: float
    multipliers: SparseMultipliers


@dataclass(frozen=True, eq=False)
class SwitchedRow:
    """a'x <= side, of which row `old` is the same but for the coefficient of a binary column.

    at: 0 or 1: the value of the binary for which the multipliers prove it; for the other one the
        old row does.
    """

    a: Array
    side: float
    old: int
    column: int
    at: int
    multipliers: SparseMultipliers


Step = DerivedLimit | DerivedRow | SwitchedRow


def first_rows(subject: Subject, cutoff: float) -> Rows | None:
    """Rows of a model whose relaxation is convex, and limits at points of objective <= `cutoff`.

    None for any other model.
    """
    kind, form = subject.classification, subject.form
    if not kind.relaxes_to_convex or kind.curvature is None:
        return None
    conic, _ = without_own_bounds(subject.conic, np.zeros(len(subject.conic.b)))
    reach = subject.reach(cutoff)
    low = np.where(form.integer, np.ceil(reach.low), reach.low)
    high = np.where(form.integer, np.floor(reach.high), reach.high)
    return Rows(conic, low, high, kind.curvature, kind.readings, form.integer, reach.cutoff)


def binary(subject: Subject, rows: Rows) -> NDArray[np.bool_]:
    """Which columns are 0 or 1 at every point that matters."""
    return subject.form.integer & (rows.low >= 0) & (rows.high <= 1)


def holds(subject: Subject, rows: Rows, step: Step, cutoff: float) -> bool:
    """Whether a step is proven for every point of objective at most `cutoff`."""
    if not (isinstance(cutoff, float) and _is_plain(step, len(rows.low))):
        return False
    match step:
        case DerivedLimit():
            return _limit_holds(subject, rows, step, cutoff)
        case DerivedRow():
            top = most(rows, step.a, step.multipliers, cutoff, rows.low, rows.high)
            return math.isfinite(step.side) and top <= step.side
        case SwitchedRow():
            return _switch_holds(subject, rows, step, cutoff)


def _is_plain(step: Step, n: int) -> bool:
    """Whether the numbers of a step are doubles and its places whole numbers.

    Arithmetic with narrower numbers rounds to those, and with whole ones may wrap around.
    """
    match step:
        case DerivedLimit(column=column, sign=sign, value=value):
            return type(column) is type(sign) is int and isinstance(value, float)
        case SwitchedRow(old=old, column=column, at=at):
            if not type(old) is type(column) is type(at) is int:
                return False
    known = step.a.shape == (n,) and step.a.dtype == np.float64 and np.isfinite(step.a).all()
    return bool(known) and isinstance(step.side, float)


def _limit_holds(subject: Subject, rows: Rows, step: DerivedLimit, cutoff: float) -> bool:
    if step.sign not in (-1, 1) or not 0 <= step.column < len(rows.low):
        return False
    along = np.zeros(len(rows.low))
    along[step.column] = -step.sign
    # sign x_j is at least this, and a whole number is at least the next one.
    least = -most(rows, along, step.multipliers, cutoff, rows.low, rows.high)
    if subject.form.integer[step.column] and math.isfinite(least):
        least = float(math.ceil(least))
    return step.sign * step.value <= least


def _switch_holds(subject: Subject, rows: Rows, step: SwitchedRow, cutoff: float) -> bool:
    j, conic = step.column, rows.conic
    if not (0 <= j < len(rows.low) and binary(subject, rows)[j] and step.at in (0, 1)):
        return False
    if not (0 <= step.old < len(conic.b) and _is_inequality(conic, step.old)):
        return False
    if step.a.shape != rows.low.shape or not np.isfinite(step.a).all():
        return False
    old = rows.lines[step.old].toarray().ravel()
    other = 1 - step.at
    same = old == step.a
    same[j] = True
    if not same.all() or not math.isfinite(step.side):
        return False
    left = Fraction(float(conic.b[step.old])) - Fraction(float(old[j])) * other
    if Fraction(step.side) - Fraction(float(step.a[j])) * other < left:
        return False
    low, high = rows.low.copy(), rows.high.copy()
    low[j] = high[j] = step.at
    bare = step.a.copy()
    bare[j] = 0.0
    top = most(rows, bare, step.multipliers, cutoff, low, high)
    room = Fraction(step.side) - Fraction(float(step.a[j])) * step.at
    return math.isfinite(top) and Fraction(top) <= room


def _is_inequality(conic: ConicForm, row: int) -> bool:
    return any(b.kind == "nonneg" and b.start <= row < b.start + b.size for b in conic.blocks)


def most(
    rows: Rows, a: Array, multipliers: SparseMultipliers, cutoff: float, low: Array, high: Array
) -> float:
    """The most that a'x can be in a box at points of objective at most `cutoff`, rounded up.

    Infinity where the multipliers prove nothing.
    """
    if a.shape != rows.low.shape or not np.isfinite(a).all():
        return math.inf
    found = minorant(rows, multipliers, -a)
    mu = multipliers.mu
    if found is None or not (math.isfinite(cutoff) or mu == 0):
        return math.inf
    least = found.least(low, high)
    if not math.isfinite(least):
        return math.inf
    price = mu * cutoff if mu else 0.0
    total = price - least
    slack = 4 * UNIT * (abs(price) + abs(least)) + 2.0**-1070
    return math.nextafter(total + slack, math.inf) if mu else -least


def joined(rows: Rows, steps: Sequence[Step]) -> Rows:
    """The rows and limits with those of steps that hold."""
    low, high = rows.low.copy(), rows.high.copy()
    lines: list[Array] = []
    sides: list[float] = []
    for step in steps:
        match step:
            case DerivedLimit(column=j, sign=1, value=value):
                low[j] = max(low[j], value)
            case DerivedLimit(column=j, value=value):
                high[j] = min(high[j], value)
            case DerivedRow() | SwitchedRow():
                lines.append(step.a)
                sides.append(step.side)
    return replace(rows, conic=longer(rows.conic, lines, sides), low=low, high=high)


def longer(conic: ConicForm, lines: Sequence[Array], sides: Sequence[float]) -> ConicForm:
    """A conic form with rows a'x <= side at its end."""
    if not lines:
        return conic
    block = Block("nonneg", len(conic.b), len(lines))
    added = sp.csc_matrix(np.array(lines))
    return replace(
        conic,
        A=sp.vstack([conic.A, added], format="csc"),
        b=np.concatenate([conic.b, sides]),
        blocks=(*conic.blocks, block),
    )


METHOD = "branch and bound, every leaf by weak duality"
REMEMBERED = 256  # neighbouring leaves share their multipliers
LARGEST = 2.0**53  # beyond it at and at + 1 are not neighbours
LONGEST = 2**40  # multiples that are told apart


@dataclass(frozen=True)
class Branch:
    """Children for x_j <= at and for x_j >= at + 1, by their numbers."""

    column: int
    at: float
    below: int
    above: int


@dataclass(frozen=True)
class Leaf:
    """Closed by the multipliers of this number, as far as they close it; open where it is -1."""

    certificate: int


@dataclass(frozen=True, eq=False, repr=False)
class TreeProof(Printed):
    """What the module's docstring describes.

    cutoff: U; infinity without one.
    rounds, tuple of tuples of steps.
    certificates, tuple of SparseMultipliers.
    nodes: the first one is the root.
    """

    cutoff: float
    rounds: tuple[tuple[Step, ...], ...]
    certificates: tuple[SparseMultipliers, ...]
    nodes: tuple[Branch | Leaf, ...]

    def _title(self) -> str:
        return f"TreeProof: {count_text(len(self.nodes), 'node')} below {number_text(self.cutoff)}"


def tree_bound(subject: Subject, proof: TreeProof) -> LowerBound | Infeasible | None:
    """What a tree proves; None where it proves nothing.

    subject: a model that is convex once integrality is dropped.
    """
    rows = first_rows(subject, proof.cutoff)
    if rows is None or not isinstance(proof.cutoff, float) or math.isnan(proof.cutoff):
        return None
    for steps in proof.rounds:
        if not all(holds(subject, rows, step, proof.cutoff) for step in steps):
            return None
        rows = joined(rows, steps)
    step = lattice(subject)
    value = math.inf
    for found, low, high in _leaves(subject, rows, proof):
        value = min(value, _closed(found, low, high, step))
        if value == -math.inf:
            return None
    value = min(value, proof.cutoff)
    leaves = sum(isinstance(node, Leaf) for node in proof.nodes)
    words = f"{METHOD}, {leaves} {'leaf' if leaves == 1 else 'leaves'}"
    if value == math.inf:
        return Infeasible(subject=subject.form, words=words, seal=SEAL, evidence=proof)
    if not math.isfinite(value):
        return None
    return LowerBound(subject=subject.form, words=words, seal=SEAL, varying=value, evidence=proof)


def _closed(
    found: tuple[Minorant, float] | None, low: Array, high: Array, step: Fraction | None
) -> float:
    """Bound of a leaf; infinity where it has no point."""
    if (low > high).any():
        return math.inf
    if found is None:
        return -math.inf
    return leaf_value(*found, low, high, step)


def leaf_value(found: Minorant, mu: float, low: Array, high: Array, step: Fraction | None) -> float:
    """Lower bound on f in a box; infinity where the box has no point.

    mu: of the multipliers, 0 or 1: others prove nothing that these do not.
    step: what every value of f is a multiple of.
    """
    least = found.least(low, high)
    if mu == 0:
        return math.inf if least > 0 else -math.inf
    if mu != 1:
        return -math.inf
    return on_lattice(least, step)


def on_lattice(value: float, step: Fraction | None) -> float:
    """A bound rounded up to the next value that the objective can have."""
    if step is None or not math.isfinite(value):
        return value
    number = math.ceil(Fraction(value) / step)
    return max(value, rounded_down(number * step)) if abs(number) < LONGEST else value


@lru_cache(maxsize=16)
def lattice(subject: Subject) -> Fraction | None:
    """What every value of the objective is a whole multiple of; None where nothing is known."""
    goal, form = subject.form.objective, subject.form
    priced = np.flatnonzero(goal.a)
    if goal.Q.nnz or not len(priced) or not form.integer[priced].all():
        return None
    prices = [Fraction(float(a)) for a in np.unique(np.abs(goal.a[priced]))]
    step = prices[0]
    for price in prices[1:]:
        step = Fraction(
            math.gcd(step.numerator * price.denominator, price.numerator * step.denominator),
            step.denominator * price.denominator,
        )
    # Multiples of 1e-17 of the prices tell nothing apart.
    return step if prices[-1] / step < LONGEST else None


def _leaves(
    subject: Subject, rows: Rows, proof: TreeProof
) -> Iterator[tuple[tuple[Minorant, float] | None, Array, Array]]:
    """Minorant and box of every leaf; None in the place of one that has none.

    Raises nothing: a tree that is none has a leaf without a minorant.
    """
    integer, count = subject.form.integer, len(proof.nodes)

    remembered: dict[tuple[int, bytes], tuple[Minorant, float] | None] = {}

    def known(number: int, low: Array, high: Array) -> tuple[Minorant, float] | None:
        if not 0 <= number < len(proof.certificates):
            return None
        key = number, np.isfinite(np.concatenate([low, high])).tobytes()
        if key not in remembered:
            if len(remembered) >= REMEMBERED:
                remembered.clear()
            multipliers = proof.certificates[number]
            found = minorant(rows, multipliers, box=(low, high))
            remembered[key] = None if found is None else (found, multipliers.mu)
        return remembered[key]

    seen = np.zeros(count, dtype=bool)
    stack = [(0, rows.low, rows.high)]
    while stack:
        number, low, high = stack.pop()
        if not 0 <= number < count or seen[number]:
            yield None, rows.low, rows.high
            return
        seen[number] = True
        node = proof.nodes[number]
        if isinstance(node, Leaf):
            yield known(node.certificate, low, high), low, high
            continue
        j, at = node.column, node.at
        plain = type(j) is int and isinstance(at, float) and abs(at) < LARGEST
        if not (plain and 0 <= j < len(low) and integer[j] and at == math.floor(at)):
            yield None, rows.low, rows.high
            return
        below, above = high.copy(), low.copy()
        below[j], above[j] = min(below[j], at), max(above[j], at + 1)
        stack += [(node.below, low, below), (node.above, above, high)]
