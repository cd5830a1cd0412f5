"""The lines that the notebooks ask their readers to change: no other line breaks with them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pytest

from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

# Notebook, cells to run, lines and what a reader may write there, and what has to be printed.
CHANGES: dict[str, tuple[str, str, dict[str, str], str]] = {
    "other caps": (
        "02_rigorous_svm_and_equivalences", "01 14 17 18",
        {"for share in (1.0, 0.85, 0.7):": "for share in (0.75, 2.0):"},
        r"cap 0.75 H: .*\ncap 2.00 H: optimum 115.615",
    ),
    "no weights of one's own": (
        "03_robust_svm_and_ladder", "01 08 16 18",
        {"mine = np.exp(-distance)": "mine = np.ones(data.n)"},
        r"all equal +(bound .*)\nmine +\1\n",
    ),
    "three features and a stricter fairness": (
        "06_gallery_of_edits", "01 03 05 09",
        {"k = 2  #": "k = 3  #", "epsilon = 0.2": "epsilon = 0.0"},
        r"optimum 8\.197\d, CERTIFIED by branch(.|\n)*optimum 8\.813\d, CERTIFIED",
    ),
    "one feature, and an M that is large enough": (
        "08_what_an_edit_does", "01 03 10 21 23 25",
        {
            "features = 2  #": "features = 1  #",
            "stated = 18.0  #": "stated = 21.0  #",
        },
        r"(?s)SOLVER_BOUND.*unproven: nothing\nunproven: nothing\ngap: 0\.\d+ \nlargest M 21\.0",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _leaves_nothing() -> Iterator[None]:
    """No window; and entries that a notebook registers are gone for the tests that follow."""
    known = dict(CATALOGUE)
    with matplotlib.rc_context({"backend": "agg"}):
        yield
    plt.close("all")
    for name in CATALOGUE.keys() - known.keys():
        del CATALOGUE[name]


def sources(notebook: str) -> dict[str, str]:
    """Code of the cells by the number at the end of their name."""
    cells = json.loads((NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    return {c["id"][-2:]: "".join(c["source"]) for c in cells if c["cell_type"] == "code"}


@pytest.mark.slow("the cells of a notebook up to the change, and those after it")
@pytest.mark.parametrize("change", CHANGES if FULL else ["other caps", "no weights of one's own"])
def test_a_line_to_change_may_be_changed(change: str, capsys: pytest.CaptureFixture[str]) -> None:
    notebook, numbers, lines, printed = CHANGES[change]
    cells = sources(notebook)
    code = "\n".join(cells[number] for number in numbers.split())
    for line, other in lines.items():
        assert code.count(line) == 1
        code = code.replace(line, other)
    space: dict[str, Any] = {}
    exec(compile(code, notebook, "exec"), space)
    assert re.search(printed, capsys.readouterr().out)
