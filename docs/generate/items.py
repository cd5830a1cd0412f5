"""Every numbered item of a paper, what states it here, and a test that looks at it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache

from docs.generate.entries import NAMES, anchor
from docs.generate.witnesses import ROOT
from tightmargin.formulations import CATALOGUE
from tightmargin.formulations.formulas.formula import formulas

_FOLDER = ROOT / "docs" / "papers" / "items"
_RANGE = re.compile(r"(?P<word>[A-Za-z]+ )?\(?(?P<first>[\d.]+)\)?(?:-\(?(?P<last>\d+)\)?)?")


@dataclass(frozen=True)
class Item:
    """One or more numbered items of a paper.

    Attributes
    ----------
    label : str
        As printed: "(26)-(29)", "Theorem 8", "Table 1-3".
    says : str
        What it is, in a few words.
    here : tuple of str
        Builders by name, and public names with their dots.
    test : str
        File below tests/ and function, "" where `reason` says why there is none.
    """

    label: str
    says: str
    here: tuple[str, ...]
    test: str
    reason: str

    @property
    def single(self) -> list[str]:
        """The items one by one."""
        return single(self.label)


def single(label: str) -> list[str]:
    """Items of a label one by one: "(1)-(3)" is (1), (2), (3).

    Raises
    ------
    ValueError
        A label of another form.
    """
    match = _RANGE.fullmatch(label)
    if match is None:
        raise ValueError(f"{label!r} is no label of items")
    word, first, last = match["word"] or "", match["first"], match["last"] or match["first"]
    if "." in first:
        return [f"{word}{first}"]
    numbers = range(int(first), int(last) + 1)
    return [f"{word}{k}" if word else f"({k})" for k in numbers]


@cache
def items(paper: str) -> tuple[Item, ...]:
    """Rows of the list of a paper."""
    rows = _read(paper)["rows"]
    return tuple(
        Item(label, says, _names(here), test, reason) for label, says, here, test, reason in rows
    )


def numbered(paper: str) -> list[str]:
    """All that the paper numbers, in order."""
    return [each for label in _read(paper)["numbered"] for each in single(label)]


def _read(paper: str) -> dict[str, list[list[str]]]:
    if paper not in NAMES:
        raise KeyError(f"no items of {paper}")
    return tomllib.loads((_FOLDER / f"{paper}.toml").read_text(encoding="utf-8"))


def _names(here: str) -> tuple[str, ...]:
    return (here,) if here.startswith("tightmargin ") else tuple(here.split())


def section(paper: str) -> str:
    """The list as a table, and how many items it has."""
    found = items(paper)
    without = sum(len(item.single) for item in found if item.reason)
    count = sum(len(item.single) for item in found)
    rest = f", {without} of them not built here for the reason given" if without else ""
    lines = ["| item | what it is | here | test |", "|:---|:---|:---|:---|"]
    lines += [
        f"| {item.label} | {_text(item.says)} | {_here(item)} | {_test(item)} |" for item in found
    ]
    return f"All {count} numbered items{rest}.\n\n" + "\n".join(lines)


def _text(words: str) -> str:
    return words.replace("|", r"\|")


def _here(item: Item) -> str:
    if item.reason:
        return _text(item.reason)
    pages = formulas()
    links = [
        f"[`{name}`]({pages[name].paper}.md#{anchor(name)})" if name in CATALOGUE else f"`{name}`"
        for name in item.here
    ]
    return ", ".join(links)


def _test(item: Item) -> str:
    return f"`{item.test.partition('::')[2]}`" if item.test else ""
