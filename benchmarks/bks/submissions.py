"""Better values from anybody: a hyperplane in a JSON file, recomputed before it counts."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.bks.instances import INSTANCES
from benchmarks.bks.planes import objective_of
from benchmarks.bks.rows import HOME, Key
from tightmargin.formulations.parameters import did_you_mean

SCHEMA = "svm-bks/1"
FOLDER = HOME / "submitted"
AGREES = 1e-9  # relative, of the objective that is stated and the one that is recomputed


@dataclass(frozen=True)
class Submission:
    """A hyperplane with its objective.

    Attributes
    ----------
    schema : str
        `SCHEMA`.
    instance, C : str, float
        A row of the table.
    w, b : list of float, float
        Of the points as the table has them: z-scored where the table says so.
    objective : float
        1/2 ||w||^2 + C #{i : y_i (<w, x_i> + b) < 1}.
    by, method, date : str
        Whose it is, how it was found, and when (YYYY-MM-DD).
    """

    schema: str
    instance: str
    C: float
    w: list[float]
    b: float
    objective: float
    by: str
    method: str
    date: str

    @property
    def key(self) -> Key:
        """Instance and C."""
        return self.instance, self.C


def parsed(text: str, where: str) -> Submission:
    """A submission, checked as far as that needs no points.

    Parameters
    ----------
    where : str
        What an error begins with, such as the name of the file.

    Raises
    ------
    ValueError
        No JSON, a field that is missing, unknown or of the wrong kind, no row of the table.
    """

    def need(condition: bool, why: str) -> None:
        if not condition:
            raise ValueError(f"{where}: {why}")

    try:
        entry = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: no JSON: {error}") from None
    need(isinstance(entry, dict), "an object is asked for")
    wanted = {field.name for field in fields(Submission)}
    need(set(entry) <= wanted, f"unknown fields: {', '.join(sorted(set(entry) - wanted))}")
    need(wanted <= set(entry), f"missing fields: {', '.join(sorted(wanted - set(entry)))}")
    need(entry["schema"] == SCHEMA, f"schema is not {SCHEMA!r}")
    for name in ("C", "b", "objective"):
        need(_is_number(entry[name]), f"{name} is not a finite number")
    w = entry["w"]
    need(isinstance(w, list) and all(map(_is_number, w)), "w is not a list of finite numbers")
    for name in ("instance", "by", "method", "date"):
        value = entry[name]
        need(isinstance(value, str) and bool(value.strip()), f"{name} is not a text")
    name = entry["instance"]
    need(name in INSTANCES, f"instance {name!r} is not in the table{did_you_mean(name, INSTANCES)}")
    prices = INSTANCES[name].prices
    need(entry["C"] in prices, f"C of {name} is one of {', '.join(f'{p:g}' for p in prices)}")
    try:
        date.fromisoformat(entry["date"])
    except ValueError:
        raise ValueError(f"{where}: date is not YYYY-MM-DD") from None
    return Submission(**entry)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def recomputed(submission: Submission, where: str) -> float:
    """The objective of the hyperplane on the points of its instance, in exact arithmetic.

    Raises
    ------
    FileNotFoundError
        The points are not at hand.
    ValueError
        w of the wrong length, or an objective that differs from the stated one.
    """
    data = INSTANCES[submission.instance].data()
    try:
        value = objective_of(data, submission.w, submission.b, submission.C)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if abs(value - submission.objective) > AGREES * max(abs(value), 1.0):
        raise ValueError(
            f"{where}: the objective is {value!r}, not {submission.objective!r} as is stated"
        )
    return value


def submitted(folder: Path = FOLDER) -> list[Submission]:
    """All files of the folder by name, without a look at the points."""
    return [parsed(path.read_text("utf-8"), path.name) for path in sorted(folder.glob("*.json"))]


def check_folder(folder: Path) -> list[str]:
    """Check and recompute all files; returns why some could not be recomputed.

    Raises
    ------
    ValueError
        The first file that is not what it says.
    """
    left = []
    for path in sorted(folder.glob("*.json")):
        submission = parsed(path.read_text("utf-8"), path.name)
        missing = INSTANCES[submission.instance].missing
        if missing:
            left.append(f"{path.name}: {missing}")
        else:
            recomputed(submission, path.name)
    return left
