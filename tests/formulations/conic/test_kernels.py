"""The conic relaxations and the 0-1 loss on kernel matrices: Cepeda et al. 2024, appendix A."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.formulations import fit_kernel_pca, gram_data
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
