"""Full-size results of the papers: pages that follow from their records, and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
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
    **{f"cepeda-gomez-han-table{k}": ("cepeda_gomez_han", f"table{k}") for k in (1, 2, 3, 4)},
    "perez-cruz-figure3": ("perez_cruz", "figure3"),
    "perez-cruz-table1": ("perez_cruz", "table1"),
    "perez-cruz-table3": ("perez_cruz", "table3 figure5"),
}


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
