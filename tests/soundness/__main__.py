"""The search by itself: python -m tests.soundness --cases 200 --seed 1 --jobs 1.

One line for each false claim, with the command that asks it again; then a table of the families.
With --out FILE outcomes are kept, and a run that was stopped goes on where it was. Leaves with 1
when a claim was false or something but a refusal was raised.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

from tests.soundness.families import FAMILIES, Outcome, cases_of, outcome_of

Task = tuple[str, int, int]


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soundness", description=__doc__)
    parser.add_argument("--cases", type=int, default=20, help="of each family, by its weight")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--family", action="append", choices=sorted(FAMILIES))
    parser.add_argument("--only", type=int, help="the number of one case of a family")
    parser.add_argument("--out", type=Path, help="outcomes, one line of JSON each; resumed")
    parser.add_argument("--verbose", action="store_true", help="a line for every case")
    return parser.parse_args(words)


def tasks(asked: argparse.Namespace) -> list[Task]:
    return [
        (name, asked.seed, number)
        for name in asked.family or FAMILIES
        for number in (range(cases_of(name, asked.cases)) if asked.only is None else [asked.only])
    ]


def kept(file: Path | None, seed: int) -> list[Outcome]:
    """Outcomes of an earlier run with this seed."""
    if file is None or not file.exists():
        return []
    lines = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]
    own = [line for line in lines if line.pop("seed") == seed]
    return [Outcome(**(line | {"false": tuple(line["false"])})) for line in own]


def outcomes(asked: Iterable[Task], jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        yield from (outcome_of(*task) for task in asked)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(outcome_of, *task) for task in asked]
        yield from (done.result() for done in as_completed(waiting))


def told(outcome: Outcome, seed: int, verbose: bool) -> None:
    again = f"--family {outcome.family} --seed {seed} --only {outcome.number}"
    for claim in outcome.false:
        print(f"FALSE   {claim}   [{again}]", flush=True)
    if outcome.crashed:
        print(f"CRASHED {outcome.name}: {outcome.crashed}   [{again}]", flush=True)
    elif verbose and not outcome.false:
        word = "refused" if outcome.refused else "ok" if outcome.certified else "open"
        print(f"{word:7s} {outcome.name} {outcome.refused}   [{again}]", flush=True)


def table(found: list[Outcome]) -> str:
    """A line for each family: cases, answers certified and open, refusals, false claims."""
    words = ("cases", "certified", "open", "refused", "crashed", "false")
    lines = [f"{'family':22s} {' '.join(f'{word:>9s}' for word in words)}  certified share"]
    for name in [*FAMILIES, "all"]:
        own = [o for o in found if name in ("all", o.family)]
        counts = [sum(column) for column in zip(*((
            o.certified, o.open, bool(o.refused), bool(o.crashed), len(o.false)
        ) for o in own), strict=True)]  # fmt: skip
        if own:
            told = " ".join(f"{count:9d}" for count in (len(own), *counts))
            lines.append(f"{name:22s} {told}  {counts[0] / max(sum(counts), 1):.0%}")
    return "\n".join(lines)


def main(words: list[str]) -> int:
    asked = arguments(words)
    known = {(o.family, asked.seed, o.number): o for o in kept(asked.out, asked.seed)}
    wanted = tasks(asked)
    found = [known[task] for task in wanted if task in known]
    for outcome in found:
        told(outcome, asked.seed, verbose=False)
    for outcome in outcomes([task for task in wanted if task not in known], asked.jobs):
        found.append(outcome)
        told(outcome, asked.seed, asked.verbose)
        if asked.out is not None:
            with asked.out.open("a") as file:
                file.write(json.dumps(asdict(outcome) | {"seed": asked.seed}) + "\n")
    print(table(found))
    return int(any(o.false or o.crashed for o in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
