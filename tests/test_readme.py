"""The README says what the project does today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tightmargin as tm
from experiments.generators import outlier_data
from experiments.readme_table import BEGIN, END, markdown

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_table_of_formulations_is_the_catalogue():
    table = README.partition(BEGIN)[2].partition(END)[0].strip()
    assert table == markdown(), "run python -m experiments.readme_table"
    assert set(re.findall(r"^\| `(\w+)`", table, flags=re.M)) == set(tm.catalogue)


def test_every_builder_is_at_the_front_door():
    assert set(tm.catalogue) <= set(tm.__all__)


def test_files_it_links_to_exist():
    links = re.findall(r"\]\(([^)h][^)]*)\)", README)
    assert links
    for link in links:
        assert (Path(__file__).parent.parent / link).exists(), link


def test_its_python_lines_run():
    code = README.partition("```python\n")[2].partition("```")[0]
    data = outlier_data("clustered", n=20, d=2, sigma=0.3, seed=0)
    space = {"X": data.X, "y": data.y}
    exec(compile(code, "README.md", "exec"), space)
    assert space["result"].certificate.verdict.value == "CERTIFIED"
    assert space["result"].bound == pytest.approx(space["result"].objective, rel=1e-5)


@pytest.mark.parametrize("name", sorted(tm.catalogue))
def test_every_formulation_has_its_mathematics_and_source(name):
    entry = tm.catalogue[name]
    text = entry.build.__doc__
    assert "min " in text, "the program itself stands in the docstring"
    assert entry.source
    assert entry.title.endswith(".")
