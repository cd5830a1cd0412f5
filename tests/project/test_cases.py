"""tests/cases.py is the one list of the catalogue: a new formulation is one line there."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.cases import CASES
from tightmargin.formulations import CATALOGUE

TESTS = Path(__file__).resolve().parents[1]
# What draws hyperparameters at random, and what says how each optimum follows a change of data.
OTHERS = ("cases.py", "metamorphic/families.py", "soundness/")


def test_every_entry_is_one_case_and_every_case_an_entry() -> None:
    assert set(CASES) == set(CATALOGUE)


def names_listed(file: Path) -> int:
    """The most entries that one list, set, tuple or mapping of a file spells out."""
    most = 0
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            items = node.keys
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            items = list(node.elts)
        else:
            continue
        words = {item.value for item in items if isinstance(item, ast.Constant)}
        most = max(most, len(words & set(CATALOGUE)))
    return most


def test_no_other_file_lists_the_catalogue() -> None:
    files = {file.relative_to(TESTS).as_posix(): file for file in TESTS.rglob("*.py")}
    listed = {name: names_listed(f) for name, f in files.items() if not name.startswith(OTHERS)}
    assert {name: n for name, n in listed.items() if n > 2 * len(CATALOGUE) / 3} == {}
