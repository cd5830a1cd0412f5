"""A tree of boxes that covers all points, each leaf closed by the inequality of minorant.py.

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
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import count_text, number_text
from tightmargin.printing import Printed
from tightmargin.solvers.exact_arithmetic import rounded_down
from tightmargin.solvers.proofs.statement import SEAL, Infeasible, LowerBound
from tightmargin.solvers.proofs.subject import Subject
from tightmargin.solvers.proofs.tree.derived import Step, first_rows, holds, joined
from tightmargin.solvers.proofs.tree.minorant import Minorant, SparseMultipliers, minorant
from tightmargin.solvers.proofs.tree.rows import Rows

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

    Attributes
    ----------
    cutoff : float
        U; infinity without one.
    rounds : tuple of tuples of steps
    certificates : tuple of SparseMultipliers
    nodes : tuple
        The first one is the root.
    """

    cutoff: float
    rounds: tuple[tuple[Step, ...], ...]
    certificates: tuple[SparseMultipliers, ...]
    nodes: tuple[Branch | Leaf, ...]

    def _title(self) -> str:
        return f"TreeProof: {count_text(len(self.nodes), 'node')} below {number_text(self.cutoff)}"


def tree_bound(subject: Subject, proof: TreeProof) -> LowerBound | Infeasible | None:
    """What a tree proves; None where it proves nothing.

    Parameters
    ----------
    subject : Subject
        A model that is convex once integrality is dropped.
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
        return Infeasible(subject=subject.form, words=words, seal=SEAL)
    if not math.isfinite(value):
        return None
    return LowerBound(subject=subject.form, words=words, seal=SEAL, varying=value)


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

    Parameters
    ----------
    mu : float
        Of the multipliers, 0 or 1: others prove nothing that these do not.
    step : Fraction or None
        What every value of f is a multiple of.
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
