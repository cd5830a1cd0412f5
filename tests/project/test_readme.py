"""The README and the guide say what the project does today."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.experiments import (
    everything,
    load,
    outlier_data,
    prepare,
)
from tests.support.command_line import run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
GUIDE = (ROOT / "docs" / "guide.md").read_text()
CERTIFICATES = (ROOT / "docs" / "certificates.md").read_text()


def test_files_it_links_to_exist():
    for text, place in ((README, ROOT), (GUIDE, ROOT / "docs")):
        links = re.findall(r"\]\(([^)h][^)]*)\)", text)
        assert links
        for link in links:
            assert (place / link.partition("#")[0]).exists(), link


def test_its_python_lines_run():
    code = README.partition("```python\n")[2].partition("```")[0]
    space: dict = {}
    exec(compile(code, "README.md", "exec"), space)
    assert space["result"].certificate.verdict.value == "CERTIFIED"
    assert space["result"].bound == pytest.approx(space["result"].objective, rel=1e-5)


def test_the_wrong_optimum_it_shows_is_claimed_by_solvers_and_caught_here():
    """The table against what the command prints, and the truth by a search of our own."""
    section = CERTIFICATES.partition("## A real case")[2].partition("\n## ")[0]
    command = section.partition("```\n")[2].partition("```")[0].replace("\\\n", " ").split()
    answer = run(*command[1:], "--json")
    assert answer.code == 1, "some rows are not certified"
    rows = [row for row in answer.json["rows"] if row["status"] != "refused"]
    small = [row for row in rows if row["parameters"]["big_m"] == 1.5]
    derived = [row for row in rows if row["parameters"]["big_m"] == "derived"]
    assert "scip" in {row["solver"] for row in small}
    assert {row["solver"] for row in small} == {row["solver"] for row in derived}
    for row in small:
        assert f"optimal, {row['objective']:.8g} |" in section
        assert row["certificate"].startswith("NOT_CERTIFIED (upper bound only: M[14] = 1.5 is ")
        assert row["certificate"].partition("upper bound only: ")[2].rstrip(")") in section
    for row in derived:
        assert row["certificate"] == "CERTIFIED"
        assert f"{row['objective']:.9g}" in section
    # Whoever does not trust the enumeration can see that a point beats the "optimum".
    spec = command[command.index("--data") + 1]
    data = prepare(load(spec), {"normalise": "zscore"}).data
    claimed = tm.solve(tm.zero_one_big_m(data, penalty=1.0, big_m=1.5), "scip")
    assert "optimal" in claimed.message.split("; "), "the solver's own word"
    assert claimed.certificate.solver_bound == pytest.approx(claimed.objective, rel=1e-6)
    assert claimed.bound is None
    found = tm.solve(tm.zero_one_big_m(data, penalty=1.0, big_m="derived"), "scip").values
    margins = data.y * (data.X @ found["w"] + found["b"])
    value = found["w"] @ found["w"] + found["b"] ** 2 + np.count_nonzero(margins < 1 - 1e-6)
    assert value == pytest.approx(derived[0]["objective"], rel=1e-6)
    assert value < 0.7 * small[0]["objective"]


def test_its_machines_of_equal_capacity_are_one_hyperplane() -> None:
    code = GUIDE.partition("## Capacity set by hand")[2].partition("```python\n")[2]
    data = outlier_data("clustered", n=30, d=2, sigma=0.3, seed=0)
    space = {"tm": tm, "data": data}
    exec(compile(code.partition("```")[0], "README.md", "exec"), space)
    w = tm.solve(tm.c_svc(data, C=space["same"].C)).values["w"]
    assert w == pytest.approx(space["row"].point.w, rel=1e-5)
    assert [row.point.norm_bound for row in space["path"].rows] == [0.5, 1.0, 2.0]


def test_papers_on_tap_and_notebooks_are_those_that_there_are() -> None:
    section = GUIDE.partition("## Papers on tap")[2].partition("\n## ")[0]
    papers = re.findall(r"^\| `([a-z-]+)` \|", section, flags=re.MULTILINE)
    names = [one.name for one in everything()]
    assert all(any(name.startswith(f"{paper}-") for paper in papers) for name in names)
    assert all(any(name.startswith(f"{paper}-") for name in names) for paper in papers)
    assert f"the list: {len(names)} tables and figures" in section
    listed = re.findall(r"\]\(notebooks/([^)]+\.ipynb)\)", README)
    assert sorted(listed) == sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
