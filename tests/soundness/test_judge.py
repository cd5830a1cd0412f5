"""The judge can fail: results that lie, and truths of the search against other arithmetic."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import tightmargin as tm
from tests.soundness.asking import said_by
from tests.soundness.families import FAMILIES, WEIGHTS, case_of
from tests.soundness.judge import Said, Truth, infeasible, optimum, unbounded, wrong
from tests.soundness.questions import TRIALS

HONEST = Said(2.0, 2.0 - 1e-9, proven=True, point=True, status="optimal", evaluated=Fraction(2))
TRUE = optimum(2)


def test_what_is_true_is_not_called_false() -> None:
    for said, truth in (
        (HONEST, TRUE), (Said(), TRUE),
        (replace(HONEST, objective=3.0, evaluated=None, proven=False), TRUE),
        (Said(status="infeasible", proven=True), infeasible()),
        (Said(status="unbounded", proven=True), unbounded()),
        (Said(status="unbounded", proven=True), Truth("point", 5)),
        (replace(HONEST, bound=9.0, unproven="M is too small"), optimum(2, paper=True)),
    ):  # fmt: skip
        assert wrong(said, truth) == []


@pytest.mark.parametrize(
    ("said", "truth", "word"),
    [
        (replace(HONEST, bound=2.001), TRUE, "bound 2.001 beyond"),
        (replace(HONEST, bound=2.001, proven=False), TRUE, "bound 2.001 beyond"),
        (replace(HONEST, bound=1.999), optimum(2, sense=-1), "bound 1.999 beyond"),
        (replace(HONEST, objective=2.1, evaluated=None), TRUE, "proven 2.1"),
        (replace(HONEST, objective=1.9, evaluated=None, bound=None), TRUE, "proven 1.9"),
        (replace(HONEST, objective=2.1, evaluated=None), Truth("point", 2), "proven 2.1"),
        (replace(HONEST, objective=None), TRUE, "is reached"),
        (Said(status="infeasible", proven=True), Truth("point", 5), "proven infeasible"),
        (Said(status="unbounded", proven=True), TRUE, "proven unbounded"),
        (HONEST, infeasible(), "infeasible model"),
        (replace(HONEST, proven=False), infeasible(), "infeasible model"),
        (replace(HONEST, proven=False), unbounded(), "bound 2 on an unbounded model"),
        (replace(HONEST, bound=None), unbounded(), "unbounded model proven"),
        (replace(HONEST, objective=np.nan), TRUE, "nan or inf in objective"),
        (replace(HONEST, numbers={"w": np.array([1.0, np.inf])}), TRUE, "nan or inf in w"),
        (replace(HONEST, numbers={"facts": {"a": [np.nan]}}), TRUE, "nan or inf in facts"),
        (replace(HONEST, evaluated=Fraction(3)), TRUE, "evaluated at its values 3"),
        # 1e-5 of what is left without the constant, not of a billion.
        (replace(HONEST, objective=1e9 + 3, bound=1e9, evaluated=None),
         optimum(10**9 + 2, constant=10**9), "proven 1"),
        (replace(HONEST, objective=1e-6, bound=0.0, evaluated=None), optimum(0), "proven 1e-06"),
        (replace(HONEST, bound=9.0, unproven="M is too small"), TRUE, "bound 9 beyond"),
    ],
)  # fmt: skip
def test_lies_are_called_false(said: Said, truth: Truth, word: str) -> None:
    (found, *_) = wrong(said, truth)
    assert word in found


@pytest.mark.parametrize("family", ["hinge", "planted_optimum", "zero_one", "paths"])
def test_a_lying_result_is_found_in_a_case(family: str) -> None:
    """The product's own answers, moved by one part in a thousand of the truth."""
    caught = 0
    for number in range(4):
        for answer in case_of(family, 5, number).ask():
            said, truth = answer.said, answer.truth
            if not said.proven or truth.kind != "optimum" or truth.value == truth.constant:
                continue
            assert wrong(said, truth) == []
            off = truth.sense * (abs(float(truth.value)) / 1000 + 100 * truth.error)
            assert wrong(replace(said, bound=float(truth.value) + off), truth)
            assert wrong(replace(said, bound=None, objective=float(truth.value) - off), truth)
            caught += 1
    assert caught >= 2


def test_a_result_is_read_whole() -> None:
    model = tm.c_svc(tm.TrainingData([[0.0], [1.0], [0.5]], [-1, 1, 1]), C=1.0)
    result = tm.solve(model)
    said = said_by(result, model)
    assert (said.proven, said.objective, said.bound) == (True, result.objective, result.bound)
    assert float(said.evaluated or 0) == pytest.approx(result.objective, rel=1e-9)
    worse = replace(result, values={**result.values, "xi": result.values["xi"] + 1.0})
    assert wrong(said_by(worse, model), optimum(result.objective, error=1e-6))


def test_every_entry_is_searched() -> None:
    assert set(TRIALS) == set(tm.catalogue)
    assert set(WEIGHTS) <= set(FAMILIES)
