"""The conic relaxations and the 0-1 loss on kernel matrices: Cepeda et al. 2024, appendix A."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.formulations import (
    fit_kernel_pca,
    gram_data,
    psd_entries,
)
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tests.support.certified import certified
from tightmargin.formulations import GramData, TrainingData

PENALTY = 1.3
PRICED = ("penalised", "none")
EXACT = (tm.conic_sdp, tm.conic_sdp_literal, tm.conic_sdp_eliminated)


@functools.cache
def rbf(seed: int, n: int = 12) -> GramData:
    return gram_data(points("overlapping", seed, n=n), kernel="rbf", width=0.5)


@functools.cache
def without_factor(seed: int, mode: str) -> float:
    gram, y = rbf(seed).gram, rbf(seed).y
    signed = np.outer(y, y) * (gram + (1.0 if mode == "penalised" else 0.0))
    return reference_solutions.kernel_theorem_2(signed, PENALTY)


@pytest.mark.parametrize(("mode", "seed"), list(zip(PRICED, range(2), strict=True)))
def test_every_form_on_a_kernel_is_the_problem_of_appendix_a(seed: int, mode: str) -> None:
    data, expected = rbf(seed), without_factor(seed, mode)
    values = {
        build.__name__: certified(build(data, penalty=PENALTY, intercept=mode)).objective
        for build in EXACT
    }
    dual = certified(tm.conic_sdp_dual(data, penalty=PENALTY, intercept=mode))
    gamma = np.array(dual.certificate.facts["strengthening"])
    fixed = certified(tm.conic_fixed(data, penalty=PENALTY, strengthening=gamma, intercept=mode))
    values |= {"dual": -dual.objective, "fixed": fixed.objective}
    assert values == {name: pytest.approx(expected, rel=1e-6) for name in values}


def test_the_matrix_has_the_order_of_the_rank() -> None:
    """n = 30 points in the plane and a quadratic kernel: rank 6, hence 6 + 1 + 1 and not 31."""
    data = gram_data(points("overlapping", 0, n=30), kernel="poly", degree=2, coef0=1.0)
    assert np.linalg.matrix_rank(data.gram) == 6
    model = tm.conic_sdp(data, penalty=PENALTY)
    entries = psd_entries(model.outer.body)
    assert entries is not None
    assert len(entries) == 8 * 9 // 2


def test_a_truncated_factor_is_above_the_kernel_and_refused_as_a_bound() -> None:
    data, expected = rbf(0), without_factor(0, "penalised")
    words = {"penalty": PENALTY, "intercept": "penalised"}
    leading = TrainingData(data.factor[:, -4:], data.y)
    model = tm.conic_sdp(leading, **words)
    assert certified(model).objective > expected + 0.1
    exact = tm.solve(tm.zero_one_big_m(data, big_m="derived", **words))
    with pytest.raises(ValueError, match=r"other data \(n=12, d=4\).*fewer columns than its rank"):
        tm.compare(None, [model], exact=exact)
    components = fit_kernel_pca(data, keep=4).data
    with pytest.raises(ValueError, match=r"other data \(n=12, d=4\).*fewer columns than its rank"):
        tm.compare(components, ["conic_sdp"], exact=exact, parameters=words)
    saved = replace(exact, normalisation={"kernel": "rbf"}, data={**exact.data, "sha256": "raw"})
    for known in (exact, saved):
        row = tm.compare(data, ["conic_sdp"], exact=known, parameters=words).rows[0]
        assert row.bound == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("mode", reference_solutions.INTERCEPTS)
def test_the_0_1_optimum_on_a_kernel_is_that_of_brute_force(mode: str) -> None:
    data = rbf(2, n=7)
    bent = TrainingData(np.linalg.cholesky(data.gram), data.y)
    expected = reference_solutions.zero_one_optimum(bent, mode, PENALTY)
    common: dict[str, Any] = {"penalty": PENALTY, "intercept": mode, "big_m": "derived"}
    found = certified(tm.build("zero_one_big_m", data, **common))
    assert found.objective == pytest.approx(expected, rel=1e-6)
    assert found.certificate.unproven == ""
    sdp = {} if mode == "free" else {"conic_sdp": {}, "conic_fixed": {"strengthening": "scaled"}}
    rows = [("zero_one_relaxed", {}), ("zero_one_hinge", {}), *sdp.items()]
    if mode == "free":
        rows.append(("conic_sdp", {"intercept_bound": "derived"}))
    table = tm.compare(data, rows, exact=found, parameters=common)
    assert table.upper == found.objective
    for row in table.rows:
        assert row.bound is not None, row.remark
        assert row.bound <= expected + 1e-6
