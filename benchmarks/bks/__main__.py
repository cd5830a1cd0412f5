"""Fill the table of best known values; BKS.md.

python -m benchmarks.bks                       every row that is not done yet, easy ones first
python -m benchmarks.bks 'n60d5*' --limit 60   the rows of some instances
python -m benchmarks.bks n60d2ATj0 1           one row, run again, with its proof file
python -m benchmarks.bks 'n60d2*' 1 10 --rungs rungs of the ladder of rows
python -m benchmarks.bks --errors              errors alone, without a margin

Every finished row is kept at once; instances whose points are not at hand are left out with a word.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from benchmarks.bks import counting, rungs
from benchmarks.bks.instances import INSTANCES, Instance, named
from benchmarks.bks.page import page, percent
from benchmarks.bks.rows import HOME, STORE, is_done, keep, kept, solved
from benchmarks.bks.submissions import submitted

PAGE = HOME.parent / "BKS.md"
LIMIT = 20.0
PROOF_BELOW = 1.0
Work = list[tuple[Instance, float]]


def main(words: Sequence[str] | None = None) -> None:
    """Run what was asked and is not done, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="?", default="*", help="an instance, or a pattern of names")
    parser.add_argument(
        "C", nargs="*", type=float, help="values of C; those of the table otherwise"
    )
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds a row or a rung")
    parser.add_argument("--budget", type=float, help="seconds after which no row is begun")
    parser.add_argument(
        "--proof-below",
        type=float,
        default=PROOF_BELOW,
        help="seconds of a solve over cones up to which its proof file is written, ten times those "
        "of one over conflicts; 0 for never",
    )
    parser.add_argument("--rungs", action="store_true", help="rungs of the ladder, not the rows")
    parser.add_argument("--errors", action="store_true", help="errors alone, not the rows")
    asked = parser.parse_args(words)
    if not asked.limit > 0:
        parser.error("--limit is a positive number of seconds")
    try:
        work = chosen(named(asked.name), asked.C)
    except ValueError as error:
        parser.error(str(error))
    ends = float("inf") if asked.budget is None else time.monotonic() + asked.budget
    try:
        if asked.errors:
            _count(asked.limit, ends)
        elif asked.rungs:
            _climb(work, asked.limit, ends)
        else:
            again = asked.name in INSTANCES and bool(asked.C)
            _fill(work, asked.limit, asked.proof_below, ends, again=again)
    finally:  # what was kept before Ctrl-C is shown
        write()


def chosen(instances: Sequence[Instance], prices: Sequence[float]) -> Work:
    """Instances with their C, or with those of the given ones that they have.

    Raises
    ------
    ValueError
        A C that none of them has.
    """
    for C in prices:
        if not any(C in instance.prices for instance in instances):
            known = sorted({price for instance in instances for price in instance.prices})
            raise ValueError(f"C = {C:g} is not in the table: {', '.join(f'{p:g}' for p in known)}")
    return [(one, C) for one in instances for C in one.prices if not prices or C in prices]


def write() -> None:
    """Write the page from what is kept."""
    text = page(kept(STORE), submitted(), rungs.kept(), counting.kept())
    PAGE.write_text(text, encoding="utf-8")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _at_hand(work: Work) -> Work:
    for text in dict.fromkeys(instance.missing for instance, _ in work if instance.missing):
        _say(f"left out: {text}")
    return [(instance, C) for instance, C in work if not instance.missing]


def _fill(work: Work, limit: float, proof_below: float, ends: float, *, again: bool) -> None:
    rows = kept(STORE)
    for instance, C in _at_hand(work):
        if not again and is_done(rows, (instance.name, C), limit):
            continue
        if time.monotonic() >= ends:
            _say("the budget is spent; the same command goes on")
            return
        row = solved(instance, C, limit, proof_below)
        keep(STORE, row)
        said = "proof file checked" if row.proof else "no proof file"
        _say(
            f"{row.instance} C = {C:g}: {row.objective:.6f}, bound {row.bound:.6f}, gap "
            f"{percent(row.gap)} %, {row.seconds:.2f} s, {row.verdict} by {row.method}, {said}"
        )


def _climb(work: Work, limit: float, ends: float) -> None:
    done = {row.key for row in rungs.kept()}
    for instance, C in _at_hand(work):
        if (instance.name, C) in done:
            continue
        if time.monotonic() >= ends:
            _say("the budget is spent; the same command goes on")
            return
        for row in list(rungs.bounded(instance, C, limit)):
            keep(rungs.STORE, row)
            _say(f"{row.instance} C = {C:g}: {row.rung}: {row.bound} {row.remark}")


def _count(limit: float, ends: float) -> None:
    done = {row.instance for row in counting.kept() if row.limit >= limit}
    work: Work = [(INSTANCES[name], 1.0) for name in counting.SETS if name not in done]
    for instance, _ in _at_hand(work):
        if time.monotonic() >= ends:
            return
        row = counting.counted(instance.name, limit)
        keep(counting.STORE, row)
        _say(f"{row.instance}: {row.errors} errors, at least {row.bound}, {row.seconds:.1f} s")


if __name__ == "__main__":
    main()
