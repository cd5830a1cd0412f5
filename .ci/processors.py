"""The test suite as other processors compute it, one setting after the other; resumes.

numpy's and scipy's OpenBLAS choose their kernels by the processor, and numpy its loops: sums are
added up in another order, products are fused or not, and last bits differ. Both can be told by a
variable to compute as an older processor would. `make test-processors` runs the whole suite in two
such settings and the numerical tests in the others, keeps in out/processors/ which ones passed,
and prints a table. Settings that this processor cannot take are skipped.

    python .ci/processors.py [--fresh] [--few] [--list] [--workers N] [arguments of pytest]

Every kind of processor with one thread and with two; with --few each with one of these numbers.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, dataclass
from pathlib import Path

from numpy._core import _multiarray_umath as numpy_core

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "out" / "processors"

# What is not run again in every setting: words, files, processes and pictures, whose outcome no
# last bit can change. Every other file is numerical, and a new one is until it is named here.
NOT_NUMERICAL = (
    "notebooks",
    "tests/project/test_benchmarks.py",
    "tests/experiments/cli/test_cli.py",
    "tests/experiments/studies/test_cluster.py",
    "tests/experiments/studies/test_code_digest.py",
    "tests/project/test_ci_scripts.py",
    "tests/project/test_docs.py",
    "tests/solvers/test_doctor.py",
    "tests/solvers/files/test_export.py",
    "tests/project/test_structure.py",
    "tests/solvers/execution/test_interrupts.py",
    "tests/solvers/execution/test_live_line.py",
    "tests/solvers/isolated/test_isolated.py",
    "tests/solvers/backends/test_logs.py",
    "tests/project/test_printing.py",
    "tests/experiments/reproduce/test_framework.py",
    "tests/solvers/test_result_files.py",
    "tests/experiments/studies/test_runner.py",
    "tests/faults/test_file_rows.py",
)


@dataclass(frozen=True)
class Processor:
    """A kind of processor: OpenBLAS' name for it, what it must have, and numpy's loops for it."""

    core: str
    needs: str
    loops: tuple[str, ...]


# Wider loops than those of `loops` are taken from numpy. The groups are those of numpy >= 2.4.
PROCESSORS = (
    Processor("Prescott", "SSE3", ()),
    Processor("Sandybridge", "AVX", ()),
    Processor("Haswell", "AVX2", ("X86_V3",)),
    Processor("SkylakeX", "AVX512_SKX", ("X86_V3", "X86_V4")),
)
# The narrowest with one thread as in `make test`, the widest with two: between them lies the rest.
WHOLE = (("Prescott", 1), ("SkylakeX", 2))


@dataclass(frozen=True)
class Setting:
    """A processor and a number of threads of OpenBLAS and OpenMP."""

    processor: Processor
    threads: int

    @property
    def name(self) -> str:
        """As in the table and in the names of files."""
        return f"{self.processor.core}-{self.threads}"

    @property
    def whole(self) -> bool:
        """Whether every test is run."""
        return (self.processor.core, self.threads) in WHOLE

    def variables(self) -> dict[str, str]:
        """Environment of the tests."""
        # What was taken from this process before is not to come back.
        taken = os.environ.get("NPY_DISABLE_CPU_FEATURES", "").split()
        available = [one for one in numpy_core.__cpu_dispatch__ if has(one) or one in taken]
        wider = [one for one in available if one not in self.processor.loops]
        return {
            "OPENBLAS_CORETYPE": self.processor.core,
            "NPY_DISABLE_CPU_FEATURES": " ".join(wider),
            "OPENBLAS_NUM_THREADS": str(self.threads),
            "OMP_NUM_THREADS": str(self.threads),
            "MPLBACKEND": "Agg",
        }


@dataclass(frozen=True)
class Outcome:
    """What a run of a setting ended with."""

    passed: int
    failed: int
    seconds: int
    code: str


def has(feature: str) -> bool:
    """Whether this processor has what numpy calls `feature`."""
    return bool(numpy_core.__cpu_features__.get(feature))


def settings(*, few: bool = False) -> list[Setting]:
    """Those that this processor can take, whole runs last; of few each second one."""
    taken = [
        Setting(one, n)
        for k, one in enumerate(PROCESSORS)
        if has(one.needs)
        for n in ((1 + k % 2,) if few else (1, 2))
    ]
    return sorted(taken, key=lambda setting: setting.whole)


def code_now() -> str:
    """Digest of every file that a test may read: a run of other code says nothing of this one."""
    folders = ["benchmarks", "cuts", "docs", "experiments", "formulations", "notebooks", "solvers"]
    files = [path for name in [*folders, "tests"] for path in (ROOT / name).rglob("*")]
    files += (ROOT / "tightmargin").glob("*.py*")
    files += [
        ROOT / name for name in ("pyproject.toml", "constraints.txt", "README.md", "Makefile")
    ]
    kinds = {".py", ".ipynb", ".toml", ".md", ".json", ".jsonl", ".csv", ""}
    total = hashlib.sha256()
    for path in sorted(set(files)):
        if path.is_file() and path.suffix in kinds:
            total.update(f"{path.relative_to(ROOT)}\n".encode())
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


def read_kept() -> dict[str, Outcome]:
    """Outcomes of earlier runs, by setting."""
    file = KEPT / "finished.json"
    if not file.exists():
        return {}
    return {name: Outcome(**row) for name, row in json.loads(file.read_text()).items()}


def keep(outcomes: dict[str, Outcome]) -> None:
    """Write them, whole or not at all."""
    unfinished = KEPT / "finished.json.new"
    rows = {name: asdict(outcome) for name, outcome in outcomes.items()}
    unfinished.write_text(json.dumps(rows, indent=1) + "\n")
    unfinished.replace(KEPT / "finished.json")


def run(setting: Setting, workers: int, arguments: list[str], code: str) -> Outcome | None:
    """Run the tests of a setting; None if pytest itself was stopped or did not start."""
    report, log = KEPT / f"{setting.name}.xml", KEPT / f"{setting.name}.log"
    report.unlink(missing_ok=True)
    ignored = [] if setting.whole else [f"--ignore={path}" for path in NOT_NUMERICAL]
    command = [
        sys.executable, "-m", "pytest", "-n", str(workers), "--dist", "worksteal",
        "-p", "no:cacheprovider", f"--junitxml={report}", *ignored, *arguments,
    ]  # fmt: skip
    began = time.monotonic()
    with log.open("w") as stream:
        ended = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **setting.variables()},
            stdout=stream,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if ended.returncode not in (0, 1):
        print(f"{setting.name}: pytest ended with {ended.returncode}, see {log}", file=sys.stderr)
        return None
    found = ElementTree.parse(report).getroot().find("testsuite")
    assert found is not None
    failed = int(found.get("failures", 0)) + int(found.get("errors", 0))
    passed = int(found.get("tests", 0)) - failed - int(found.get("skipped", 0))
    return Outcome(passed, failed, round(time.monotonic() - began), code)


def table(chosen: list[Setting], outcomes: dict[str, Outcome], code: str) -> str:
    """One line a setting."""
    lines = [f"{'setting':<16}{'tests':<11}{'passed':>8}{'failed':>8}{'seconds':>9}"]
    for setting in chosen:
        tests = "all" if setting.whole else "numerical"
        one = outcomes.get(setting.name)
        if one is None or one.code != code:
            numbers = f"{'-':>8}{'-':>8}{'-':>9}"
        else:
            numbers = f"{one.passed:>8}{one.failed:>8}{one.seconds:>9}"
        lines.append(f"{setting.name:<16}{tests:<11}{numbers}")
    missing = [one.core for one in PROCESSORS if not has(one.needs)]
    lines += [f"skipped, this processor has no {name} kernels" for name in missing]
    return "\n".join(lines)


def main() -> int:
    """Run what has not passed yet; 0 when every setting has."""
    parser = argparse.ArgumentParser(description="The tests as other processors compute them.")
    parser.add_argument("--fresh", action="store_true", help="forget what has passed")
    parser.add_argument("--few", action="store_true", help="one number of threads a processor")
    parser.add_argument("--list", action="store_true", help="print the table and run nothing")
    parser.add_argument("--workers", type=int, default=2, help="processes of tests")
    chosen, arguments = parser.parse_known_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    code = f"{code_now()} {' '.join(arguments)}".strip()
    outcomes = {} if chosen.fresh else read_kept()
    everything = settings(few=chosen.few)
    passed = 0
    for setting in everything:
        one = outcomes.get(setting.name)
        if not (one and one.code == code and not one.failed) and not chosen.list:
            print(f"{setting.name} ...", file=sys.stderr)
            try:
                one = run(setting, chosen.workers, arguments, code)
            except KeyboardInterrupt:
                print("Stopped. The same command goes on here.", file=sys.stderr)
                break
            if one is None:
                break
            outcomes[setting.name] = one
            keep(outcomes)
        passed += bool(one and one.code == code and not one.failed)
    print(table(everything, outcomes, code))
    return 0 if passed == len(everything) else 1


if __name__ == "__main__":
    sys.exit(main())
