"""The extended robust machine by cones: against all choices of outliers, and forged covers."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.cuts import _problem
from tests.inside.formulations import offset_limit, robust_risk
from tests.inside.solvers import HalvedOrthants, StopReason, orthants
from tests.inside.solvers import simplicial_cover_lemma as cover_lemma
from tests.inside.solvers import simplicial_cover_value as cover_value
from tests.inside.solvers import simplicial_halves as halves
from tests.references.extended_nu import by_all_outliers
from tightmargin.cuts import robust_search

MODES = ("free", "penalised", "none")


def drawn(seed: int, n: int = 9, d: int = 2) -> tm.TrainingData:
    """Whole numbers, so that points, scores and whole lines of them coincide."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.integers(-2, 3, size=(n, d)) + y[:, None]
    X[0] = X[2]
    return tm.TrainingData(X.astype(float), y)


@pytest.mark.parametrize(("mode", "seed"), list(zip(MODES, (1, 2, 1), strict=True)))
def test_it_is_the_best_choice_of_outliers(mode: str, seed: int) -> None:
    data, nu, mu = drawn(seed), 0.6, 1 / 9
    found = robust_search(data, nu=nu, mu=mu, intercept=mode)
    expected = by_all_outliers(data, nu, 1, mode)
    assert found.stop is StopReason.PROVEN
    assert found.bound <= expected + 1e-7
    assert found.risk == pytest.approx(expected, rel=1e-5, abs=1e-7)
    risk, _ = robust_risk(data, found.w, found.b, nu=nu, mu=mu)
    assert risk <= found.risk <= risk + 1e-12
    length = np.linalg.norm(np.append(found.w, found.b if mode == "penalised" else 0.0))
    assert length <= 1
    assert len(found.outliers) == 1


def test_w_0_is_proven_where_every_machine_has_a_positive_risk() -> None:
    """Each point with both labels: the score of one is the error of the other."""
    X = np.array([[1.0, 0], [0, 1], [1, 1], [1, -2]])
    data = tm.TrainingData(np.vstack([X, X]), np.repeat([1.0, -1.0], 4))
    found = robust_search(data, nu=0.5, mu=0.125, intercept="none")
    assert (found.risk, found.bound, found.gap) == (0.0, 0.0, 0.0)
    assert found.stop is StopReason.PROVEN
    assert not found.w.any()


def test_limits_and_ctrl_c_keep_what_is_proven() -> None:
    data, words = drawn(7, n=24), {"nu": 0.7, "mu": 1 / 12}
    whole = robust_search(data, **words)
    calls = []

    def once(point: Any) -> None:
        calls.append(point)
        if len(calls) == 2:
            raise KeyboardInterrupt

    few = robust_search(data, cell_limit=3, **words)
    for found, stop in (
        (few, StopReason.CELL_LIMIT),
        (robust_search(data, time_limit=1e-9, **words), StopReason.TIME_LIMIT),
        (robust_search(data, progress=once, **words), StopReason.INTERRUPTED),
    ):
        assert found.stop is stop
        assert found.bound <= whole.bound + 1e-9
        assert np.isfinite(found.bound)
        assert found.lemma is not None
    assert few.bound < few.risk

    def pressed(point: Any) -> None:
        if point.nodes > 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # the last note is told to the same function
        robust_search(data, progress=pressed, **words)


def test_a_known_machine_is_kept() -> None:
    data = drawn(8, n=20)
    local = tm.search.robust_dca(data, nu=0.6, mu=0.1, starts=3)
    found = robust_search(data, nu=0.6, mu=0.1, incumbent=(local.w, local.b), cell_limit=1)
    assert found.risk <= local.risk + 1e-9
    assert local.risk >= robust_search(data, nu=0.6, mu=0.1).bound


def test_beyond_the_limit_of_b_every_risk_is_positive() -> None:
    data, nu, mu = drawn(2, n=11), 0.5, 1 / 11
    limit = offset_limit(data, nu, mu)
    rng = np.random.default_rng(1)
    for _ in range(500):
        w = rng.standard_normal(2)
        w /= np.linalg.norm(w)
        for b in (limit, -limit):
            assert robust_risk(data, w, 1.001 * b, nu=nu, mu=mu)[0] > 0


def _proof() -> tuple[Any, HalvedOrthants]:
    data = drawn(3, n=20)
    problem, unit = _problem(data, 0.45, 0.1, "penalised")
    found = robust_search(data, nu=0.45, mu=0.1)
    lemma = cover_lemma(problem, found.cover, unit)
    assert lemma is not None
    assert lemma.value == found.bound
    return problem, found.cover


def test_forged_covers_prove_nothing_false() -> None:
    """A cover with any one number changed is refused, or proves a bound that is true."""
    problem, cover = _proof()
    honest = cover_value(problem, cover)
    rng = np.random.default_rng(2)
    refused = 0
    for _ in range(150):
        name = str(rng.choice(["halved", "directions", "known", "shares", "bounds", "exponents"]))
        numbers = np.array(getattr(cover, name))
        at = tuple(int(rng.integers(size)) for size in numbers.shape)
        numbers[at] = numbers[at] * rng.choice([0, -1, 2]) + rng.choice([0, 1])
        try:
            value = cover_value(problem, dataclasses.replace(cover, **{name: numbers}))
        except ValueError:
            refused += 1
        else:
            assert value <= honest * (1 - 1e-5)
    assert refused > 50


@pytest.mark.parametrize("part", [0, 1, -1])
def test_missing_cones_are_missed(part: int) -> None:
    problem, cover = _proof()
    halved = np.delete(cover.halved, part, axis=0)
    with pytest.raises(ValueError, match=r"cone|leaf|leaves"):
        cover_value(problem, dataclasses.replace(cover, halved=halved))


def test_both_halves_hold_the_whole_cone() -> None:
    rng = np.random.default_rng(4)
    cone = next(iter(orthants(4)))
    for _ in range(60):
        i, j = (int(k) for k in rng.choice(4, size=2, replace=False))
        lower, upper = halves(cone, i, j, int(rng.integers(-2, 3)))
        inside = cone @ rng.integers(0, 9, size=4)
        solved = [np.linalg.solve(half.astype(float), inside) for half in (lower, upper)]
        assert max(float(t.min()) for t in solved) > -1e-6 * float(np.abs(inside).max() + 1)
        cone = lower if rng.random() < 0.5 else upper
