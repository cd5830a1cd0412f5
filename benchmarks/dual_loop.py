"""The cut loop with many points: the explicit dual of the program against the program itself.

python -m benchmarks.dual_loop [n] [d] [rounds] [repeats]
"""

from __future__ import annotations

import gc
import sys
import time
from functools import partial

from benchmarks import cut_loop_routes as loop
from benchmarks.measuring import in_turns
from benchmarks.report import OURS, Line, Table, show

DUAL, PRIMAL = f"{OURS}, dual form", f"{OURS}, primal form"
ROUTES = {
    DUAL: partial(loop.live, form="dual"),
    PRIMAL: partial(loop.live, form="primal"),
    loop.BY_HAND: loop.by_hand,
}
FIRST, ROUND = {PRIMAL: {"at_least": 8.0}}, {PRIMAL: {"at_least": 3.0}}
NOTE = (
    "The dual form has d + 2 rows, and a cut is a column; the same rows for all, {rounds} rounds."
)


def seconds_and_milliseconds(
    start: loop.Start, X: loop.Array, y: loop.Array, cuts: list[loop.Cut]
) -> tuple[float, float]:
    """CPU seconds to the first solution, CPU milliseconds a round, of one run."""
    gc.collect()
    began = time.process_time()
    _, step = start(X, y)
    solved = time.process_time()
    for g, side in cuts:
        step(g, side)
    return solved - began, 1000 * (time.process_time() - solved) / len(cuts)


def measure(n: int = 10_000, d: int = 10, rounds: int = 30, repeats: int = 3) -> list[Table]:
    """First solve and rounds of every route."""
    numbers = in_turns(
        ROUTES,
        loop.instance(n, d, rounds),
        loop.instance(20, 2, 3),
        repeats,
        measured=seconds_and_milliseconds,
    )
    title, note = f"cut loop, n = {n}, d = {d}", NOTE.format(rounds=rounds)
    tables = []
    for k, (part, unit, asked) in enumerate(
        [("arrays to first solution", "s", FIRST), ("a round", "ms", ROUND)]
    ):
        lines = tuple(
            Line(name, tuple(run[k] for run in runs), **asked.get(name, {}))
            for name, runs in numbers.items()
        )
        tables.append(Table(f"{title}, {part}", unit, lines, note))
    return tables


if __name__ == "__main__":
    show(measure(*(int(word) for word in sys.argv[1:])))
