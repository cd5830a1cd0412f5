"""The models of documents, read by nothing of the project's: solved again, or enumerated."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo

from tests.solvers.proof_files.mutations import holder, is_number, places
from tightmargin.formulations import psd
from tightmargin.solvers import solve

REACH = 5  # of an integer column without a limit


def is_solvable(written: Mapping[str, Any]) -> bool:
    """Whether the numbers of a model are of a size that solvers can be asked about."""
    texts = [holder(written, at)[at[-1]] for at in places(written, str)]
    numbers = [abs(float.fromhex(text)) for text in texts if is_number(text) and "p" in text]
    return all(number == 0 or 1e-6 <= number <= 1e6 for number in numbers)


def exact(text: str) -> Fraction:
    if "p" in text:
        return Fraction(float.fromhex(text))
    above, _, below = text.partition("/")
    return Fraction(int(above, 0), int(below or "1", 0))


def rebuilt(written: Mapping[str, Any]) -> pyo.ConcreteModel:
    """The model of a document in Pyomo."""

    def end(text: str | None) -> float | None:
        return None if text is None else float(exact(text))

    m = pyo.ConcreteModel()
    n = len(written["variables"])
    m.x = pyo.Var(
        range(n), bounds=lambda _, j: (end(written["lower"][j]), end(written["upper"][j]))
    )
    m.goal = pyo.Objective(expr=function(written["objective"], m.x, float) + 0 * m.x[0])
    m.rows = pyo.ConstraintList()
    for row in [*written["rows"], *written["quadratic"]]:
        body = function(row, m.x, float)
        low, high = end(row["lower"]), end(row["upper"])
        if isinstance(body, int | float):
            assert low is None or low <= body, "a row that is false"
            assert high is None or body <= high, "a row that is false"
        elif low is not None or high is not None:
            m.rows.add((low, body, high))
    for k, row in enumerate(written["psd"]):
        lines: list[list[Any]] = [[0.0] * (i + 1) for i in range(row["order"])]
        for i, j, constant, linear in row["entries"]:
            lines[i][j] = function({"constant": constant, "linear": linear}, m.x, float)
        psd(m, f"psd_{k}", lines)
    return m


def choices(written: Mapping[str, Any]) -> Iterator[dict[int, int]]:
    """Whole numbers for the integer columns; of those without a limit, the ones near 0."""
    columns, ranges = sorted(set(written["integer"])), []
    for j in columns:
        low, high = written["lower"][j], written["upper"][j]
        first = -REACH if low is None else max(-(-exact(low) // 1), -10 * REACH)
        last = REACH if high is None else min(exact(high) // 1, 10 * REACH)
        ranges.append(range(int(first), int(last) + 1))
    for whole in itertools.product(*ranges):
        yield dict(zip(columns, whole, strict=True))


def function(part: Mapping[str, Any], x: Any, kind: type = Fraction) -> Any:
    """The value at a point, or an expression of variables."""
    total = sum(kind(exact(c)) * x[j] for j, c in part["linear"])
    total = total + sum(kind(exact(c)) * x[i] * x[j] for i, j, c in part.get("products", ()))
    return total + kind(exact(part.get("constant", "0")))


def is_feasible(written: Mapping[str, Any], x: Mapping[int, int]) -> bool:
    """Whether a point meets all rows, linear and quadratic, exactly."""
    return all(
        (row["lower"] is None or function(row, x) >= exact(row["lower"]))
        and (row["upper"] is None or function(row, x) <= exact(row["upper"]))
        for row in [*written["rows"], *written["quadratic"]]
    )


def enumerated(written: Mapping[str, Any]) -> tuple[Fraction | None, Fraction]:
    """The least objective of all points with such integers, None without one; how far it is off.

    Exact where all columns are integer; else the rest is solved for each choice of the integers.
    """
    goal = written["objective"]
    constant = exact(goal["constant"])
    if len(set(written["integer"])) == len(written["variables"]):
        values = [function(goal, x) for x in choices(written) if is_feasible(written, x)]
        return min(values, default=None), Fraction(0)
    found: list[Fraction] = []
    for x in choices(written):
        ends = {side: list(written[side]) for side in ("lower", "upper")}
        for j, value in x.items():
            ends["lower"][j] = ends["upper"][j] = str(value)
        objective = solve(rebuilt({**written, **ends, "integer": []})).objective
        if objective is not None:
            found.append(Fraction(objective))
    least = min(found, default=None)
    size = 1 if least is None else max(1, abs(least), abs(least - constant))
    return least, size / 10**5
