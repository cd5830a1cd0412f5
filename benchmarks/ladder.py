"""How far each rung of the ladder is from the 0-1 optimum; writes LADDER.md and docs/guide.md.

python -m benchmarks.ladder        some minutes: eight instances, and the three of the guide
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.measuring import ROOT
from benchmarks.report import machine
from tightmargin.experiments.gap_study.ladder import LADDER
from tightmargin.experiments.gap_study.study import LADDER_INSTANCES, GapStudy, Instance, run
from tightmargin.experiments.gap_study.table import percent, seconds_text, to_markdown
from tightmargin.experiments.plots import save_figure
from tightmargin.solvers.kernel.verdict import Verdict

EXACT_TIME = 10.0  # seconds of SCIP, which starts from our incumbent; cones prove small ones
BEGIN, END = "<!-- ladder: begin -->", "<!-- ladder: end -->"
PICTURE = ".github/ladder.png"

# What the design of the project expected of the median, in percent.
EXPECTED = {"SDP": "about 49", "SDP, tightened bounds": "about 8"}


@dataclass(frozen=True)
class Case:
    """An instance of the generator of Cepeda, Gomez & Han (2024), penalty 1."""

    kind: str
    n: int
    d: int
    sigma: float
    seed: int

    @property
    def instance(self) -> Instance:
        """The same for a gap study."""
        spec = f"{self.kind},n={self.n},d={self.d},sigma={self.sigma},seed={self.seed}"
        return Instance(spec, spec, f"synthetic:{spec}", {"penalty": 1.0})


CASES = (
    Case("clustered", 40, 3, 0.5, 1),
    Case("clustered", 40, 3, 0.2, 2),
    Case("clustered", 40, 5, 0.5, 3),
    Case("clustered", 60, 3, 0.5, 4),
    Case("clustered", 60, 4, 0.2, 5),
    Case("spread", 60, 3, 0.5, 6),
    Case("clustered", 80, 3, 0.5, 7),
    Case("clustered", 50, 4, 0.5, 8),
)


def studied(case: Case) -> GapStudy:
    """The whole ladder of a case."""
    *_, found = run(case.instance, LADDER, exact_time=EXACT_TIME)
    return found


def gap_of(study: GapStudy, label: str) -> float | None:
    """Relative gap of a rung; None where it is left out or proves nothing."""
    row = next((row for row in study.comparison.rows if row.label == label), None)
    return None if row is None else study.comparison.relative_gap(row)


def medians(studies: Sequence[GapStudy]) -> list[tuple[str, ...]]:
    """Rung, least, median and greatest gap, on how many instances, median seconds, expectation."""
    lines = []
    for rung in LADDER:
        gaps = [gap for study in studies if (gap := gap_of(study, rung.name)) is not None]
        seconds = [r.seconds for s in studies for r in s.comparison.rows if r.label == rung.name]
        cells = ("-", "-", "-", "0", "-")
        if gaps:
            ends = (min(gaps), statistics.median(gaps), max(gaps))
            cells = (*map(percent, ends), str(len(gaps)), seconds_text(statistics.median(seconds)))
        lines.append((rung.name, *cells, EXPECTED.get(rung.name, "")))
    return lines


def text(studies: Sequence[GapStudy], documented: Sequence[GapStudy]) -> str:
    """LADDER.md."""
    head = ("rung", "least gap, %", "median, %", "greatest, %", "instances", "median s", "expected")
    complaints = [line for s in (*studies, *documented) for line in (*s.complaints, *_unproven(s))]
    parts = [
        "# The ladder of bounds on the 0-1 optimum",
        "Written by `python -m benchmarks.ladder`. Gaps are (optimum - proven bound) / optimum. "
        "One thread; the seconds of a\nrung contain the computations it needs, and belong to the "
        "machine.",
        "## The generator of Cepeda, Gomez & Han (2024), penalty 1",
        _table(head, medians(studies)),
        "Expected is what a prototype of this ladder reached. Instances, with their optima:",
        "\n".join(f"- {study.instance.name}: {_optimum(study)}" for study in studies),
        "## Three instances",
        to_markdown(documented),
        "## What is not proven, and why",
        "\n".join(f"- {line}" for line in complaints) or "Nothing: every bound is certified.",
        machine(),
    ]
    return "\n\n".join(parts) + "\n"


def _optimum(study: GapStudy) -> str:
    exact, upper = study.comparison.exact, study.comparison.upper
    if exact is None or upper is None:
        return "no point known"
    if exact.certificate.verdict is Verdict.CERTIFIED:
        return f"{upper:.4f}, proven"
    bounds = [row.bound for row in study.comparison.rows if row.bound is not None]
    return f"{upper:.4f}, the best point known; the best bound above is {max(bounds):.4f}"


def _unproven(study: GapStudy) -> Iterable[str]:
    for row in study.comparison.rows:
        if row.bound is None:
            yield f"{study.instance.name}: {row.label}: {row.remark}"


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def with_ladder(readme: str, documented: Sequence[GapStudy]) -> str:
    """Text of the guide with the table between the markers replaced."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{to_markdown(documented)}\n{END}{after}"


def main() -> None:
    """Run everything and write the files."""
    studies = []
    for case in CASES:
        print(case.instance.name, file=sys.stderr, flush=True)
        studies.append(studied(case))
    documented = []
    for instance in LADDER_INSTANCES:
        print(instance.name, file=sys.stderr, flush=True)
        *_, found = run(instance, LADDER)
        documented.append(found)
    (ROOT / "benchmarks/LADDER.md").write_text(text(studies, documented), encoding="utf-8")
    guide = ROOT / "docs" / "guide.md"
    guide.write_text(with_ladder(guide.read_text(encoding="utf-8"), documented), encoding="utf-8")
    save_figure(documented, ROOT / PICTURE)


if __name__ == "__main__":
    main()
