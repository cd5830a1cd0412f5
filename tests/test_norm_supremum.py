"""The longest solution of least loss, which the paper takes for the limit of valid H."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from formulations.data import TrainingData
from formulations.rsvm_checks import hinge_sum
from solvers.algorithms.h_limit import h_limit
from solvers.algorithms.norm_supremum import norm_supremum
from tests.witness import points

METHODS = ("boxes", "scip", "gurobi")
LINE = ([1, -1, 0.25, -0.25, -0.25, 0.25], [1, -1, 1, -1, 1, -1])


@pytest.mark.parametrize("method", METHODS)
def test_a_line_with_solutions_from_1_to_4_has_the_supremum_4(method: str) -> None:
    """Proposition 6 would call H = 4 valid; gamma is 0 from H = 1 on."""
    if method != "boxes":
        pytest.importorskip({"scip": "pyscipopt", "gurobi": "gurobipy"}[method])
    data = TrainingData(np.array(LINE[0])[:, None], LINE[1])
    limit = h_limit(data)
    found = norm_supremum(data, limit, method)
    assert (found.lower, found.upper) == pytest.approx((4, 4), rel=1e-6)
    assert limit.value == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("method", ["boxes", "scip"])
def test_solutions_of_any_length_have_no_supremum(method: str) -> None:
    shared = TrainingData([[1], [-1], [0], [0]], [1, -1, 1, -1])
    found = norm_supremum(shared, h_limit(shared), method)
    assert (found.lower, found.upper) == (math.inf, math.inf)
    assert "unbounded" in found.source
    separable = points("separable", 1)
    found = norm_supremum(separable, h_limit(separable), method)
    assert (found.lower, found.upper) == (math.inf, math.inf)
    assert "separable" in found.source


@pytest.mark.parametrize("method", ["boxes", "scip"])
def test_in_the_plane_the_longest_vertex_of_least_loss_is_found(method: str) -> None:
    """A bounded face is the hull of its vertices, each a line with u = 1 at three points."""
    if method == "scip":
        pytest.importorskip("pyscipopt")
    X = np.column_stack([LINE[0], [0, 0, 1, 1, -1, -1.0]])
    data = TrainingData(np.vstack([X, X]), [*LINE[1], *LINE[1]])
    columns = np.column_stack([data.X, np.ones(data.n)])
    vertices: list[tuple[float, float]] = [(hinge_sum(data, np.zeros(2), 0.0), 0.0)]
    for three in combinations(range(data.n), 3):
        some = list(three)
        if abs(np.linalg.det(columns[some])) > 1e-9:
            v = np.linalg.solve(columns[some], data.y[some])
            vertices.append((hinge_sum(data, v[:2], v[2]), float(np.linalg.norm(v[:2]))))
    least = min(vertices)[0]
    longest = max(norm for loss, norm in vertices if loss <= least + 1e-9)
    limit = h_limit(data)
    found = norm_supremum(data, limit, method)
    assert found.lower <= longest * (1 + 1e-6)
    assert found.upper >= longest * (1 - 1e-6)
    assert limit.value <= longest * (1 + 1e-9)
    if method == "scip":
        assert (found.lower, found.upper) == pytest.approx((longest, longest), rel=1e-5)


def test_a_turn_makes_boxes_coarser_and_the_non_convex_search_no_worse() -> None:
    pytest.importorskip("pyscipopt")
    X = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1], [0.25, 0], [-0.25, 0], [-0.25, 0], [0.25, 0]])
    y = np.array([1, -1, 1, -1, 1, -1, 1, -1])
    straight, turned = (
        TrainingData(X @ np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]), y)
        for a in (0.0, 0.6)
    )
    known = norm_supremum(straight, h_limit(straight))
    assert known.lower == pytest.approx(known.upper, rel=1e-9)
    limit = h_limit(turned)
    boxes, search = norm_supremum(turned, limit), norm_supremum(turned, limit, "scip")
    assert boxes.upper > known.upper * 1.01
    assert boxes.lower <= known.upper * (1 + 1e-9)
    assert (search.lower, search.upper) == pytest.approx((known.lower, known.upper), rel=1e-5)
    assert search.source == "scip: optimal"


def test_an_unknown_method_and_a_limit_without_a_value_are_refused() -> None:
    data = points("overlapping", 1, n=400, d=20)
    limit = h_limit(data, time_limit=1e-3)
    assert math.isnan(limit.value)
    with pytest.raises(ValueError, match="no value"):
        norm_supremum(data, limit)
    with pytest.raises(ValueError, match="method must be one of boxes, scip, gurobi"):
        norm_supremum(data, limit, "box")
