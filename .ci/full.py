"""All that is too long to wait for, one step after the other; resumes.

    python .ci/full.py [--fresh] [--workers N] [--cases N] [--seed N]

suite        every test, also those marked `full`, and all rows of a product that is covered
soundness    --cases cases of each family of the random search for false claims
processors   `make test-processors` with one number of threads a kind of processor
lowest       `make test-lowest`: every test on the oldest versions that pyproject.toml admits

Prints one line a step, and keeps in out/full.json what has passed for this code and these numbers:
that is not run again. A search or a table of processors that was stopped goes on in its middle.
What a step prints is in out/full/. Leaves with 1 unless every step has passed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from processors import code_now

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out"
CASES = 200  # of each family of the search: with it all steps take at most 90 minutes
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# What this run was given stays with it.
OWN = ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "TIGHTMARGIN_FULL")


@dataclass(frozen=True)
class Step:
    """A command, what it is set in, and what it is told about."""

    name: str
    command: list[str]
    variables: dict[str, str] = field(default_factory=dict)
    note: str = ""


def steps(workers: int, cases: int, seed: int, found: Path) -> list[Step]:
    """In the order in which they are run; `found` keeps the outcomes of the search."""
    own = f"WORKERS={workers}"
    search = [
        sys.executable, "-m", "tests.soundness", f"--cases={cases}", f"--seed={seed}",
        f"--jobs={workers}", f"--out={found}",
    ]  # fmt: skip
    note = f"{cases} cases of each family, seed {seed}"
    return [
        Step("suite", ["make", "test", own], {"TIGHTMARGIN_FULL": "1"}),
        Step("soundness", search, ONE_THREAD, note),
        Step("processors", ["make", "test-processors", own, "ARGS=--few"]),
        Step("lowest", ["make", "test-lowest", own]),
    ]


def run(step: Step) -> int:
    """Exit code of a step, whose words go to its log."""
    kept = {name: value for name, value in os.environ.items() if name not in OWN}
    with (OUT / "full" / f"{step.name}.log").open("w") as log:
        ended = subprocess.run(
            step.command,
            cwd=ROOT,
            env=kept | step.variables,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return ended.returncode


def read_kept(of: str) -> dict[str, int]:
    """Seconds of the steps that have passed for this code and these numbers."""
    file = OUT / "full.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    return dict(kept.get("passed", {})) if kept.get("of") == of else {}


def keep(of: str, passed: dict[str, int]) -> None:
    """Write the file whole or not at all."""
    unfinished = OUT / "full.json.new"
    unfinished.write_text(json.dumps({"of": of, "passed": passed}, indent=1) + "\n")
    unfinished.replace(OUT / "full.json")


def main(words: list[str]) -> int:
    """Run what has not passed yet; 0 when every step has."""
    parser = argparse.ArgumentParser(description="All that is too long to wait for.")
    parser.add_argument("--fresh", action="store_true", help="forget what has passed")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--cases", type=int, default=CASES, help="of each family of the search")
    parser.add_argument("--seed", type=int, help="of the search; otherwise drawn from the code")
    asked = parser.parse_args(words)
    (OUT / "full").mkdir(parents=True, exist_ok=True)
    code = code_now()
    seed = int(code[:7], 16) if asked.seed is None else asked.seed
    # How many processes there are does not change what is asked.
    of = f"{code} {asked.cases} {seed}"
    passed = {} if asked.fresh else read_kept(of)
    found = OUT / "full" / f"soundness-{code}-{seed}.jsonl"
    if asked.fresh:
        found.unlink(missing_ok=True)
    failed = False
    for step in steps(asked.workers, asked.cases, seed, found):
        told = f"{step.name:<12}"
        if step.name in passed:
            print(f"{told}{passed[step.name]:>6} s  passed before", flush=True)
            continue
        began = time.monotonic()
        try:
            code_of_step = run(step)
        except KeyboardInterrupt:
            print(f"{told}stopped. The same command goes on here.", flush=True)
            return 130
        seconds = round(time.monotonic() - began)
        if code_of_step:
            failed = True
            ended = f"FAILED with {code_of_step}, see {OUT / 'full' / step.name}.log"
        else:
            ended = "passed"
            keep(of, passed := passed | {step.name: seconds})
        note = f"  ({step.note})" if step.note else ""
        print(f"{told}{seconds:>6} s  {ended}{note}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
