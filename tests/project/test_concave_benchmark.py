"""The benchmark of concave programs at toy size: its routes agree, and its table says the truth."""

from __future__ import annotations

import math

import pytest

from benchmarks.classical_concave import PROBLEMS
from benchmarks.concave import INSTANCES, Instance, Run, _verdict, line, measured, table


@pytest.mark.parametrize("dense", [False, True])
def test_every_route_finds_the_same_optimum(dense: bool) -> None:
    toy = Instance(2, 8, dense)
    runs = [measured(toy, how, 20.0) for how in ("branch-and-cut", "cutting-plane", "scip")]
    assert all(run is not None and run.finished for run in runs)
    ends = [run.objective for run in runs if run is not None]
    assert ends == pytest.approx([ends[0]] * 3, rel=1e-5)
    assert line(toy, 20.0)[:3] == ("2", "8", "dense" if dense else "diagonal")


def test_a_table_has_a_line_for_each_instance() -> None:
    text = table([Instance(2, 8, True)], 20.0)
    first, second = text.split("Problems of Floudas & Pardalos")
    assert first.count("\n|") == 2
    assert second.count("\n|") == 2 + len(PROBLEMS)
    assert all(f"| {problem.optimum:g} |" in second for problem in PROBLEMS)
    assert {i.dimension for i in INSTANCES} == {2, 3, 4, 5, 6, 7, 8, 10}


def test_what_was_missed_is_said() -> None:
    def found(ours: float, scip: float, *, proven: bool = True, dimension: int = 6) -> str:
        runs = {"branch-and-cut": Run(ours, 0.0, proven), "scip": Run(scip, 0.0, True)}
        return _verdict(Instance(dimension, 9, True), runs)

    assert found(1.0, 6.0) == "6.0 x"
    assert found(1.0, 3.0) == "3.0 x, **missed**"
    assert found(1.0, 0.5) == "0.5 x", "SCIP is quick there, and nothing is asked"
    assert "missed" in found(11.0, 0.5, dimension=4)
    assert "missed" in found(1.0, 6.0, proven=False)
    assert math.isfinite(Run(1.0, 0.0, True).seconds)
