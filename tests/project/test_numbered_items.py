"""The lists of numbered items on the pages of the papers name what is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from tightmargin.formulations.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "papers"
_ROW = re.compile(r"\| (?P<item>[^|]+) \| (?P<here>[^|]+) \| (?P<test>tests/\S+) \|")
EQUATIONS = {"lee": range(1, 12), "cepeda_gomez_han": range(1, 6)}


def rows(page: str) -> list[tuple[str, str, str]]:
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8").partition("## Numbered items")[2]
    return [(r["item"], r["here"], r["test"]) for r in _ROW.finditer(text.partition("\n## ")[0])]


def named(word: str) -> bool:
    """Whether a word is an entry, or a module or function of ours."""
    if not word.startswith("tightmargin."):
        return word in CATALOGUE
    try:
        importlib.import_module(word)
    except ModuleNotFoundError:
        module, _, name = word.rpartition(".")
        return hasattr(importlib.import_module(module), name)
    return True


@pytest.mark.parametrize("page", EQUATIONS)
def test_every_item_has_a_builder_and_a_test_that_are_there(page: str) -> None:
    found = rows(page)
    for item, here, test in found:
        words = [w for w in re.findall(r"`([^`]+)`", here) if "=" not in w]
        assert words, item
        assert [w for w in words if not named(w)] == [], item
        assert (ROOT / test).is_file(), item
    listed = {int(n) for item, _, _ in found for n in re.findall(r"\((\d+)\)", item)}
    assert set(EQUATIONS[page]) <= listed
