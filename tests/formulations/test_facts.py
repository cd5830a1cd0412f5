"""What certificates say of a point beside its objective, counted by hand."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.formulations import conic_loss
from tests.references import reference_solutions
from tests.references.matrix import matrix_points
from tests.references.multiclass import class_points
from tests.references.reference_solutions import points
from tests.support.certified import certified
from tightmargin.formulations import CATALOGUE

MATRICES, RIDGE = matrix_points(2), 0.5  # 14 predictors 3 x 3
WORDS = {"ridge": RIDGE, "shape": "3x3"}


def least_sum(scores: np.ndarray) -> float:
    """The least sum of hinge losses over b, which is at one of the kinks."""
    y = MATRICES.y
    return float(min(np.maximum(0, 1 - y * (scores + b)).sum() for b in y - scores))


def test_facts_of_matrices_hold_the_trace_the_norm_and_the_rounded_point() -> None:
    found = certified(tm.matrix_svc_projection(MATRICES, rank=2, **WORDS))
    facts = found.certificate.facts
    assert facts["trace_P"] == pytest.approx(np.trace(found.values["P"]), rel=1e-9)
    left, sizes, right = np.linalg.svd(found.values["w"].reshape(3, 3))
    assert facts["singular_values"] == pytest.approx(sizes)
    B = (left[:, :2] * sizes[:2]) @ right[:2]
    rounded = least_sum(MATRICES.X @ B.ravel()) + RIDGE / 2 * (B**2).sum()
    assert facts["rounded_objective"] == pytest.approx(rounded, rel=1e-9)
    found = certified(tm.matrix_svc_nuclear(MATRICES, tau=0.8, **WORDS))
    sizes = np.linalg.svd(found.values["w"].reshape(3, 3), compute_uv=False)
    assert found.certificate.facts["nuclear_norm"] == pytest.approx(sizes.sum())


def test_a_known_point_of_too_large_a_rank_is_cut_down_before_it_is_believed() -> None:
    full = certified(tm.matrix_svc_full(MATRICES, **WORDS)).values
    known = full["w"], float(full["b"])
    model = tm.matrix_svc_bilinear(MATRICES, rank=1, incumbent=known, **WORDS)
    left, sizes, right = np.linalg.svd(full["w"].reshape(3, 3))
    B = (sizes[0] * np.outer(left[:, 0], right[0])).ravel()
    assert [v.value for v in model.w.values()] == pytest.approx(B, abs=1e-9)
    reach = np.sqrt(2 * least_sum(MATRICES.X @ B) / RIDGE + B @ B)
    assert model.V[0, 0].ub == pytest.approx(reach, rel=1e-6)


def test_facts_of_several_classes_count_what_the_scores_do() -> None:
    data = class_points(0, n=24, K=4)
    model = tm.multiclass_hinge(data, ridge=0.3)
    result = tm.solve(model)
    B, b = CATALOGUE["multiclass_hinge"].classifier(model.origin, result.values, result.duals)
    scores, facts = data.X @ B.T + b, result.certificate.facts
    wrong = scores.argmax(axis=1) != data.y
    assert facts["errors"] == wrong.sum() > 0
    assert facts["errors_by_class"] == [int((wrong & (data.y == k)).sum()) for k in range(4)]
    own = scores[np.arange(data.n), data.y]
    scores[np.arange(data.n), data.y] = -np.inf
    assert facts["margin_violations"] == (own - scores.max(axis=1) < 1 - 1e-6).sum()
    for K, s, said in ((2, -2.0, False), (3, -0.5, False), (3, -0.6, True)):
        few = class_points(1, n=2 * K, K=K)
        model = tm.multiclass_truncated_relaxed(few, ridge=0.1, truncation=s, big_m=50.0)
        facts = tm.solve(model).certificate.facts
        assert ("not Fisher consistent" in facts.get("fisher_consistency", "")) == said


def test_facts_of_the_conic_losses_and_of_the_distance_of_hulls() -> None:
    data = points("unbalanced", 1, n=12)
    result = certified(tm.conic_fixed(data, penalty=1.3, strengthening="scaled"))
    facts, w, b = result.certificate.facts, result.values["w"], float(result.values["b"])
    losses = conic_loss(1 - data.y * (data.X @ w + b), facts["strengthening"], 1.3)
    assert facts["conic_losses"] == pytest.approx(losses.tolist())
    assert w @ w + b * b + sum(facts["conic_losses"]) == pytest.approx(result.objective, rel=1e-9)
    data = points("separable", 4)
    facts = certified(tm.reduced_hull_svc(data, hull_bound="none")).certificate.facts
    margin = 1 / np.sqrt(2 * reference_solutions.hard_margin(data, "free").value)
    assert facts["half_distance"] == pytest.approx(margin, rel=1e-6)
    assert facts["hull_distance"] == pytest.approx(2 * margin, rel=1e-6)
    assert facts["errors"] == 0


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_rank_of_the_lift_does_not_depend_on_the_units(scale: float) -> None:
    data = points("overlapping", 3, n=12)
    scaled = tm.TrainingData(scale * data.X, data.y)
    result = certified(tm.conic_sdp(scaled, penalty=1.3 / scale**2, intercept="none"))
    facts = result.certificate.facts
    assert facts["rank_of_lift"] == 1
    assert facts["rank_tolerance"] == pytest.approx(1e-6 * result.objective, rel=1e-6)


def test_a_pickle_that_names_a_module_of_before_still_loads() -> None:
    assert pickle.loads(b"ctightmargin.formulations.svc.c_svc\nc_svc\n.") is tm.c_svc
