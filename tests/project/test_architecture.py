"""docs/architecture.md is what happens: its lists are run, its floors are the import rules."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.support.command_line import ROOT, run

PAGE = (ROOT / "docs" / "architecture.md").read_text()
ROOMS = ("formulations", "solvers", "cuts", "experiments")
STEP = re.compile(r"^\d+\. `([^:`]+): (\w+)`", re.MULTILINE)


def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=30) > 0, 1, -1)


def nu_svc(folder: Path) -> None:
    tm.solve(tm.nu_svc(tm.TrainingData(*points()), nu=0.5))


def penalty(folder: Path) -> None:
    data = "synthetic:clustered,n=30,d=7,sigma=0.5,seed=1"
    words = ["--set", "penalty=1", "--set", "big_m=derived"]
    assert run("solve", "zero_one_big_m", "--data", data, *words).code == 0


def cut(folder: Path) -> None:
    data = tm.data.outlier_data("clustered", n=20, d=2, sigma=0.5, seed=1)
    tm.search.cutting_plane(data, nu=0.2)


def spec(folder: Path) -> None:
    X, y = points()
    np.savetxt(
        folder / "points.csv", np.column_stack([X, y]), delimiter=",", header="a,b,y", comments=""
    )
    assert run("solve", "c_svc", "--data", str(folder / "points.csv"), "--set", "C=1").code == 0


def first_calls(action: Callable[[Path], None], folder: Path) -> dict[tuple[str, str], int]:
    """When each function of ours was first called."""
    found: dict[tuple[str, str], int] = {}
    places: dict[str, str] = {}

    def follow(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        file = frame.f_code.co_filename
        if file not in places:
            path = Path(file).resolve()
            inside = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in ROOMS
            places[file] = str(path.relative_to(ROOT)) if inside else ""
        if places[file]:
            found.setdefault((places[file], frame.f_code.co_name), len(found))

    before = sys.getprofile()
    sys.setprofile(follow)
    try:
        action(folder)
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize(("number", "action"), enumerate([nu_svc, penalty, cut, spec], start=1))
def test_each_list_is_the_order_in_which_things_happen(
    number: int, action: Callable[[Path], None], tmp_path: Path
) -> None:
    steps = STEP.findall(PAGE.split("\n## ")[number])
    assert len(steps) >= 10
    found = first_calls(action, tmp_path)
    assert [step for step in steps if step not in found] == []
    places = [found[step] for step in steps]
    assert places == sorted(places), [step for step, _ in sorted(zip(steps, places, strict=True))]


def test_the_picture_has_the_floors_of_the_import_rules() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (floors,) = (c["layers"] for c in contracts["contracts"] if c["name"].startswith("floors"))
    drawn = [line.split("   ")[0].split() for line in PAGE.split("```")[1].strip().splitlines()]
    assert [name for line in drawn for name in line] == [
        name for floor in floors for name in floor.split(" : ")
    ]
