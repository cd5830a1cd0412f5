"""The thirty rows of the fault table: each has a test whose name holds its number."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
ROWS = {
    1: "NaN or infinity in the data or a parameter",
    2: "labels other than -1 and +1",
    3: "one class only",
    4: "equal points with opposite labels",
    5: "constant and collinear features",
    6: "more features than points, one point, two points",
    7: "nu outside its range",
    8: "a bound on the hyperplane that is active",
    9: "M too small",
    10: "M too large for the integrality tolerance",
    11: "a kernel matrix that is not semidefinite",
    12: "scaling",
    13: "a solver that is not installed",
    14: "no licence, and a model beyond one",
    15: "a time limit",
    16: "a solver that stopped close to the optimum",
    17: "infeasible and unbounded models",
    18: "Ctrl-C",
    19: "a killed worker",
    20: "a truncated or altered result file",
    21: "a malicious pickle",
    22: "a cut that the solver drops",
    23: "an invalid cut",
    24: "a cut loop that stalls",
    25: "a local optimum of a non-convex model",
    26: "an incumbent better than the optimum",
    27: "multipliers: sign and absence",
    28: "seeds, threads, versions, repetition",
    29: "float32, sparse, pandas, non-contiguous, empty, bool",
    30: "an unknown option, a misspelt name",
}


@cache
def rows_of(folder: Path = TESTS) -> dict[int, list[str]]:
    """Names of the test functions that hold the number of a row, by that number."""
    found: dict[int, list[str]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            row = re.match(r"test_(?:row|fault)_(\d\d)_", node.name)
            if row is not None:
                found.setdefault(int(row[1]), []).append(f"{path.name}::{node.name}")
    return found


@pytest.mark.parametrize("row", ROWS)
def test_every_row_of_the_fault_table_has_a_test(row: int) -> None:
    assert rows_of().get(row), f"no test is called test_row_{row:02d}_...: {ROWS[row]}"


def test_there_are_thirty_rows_and_no_test_of_another() -> None:
    assert list(ROWS) == list(range(1, 31))
    assert set(rows_of()) <= set(ROWS)


def test_files_hold_the_row_of_their_name() -> None:
    for path in Path(__file__).parent.glob("test_fault_[0-9][0-9]_*.py"):
        row = int(path.name[11:13])
        names = rows_of(path.parent).get(row, [])
        assert any(name.startswith(path.name) for name in names), path.name
