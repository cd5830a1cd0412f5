"""The list of numbered items on each paper's page: complete, and everything it names exists."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from pydoc import locate
from typing import Any

import pytest

from docs.generate.entries import NAMES
from docs.generate.items import items, numbered, section
from tightmargin.formulations import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]
# Equations, statements, algorithms, tables and figures, counted in the printed papers.
COUNTS = {
    "takeda_sugiyama": 13 + 12 + 3,
    "perez_cruz": 40 + 3 + 3 + 5,
    "bi_vapnik": 21 + 9 + 3 + 1,
    "cepeda_gomez_han": 25 + 5 + 4 + 2,
    "lee": 11 + 5 + 4 + 2 + 8 + 2 + 1,
}


@pytest.mark.parametrize("paper", NAMES)
def test_every_number_stands_in_the_list_once(paper: str) -> None:
    listed = [each for item in items(paper) for each in item.single]
    assert sorted(listed) == sorted(numbered(paper))
    assert len(set(listed)) == len(listed) == COUNTS[paper]
    page = (ROOT / "docs" / "papers" / f"{paper}.md").read_text(encoding="utf-8")
    assert f"<!-- generated: items {paper} -->" in page
    assert section(paper).count("\n| ") == len(items(paper)) + 1


@cache
def functions(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def resolved(name: str) -> Any:
    return locate(name.replace("tm.", "tightmargin.", 1) if name.startswith("tm.") else name)


@pytest.mark.parametrize("paper", NAMES)
def test_what_an_item_names_is_there_or_a_reason_is(paper: str) -> None:
    for item in items(paper):
        assert item.says
        if item.reason:
            assert not item.test
            continue
        for name in item.here:
            assert name == "tightmargin reproduce" or name in CATALOGUE or callable(resolved(name))
        assert item.here
        file, _, function = item.test.partition("::")
        assert function in functions(file), item.test


def test_a_builder_of_a_numbered_equation_is_in_a_list() -> None:
    """Unless no number of a paper is its own, as with relaxations and duals that are ours."""
    listed = {each for paper in NAMES for item in items(paper) for each in item.here}
    for name, entry in CATALOGUE.items():
        own = [paper for paper, words in NAMES.items() if entry.source.startswith(words)]
        has_number = any(f"{NAMES[paper]}, (" in entry.source for paper in own)
        assert name in listed or not has_number, entry.source
