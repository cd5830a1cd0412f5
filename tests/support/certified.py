"""A certified result, the hyperplane it names, and the check of an entry at a point."""

from __future__ import annotations

from typing import Any

import numpy as np

import tightmargin as tm
from tightmargin.formulations import CATALOGUE, PaperCheck
from tightmargin.solvers import SolveResult, Verdict


def certified(model: Any, solver: str = "auto", **words: Any) -> SolveResult:
    """The result, whose verdict must be CERTIFIED."""
    result = tm.solve(model, solver, **words)
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    return result


def proven(model: Any) -> SolveResult:
    """A certified result that rests on nothing unproven."""
    result = certified(model)
    assert result.certificate.unproven == ""
    return result


def hyperplane(model: Any, result: SolveResult) -> tuple[np.ndarray, float]:
    """The hyperplane that the entry reads from the values and multipliers of a result."""
    entry: Any = CATALOGUE[result.formulation]
    return entry.classifier(model.origin, result.values, result.duals)


def checked(model: Any, **values: Any) -> PaperCheck:
    """What the entry's check says of a point of the model."""
    entry: Any = CATALOGUE[model.name]
    return entry.check(model.origin, {name: np.asarray(v) for name, v in values.items()})
