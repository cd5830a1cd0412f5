"""What the path command needs of a family of problems, and the files it writes."""

from __future__ import annotations

import csv as csv_format
import json as json_format
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tightmargin.experiments.console.streams import complain
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.progress import Say
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.plain_json import checksum
from tightmargin.solvers.result import SCHEMA, versions
from tightmargin.solvers.searches import PathResult, RowT

# Of a row, left out of the table of numbers.
ARRAYS = ("w", "alpha", "z", "strengthening", "factor", "coefficients")

Settings = dict[str, Any]


@dataclass(frozen=True)
class Family:
    """A family of problems that has a path.

    parameter(name) -> str: the hyperparameter that is followed.
    asked(name, settings, method) -> settings: what the path is asked for; refuses what it cannot
        take.
    solve(data, asked, time_limit, progress) -> path.
    document(name, path, prepared, method) -> dict: what --json prints.
    draw(path, file, title).
    page(path) -> something to print.
    judge(name, path) -> exit code: says on standard error why it is not 0.
    words: settings of the path itself, which no formulation has.
    """

    parameter: Callable[[str], str]
    asked: Callable[[str, Settings, str], Settings]
    solve: Callable[[TrainingData | GramData, Settings, float | None, Say], Any]
    document: Callable[[str, Any, Prepared, str], dict[str, Any]]
    draw: Callable[[Any, Path, str], None]
    page: Callable[[Any], Any]
    judge: Callable[[str, Any], int]
    words: tuple[str, ...] = ()


def listed(value: Any) -> tuple[Any, ...]:
    """One value or several as a tuple."""
    return value if isinstance(value, tuple) else (value,)


def ending_of(path: PathResult[Any], prepared: Prepared) -> dict[str, Any]:
    """The end of every document: what Ctrl-C left out, and the data with what solved it."""
    raw = prepared.raw
    return {
        "not_reached": list(path.not_reached),
        "interrupted": path.interrupted,
        "data": {"spec": raw.spec, "n": raw.n, "d": raw.d, "sha256": raw.sha256},
        "normalisation": dict(prepared.record),
        "versions": versions(),
    }


def judged(
    name: str, path: PathResult[RowT], shown: Callable[[RowT], float] = lambda row: row.bound
) -> int:
    """Exit code, and on standard error why it is not 0; `shown` is the bound that is named."""
    if path.interrupted:
        left = ", ".join(f"{number:g}" for number in path.not_reached)
        without = f", without {path.parameter} = {left}" if left else ""
        complain(f"{name}: interrupted; kept {len(path.rows)} rows{without}")
        return 130
    told = [row for row in path.rows if row.verdict is not Verdict.CERTIFIED]
    for row in told:
        said = f" ({row.stop})" if row.stop else ""
        complain(
            f"{name}: {path.parameter} = {getattr(row, path.parameter):g}: {row.verdict}, "
            f"value {row.objective:.9g}, bound {shown(row):.9g}{said}"
        )
    return 0 if all(row.verdict.closed for row in told) else 1


def with_checksum(document: dict[str, Any]) -> dict[str, Any]:
    """A plain document with the digest of what is written of it."""
    whole = {"schema": SCHEMA, "command": "path"} | document
    return document | {"sha256": checksum(whole)}


def write_document(document: dict[str, Any], file: Path) -> None:
    """Write what --json prints."""
    whole = {"schema": SCHEMA, "command": "path"} | document
    file.write_text(json_format.dumps(whole, allow_nan=False, indent=1), encoding="utf-8")


def write_table(rows: Sequence[dict[str, Any]], file: Path) -> None:
    """Write the numbers of every row."""
    kept = [{k: v for k, v in row.items() if k not in ARRAYS} for row in rows]
    with file.open("w", newline="", encoding="utf-8") as stream:
        table = csv_format.DictWriter(stream, list(kept[0]))
        table.writeheader()
        table.writerows(kept)
