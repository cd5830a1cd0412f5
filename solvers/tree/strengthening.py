"""At the root: limits of columns and small M, from a cutoff and the relaxation.

Each is the most that a row can be below the cutoff, by weak duality with a price mu on the
objective: max a'x - mu (f(x) - U) over the relaxation, which is least at the best mu. A large M
that switches a row off becomes that number, and nobody has to know where the row came from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines.running import WorkCount
from tightmargin.solvers.kernel.bound import Rows, SparseMultipliers
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.tree import (
    DerivedLimit,
    Step,
    SwitchedRow,
    binary,
    first_rows,
    holds,
    joined,
    most,
)
from tightmargin.solvers.tree.node import NodeSolver

SWEEPS = 3
PRICES = 5  # values of mu that are tried for one row
WORTHWHILE = 0.02  # of what a switched-off row leaves: a smaller change is none
SLIM = 1e-3  # of a column's width
COLUMNS = 60  # whose limits are looked for


@dataclass
class Root:
    """Rows with what was derived, and how.

    live (m,): rows that no derived one makes superfluous.
    rounds, list of tuples of steps.
    """

    rows: Rows
    live: NDArray[np.bool_]
    rounds: list[tuple[Step, ...]] = field(default_factory=list)
    prices: dict[tuple[str, int], float] = field(default_factory=dict)

    def add(self, steps: Sequence[Step]) -> None:
        """Join steps that hold."""
        if not steps:
            return
        self.rounds.append(tuple(steps))
        first = len(self.rows.conic.b)
        self.rows = joined(self.rows, steps)
        rows = [step for step in steps if not isinstance(step, DerivedLimit)]
        self.live = np.append(self.live, np.ones(len(rows), dtype=bool))
        for number, row in enumerate(rows, start=first):
            if isinstance(row, SwitchedRow):
                self.live[row.old] = False
                if ("row", row.old) in self.prices:
                    self.prices["row", number] = self.prices["row", row.old]


def planted(subject: Subject, cutoff: float, old: Root | None = None) -> Root:
    """Rows and limits below a cutoff, with the rounds of an earlier root that hold there too."""
    rows = first_rows(subject, cutoff)
    assert rows is not None
    root = Root(rows, np.ones(len(rows.conic.b), dtype=bool))
    for steps in () if old is None else old.rounds:
        if not all(holds(subject, root.rows, step, cutoff) for step in steps):
            return root
        root.add(steps)
    return root


@dataclass
class Strengthening:
    """Rounds of derived steps, until they bring nothing or the stage ends.

    cutoff: finite, without the constant of the objective.
    bound: the best lower bound known.
    work: counts the relaxations.
    is_over() -> bool: whether the stage has had its share, or somebody wants an end.
    """

    subject: Subject
    root: Root
    cutoff: float
    bound: float
    threads: int | None
    work: WorkCount
    is_over: Callable[[], bool]

    def run(self) -> None:
        """Add rounds to the root."""
        for sweep in range(SWEEPS):
            rows = self.root.rows
            solver = NodeSolver(rows, self.root.live, self.threads, self.work)
            limits = list(self._limits(rows, solver)) if sweep == 0 else []
            if limits:
                self.root.add(limits)
                rows = self.root.rows
                solver = NodeSolver(rows, self.root.live, self.threads, self.work)
            switched = list(self._switched(rows, solver))
            self.root.add(switched)
            if not switched or (self.root.rows.low > self.root.rows.high).any():
                return

    def _limits(self, rows: Rows, solver: NodeSolver) -> Iterator[Step]:
        """Narrower limits of the columns that switched rows hold."""
        integer = self.subject.form.integer
        counts = np.diff(rows.conic.A.indptr)
        open_sides = ~np.isfinite(rows.low) | ~np.isfinite(rows.high)
        asked = np.flatnonzero(~integer & ((counts > 1) | open_sides))
        order = np.argsort(-(counts + 1e6 * open_sides)[asked], kind="stable")
        for j in asked[order][:COLUMNS].tolist():
            for sign in (1, -1):
                if self.is_over():
                    return
                along = np.zeros(len(rows.low))
                along[j] = -sign
                found = self._most(
                    rows, solver, along, rows.low, rows.high, ("column", 2 * j + (sign > 0))
                )
                if found is None:
                    continue
                value, multipliers = -sign * found[0] + 0.0, found[1]
                now = rows.low[j] if sign > 0 else rows.high[j]
                width = (
                    max(1e-9, abs(value)) if not np.isfinite(now) else rows.high[j] - rows.low[j]
                )
                if not np.isfinite(now) or sign * (value - now) > SLIM * width:
                    step = DerivedLimit(j, sign, value, multipliers)
                    if holds(self.subject, rows, step, self.cutoff):
                        yield step

    def _switched(self, rows: Rows, solver: NodeSolver) -> Iterator[Step]:
        """Rows with one binary column, made as strong as they can be where it switches them off."""
        binaries = binary(self.subject, rows) & (rows.low < rows.high)
        integer, conic = self.subject.form.integer, rows.conic
        for block in conic.blocks_of("nonneg"):
            for row in range(block.start, block.start + block.size):
                if not self.root.live[row]:
                    continue
                if self.is_over():
                    return
                line = rows.lines[row]
                columns, numbers = line.indices, line.data
                mine = np.flatnonzero(binaries[columns])
                if len(mine) != 1 or integer[columns].all():
                    continue
                step = self._switch(rows, solver, row, columns, numbers, int(mine[0]))
                if step is not None and holds(self.subject, rows, step, self.cutoff):
                    yield step

    def _switch(
        self, rows: Rows, solver: NodeSolver, row: int, columns: Array, numbers: Array, mine: int
    ) -> SwitchedRow | None:
        j, c, side = int(columns[mine]), float(numbers[mine]), float(rows.conic.b[row])
        a = np.zeros(len(rows.low))
        a[columns] = numbers
        a[j] = 0.0
        at = 0 if c > 0 else 1
        low, high = rows.low.copy(), rows.high.copy()
        low[j] = high[j] = at
        found = self._most(rows, solver, a, low, high, ("row", row))
        if found is None:
            return None
        tight, loose = side - c * (1 - at), side - c * at
        value = max(found[0], tight)
        if not value < loose - WORTHWHILE * (loose - tight) - 1e-9:
            return None
        new_side = math.nextafter(value if at == 0 else tight, math.inf)
        new = new_side - (tight if at == 0 else value)
        # Outwards by two roundings, so that both ends hold in exact arithmetic.
        if at == 0:
            new = new_side - tight
        a[j] = math.nextafter(math.nextafter(new, -math.inf), -math.inf)
        return SwitchedRow(a, new_side, row, j, at, found[1])

    def _most(
        self,
        rows: Rows,
        solver: NodeSolver,
        a: Array,
        low: Array,
        high: Array,
        key: tuple[str, int],
    ) -> tuple[float, SparseMultipliers] | None:
        """The least proven number that a'x does not exceed, over a few prices mu."""
        gap = max(self.cutoff - self.bound, 1e-9 * max(1.0, abs(self.cutoff)))
        size = float(np.linalg.norm(a))
        mu = self.root.prices.get(key) or size / math.sqrt(2 * gap) or 1.0
        best: tuple[float, SparseMultipliers] | None = None
        over = under = 0.0
        for _ in range(PRICES):
            found = solver.solve(low, high, -a / mu)
            if found is None:
                break
            m = found.multipliers
            scaled = SparseMultipliers(mu * m.mu, m.rows, mu * m.z, m.columns, m.x)
            top = most(rows, a, scaled, self.cutoff, low, high)
            if math.isfinite(top) and (best is None or top < best[0]):
                best = (top, scaled)
                self.root.prices[key] = mu
            if not m.mu:
                break
            rise = self.subject.form.objective.varying(found.x) - self.cutoff
            if abs(rise) <= WORTHWHILE * max(gap, abs(self.cutoff) * 1e-3):
                break
            over, under = (over, mu) if rise > 0 else (mu, under)
            mu = math.sqrt(over * under) if over and under else (mu * 4 if rise > 0 else mu / 4)
        return best
