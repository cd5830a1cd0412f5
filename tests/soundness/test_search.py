"""The random search for false claims: few cases here, `python -m tests.soundness` asks for more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.soundness import __main__ as command
from tests.soundness.families import FAMILIES, cases_of, outcome_of
from tests.support.covering import FULL

SEED, CASES = 1, 20 if FULL else 2


@pytest.mark.parametrize("family", list(FAMILIES))
def test_nothing_that_is_said_is_false(family: str) -> None:
    """No claim beyond the truth, and no exception but a refusal."""
    found = [outcome_of(family, SEED, number) for number in range(cases_of(family, CASES))]
    assert [claim for outcome in found for claim in outcome.false] == []
    assert [f"{o.name}: {o.crashed}" for o in found if o.crashed] == []


def test_a_stopped_search_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "outcomes.jsonl"
    words = ["--cases", "4", "--seed", "2", "--family", "balls", "--out", str(file)]
    assert command.main(words) == 0
    lines = file.read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == [0, 1, 2, 3]
    told = json.loads(lines[0]) | {"false": ["a lie"]}
    # The first outcome is told again from the file, the others are asked again.
    file.write_text(json.dumps(told) + "\n")
    capsys.readouterr()
    assert command.main(words) == 1
    printed = capsys.readouterr().out
    assert "FALSE   a lie   [--family balls --seed 2 --only 0]" in printed
    assert len(file.read_text().splitlines()) == 4
    assert "balls" in printed.splitlines()[-2]
