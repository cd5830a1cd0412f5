"""Every public name documents all its parameters, and its example prints what it says."""

from __future__ import annotations

import contextlib
import dataclasses
import doctest
import inspect
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tightmargin as tm
from docs.generate.api import public_names
from tests.inside.formulations import documented

NAMES = public_names()
NUMBER = re.compile(r"(?<![\w.])[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?![\w.]*\w)")


class Checker(doctest.OutputChecker):
    """Whole numbers are equal; others agree to the digits that the docstring prints."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        numbers = list(zip(NUMBER.findall(want), NUMBER.findall(got), strict=False))
        return (
            len(numbers) == len(NUMBER.findall(want)) == len(NUMBER.findall(got))
            and all(same(*pair) for pair in numbers)
            and super().check_output(NUMBER.sub("#", want), NUMBER.sub("#", got), optionflags)
        )


def same(want: str, got: str) -> bool:
    mantissa, _, power = want.partition("e")
    if "." not in mantissa and not power:
        return want == got
    room = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    return abs(float(want) - float(got)) <= 1.000001 * room


def parameters_of(thing: Any) -> list[str]:
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return []
    if dataclasses.is_dataclass(thing):
        return [field.name for field in dataclasses.fields(thing) if field.name[0] != "_"]
    return list(inspect.signature(thing).parameters)


def described(thing: Any) -> set[str]:
    """A dataclass says what its fields are under Attributes."""
    text = (inspect.getdoc(thing) or "").replace("Attributes\n----------", "Parameters\n----------")
    return documented(text)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files of examples are written to a folder of their own; the catalogue stays as it is."""
    monkeypatch.chdir(tmp_path)
    known = dict(tm.catalogue)
    yield
    tm.catalogue.clear()
    tm.catalogue.update(known)


def failures(name: str, text: str) -> tuple[int, str]:
    """Examples that a text has, and what is wrong with them."""
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    report = io.StringIO()
    runner = doctest.DocTestRunner(
        Checker(), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    runner.run(example, out=report.write)
    return len(example.examples), report.getvalue()


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_parameter_is_documented_and_every_example_prints_what_it_says(name: str) -> None:
    assert set(parameters_of(NAMES[name])) - described(NAMES[name]) == set()
    with contextlib.redirect_stderr(io.StringIO()):
        count, report = failures(name, inspect.getdoc(NAMES[name]) or "")
    assert count > 0, "no example"
    assert report == ""
