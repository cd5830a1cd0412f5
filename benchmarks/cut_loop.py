"""A linear program solved again after every cut: CPU seconds of a round.

python -m benchmarks.cut_loop [n] [d] [rounds] [repeats]
"""

from __future__ import annotations

import gc
import sys
import time

from benchmarks import cut_loop_routes as loop
from benchmarks.measuring import in_turns
from benchmarks.report import Line, Table, show

ASKED = {
    loop.BY_HAND: {"at_most": 1.5},
    loop.APPSI: {"at_least": 2.5},
    loop.CONTRIB: {"at_least": 2.5},
    loop.REBUILD: {"at_least": 50.0},
}
NOTE = """A round adds a row, solves from the basis before, and reads w. The same rows for all;
{rounds} rounds, the rebuilt model {few}. Building and the first solve are not counted.
tightmargin decides for the {form} form by itself; all others solve the program as it is."""


def milliseconds_a_round(
    start: loop.Start, X: loop.Array, y: loop.Array, cuts: list[loop.Cut], few: int
) -> float:
    """Mean over the rounds of one run."""
    _, step = start(X, y)
    chosen = cuts[:few] if start is loop.rebuild else cuts
    gc.collect()
    began = time.process_time()
    for g, side in chosen:
        step(g, side)
    return 1000 * (time.process_time() - began) / len(chosen)


def measure(
    n: int = 500, d: int = 10, rounds: int = 200, repeats: int = 9, few: int = 20
) -> list[Table]:
    """Milliseconds a round of every route."""
    X, y, cuts = loop.instance(n, d, rounds)
    numbers = in_turns(
        loop.ROUTES,
        (X, y, cuts, few),
        (*loop.instance(20, 2, 3), few),
        repeats,
        at_most={loop.REBUILD: 1},
        measured=milliseconds_a_round,
    )
    lines = tuple(Line(name, runs, **ASKED.get(name, {})) for name, runs in numbers.items())
    title = f"cut loop, n = {n}, d = {d}, {rounds} rounds, a round"
    note = NOTE.format(rounds=rounds, few=few, form=loop.form_used(X, y))
    return [Table(title, "ms", lines, note)]


if __name__ == "__main__":
    show(measure(*(int(word) for word in sys.argv[1:])))
