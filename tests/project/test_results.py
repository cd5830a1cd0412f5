"""Full-size results of the papers: pages that follow from their records, and counts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import reduce
from operator import getitem
from typing import Any

import pytest

from benchmarks.results import __main__ as command
from benchmarks.results import outcomes
from benchmarks.results.outcomes import absent, fails, judged, reasons
from benchmarks.results.record import FOLDER, kept
from benchmarks.results.summary import index
from tests.inside.experiments import everything, printed

NAMES = [one.name for one in everything()]
RECORDS = kept()
# Where published.toml has the numbers of a reproduction that prints tables of them.
PRINTS = {
    "bi-vapnik-table2": ("bi_vapnik", "table2"),
    "bi-vapnik-table3-adult": ("bi_vapnik", "table3.adult"),
    "bi-vapnik-table3-wdbc": ("bi_vapnik", "table3.wdbc"),
    "cepeda-gomez-han-table1": ("cepeda_gomez_han", "table1"),
    "cepeda-gomez-han-table2": ("cepeda_gomez_han", "table2"),
    "cepeda-gomez-han-table3": ("cepeda_gomez_han", "table3"),
    "cepeda-gomez-han-table4": ("cepeda_gomez_han", "table4"),
    "perez-cruz-figure3": ("perez_cruz", "figure3"),
    "perez-cruz-table1": ("perez_cruz", "table1"),
    "perez-cruz-table3": ("perez_cruz", "table3 figure5"),
}


# --- what is kept --------------------------------------------------------------------------------


def test_pages_follow_from_records() -> None:
    assert set(RECORDS) | set(absent()) == set(NAMES), "a record or a reason"
    assert not set(RECORDS) & set(absent())
    pages = {"index.md": index(RECORDS, NAMES)}
    pages |= {f"{name}.md": command.text_of(record) for name, record in RECORDS.items()}
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    assert found == pages, "make results ARGS=--pages"


@pytest.mark.parametrize("name", sorted(set(PRINTS) & set(RECORDS)))
def test_a_finished_record_has_every_number_of_the_print_once(name: str) -> None:
    record = RECORDS[name]
    if not record.finished:
        assert list(judged(record)) == []
        return
    paper, places = PRINTS[name]
    parts = [reduce(getitem, place.split("."), printed(paper)) for place in places.split()]
    texts = [text for part in parts for text in leaves(part)]
    words = [word for text in texts for word in text.split("/") if word != "-"]
    assert Counter(one.cell.printed for one in judged(record)) == Counter(words)


def leaves(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
        return
    for branch in tree.values():
        yield from leaves(branch)


def rounds(ours: float, print_: str) -> bool:
    """Whether a number is the print to half of its last digit, in decimal arithmetic."""
    half = Decimal(5).scaleb(Decimal(print_).as_tuple().exponent - 1)  # type: ignore[operator]
    return abs(Decimal(ours) - Decimal(print_)) <= half * (1 + Decimal("1e-8"))


def test_the_summary_counts_what_the_files_of_the_records_say() -> None:
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for name, cells in re.findall(r"^\| \[[^\]]+\]\(([\w-]+)\.md\) \|(.*)\|$", text, re.MULTILINE):
        found.setdefault(name, [cell.strip() for cell in cells.split("|")])
    sums = [0, 0, 0]
    for name in RECORDS:
        plain = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        cells = found[name]
        if plain["unfinished"]:
            assert cells[0] == f"not finished: {plain['unfinished']}"
            continue
        pairs = [
            cell for table in plain["tables"] if table["name"] != "cepeda-gomez-han-table1-shares"
            for row in table["rows"] for cell in row["cells"].values() if isinstance(cell, list)
        ]  # fmt: skip
        if name == "takeda-sugiyama-figure2":  # its text prints one number, and two rows have it
            assert [print_ for _, print_, *_ in pairs] == ["1", "1"]
            del pairs[1:]
        numbers = [int(word or 0) for word in cells[:6]]
        assert numbers[0] == len(pairs) == sum(numbers[1:]), name
        equal = sum(rounds(ours, print_) for ours, print_, *_ in pairs)
        assert numbers[1] <= equal <= numbers[1] + numbers[5], "agree, or stand beside no like"
        claims = plain["claims"]
        held = f"{sum(claim['holds'] for claim in claims)} of {len(claims)}"
        assert cells[6] == (held if claims else "")
        sums = [a + b for a, b in zip(sums, [1, *numbers[:2]], strict=True)]
    assert f"{sums[0]} of {len(NAMES)} are finished" in text
    assert f"Of the {sums[1]} numbers that the papers print in them {sums[2]} agree" in text


def test_what_differs_or_does_not_hold_has_a_stated_reason_and_every_reason_a_number() -> None:
    for name, record in RECORDS.items():
        used = {id(one.reason) for one in judged(record)}
        assert id(outcomes.UNSTATED) not in used, name
        if record.finished:
            idle = [one.text for one in reasons(name) if id(one) not in used]
            assert idle == [], name
    assert set(outcomes._file()) - {"repeated", "once", "absent", "failing"} <= set(NAMES)
    found = {name for name, record in RECORDS.items() if record.finished and fails(record)}
    assert found == outcomes.failing().keys() & RECORDS.keys()
