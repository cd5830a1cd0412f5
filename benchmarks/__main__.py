"""Run all benchmarks; write RESULTS.md and the section of docs/guide.md that quotes it.

python -m benchmarks          what `make bench` runs, a few minutes
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

from benchmarks import (
    certificates,
    conic_forms,
    conic_path,
    conic_translation,
    cut_loop,
    dual_loop,
    nu_lp,
    nu_lp_memory,
    rsvm,
    sparse_points,
    start,
)
from benchmarks.measuring import ROOT
from benchmarks.report import Table, quoted, results, with_quotation

MEASURES: tuple[Callable[[], list[Table]], ...] = (
    partial(nu_lp.measure, d=30),
    partial(nu_lp.measure, d=100),
    nu_lp_memory.measure,
    cut_loop.measure,
    dual_loop.measure,
    conic_translation.measure,
    partial(conic_forms.measure, d=3),
    partial(conic_forms.measure, d=10),
    conic_path.measure,
    rsvm.measure,
    certificates.measure,
    sparse_points.measure,
    start.measure,
)


def main() -> None:
    """Write both files and print the summary."""
    tables = []
    for measure in MEASURES:
        started = time.perf_counter()
        found = measure()
        tables += found
        seconds = time.perf_counter() - started
        sys.stderr.write(f"{'; '.join(table.title for table in found)}: {seconds:.0f} s\n")
    text = results(tables)
    (ROOT / "benchmarks" / "RESULTS.md").write_text(text, encoding="utf-8")
    guide = ROOT / "docs" / "guide.md"
    updated = with_quotation(guide.read_text(encoding="utf-8"), quoted(text))
    guide.write_text(updated, encoding="utf-8")
    sys.stdout.write(f"{quoted(text)}\n")


if __name__ == "__main__":
    main()
