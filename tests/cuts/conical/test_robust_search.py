"""The extended robust machine by cones: all choices of outliers, forged covers, and edits."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside import solvers as kernel
from tests.inside.cuts import _problem
from tests.inside.formulations import level_price, robust_risk, window
from tests.references.extended_nu import by_all_outliers
from tests.support.certified import checked
from tightmargin.cuts import robust_search
from tightmargin.solvers import Verdict

MODES = ("free", "penalised", "none")


def drawn(seed: int, n: int = 9) -> tm.TrainingData:
    """Whole numbers, so that points, scores and whole lines of them coincide."""
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = np.random.default_rng(seed).integers(-2, 3, size=(n, 2)) + y[:, None]
    X[0] = X[2]
    return tm.TrainingData(X.astype(float), y)


def test_w_0_is_proven_where_every_machine_has_a_positive_risk() -> None:
    """Each point with both labels: the score of one is the error of the other."""
    X = np.array([[1.0, 0], [0, 1], [1, 1], [1, -2]])
    data = tm.TrainingData(np.vstack([X, X]), np.repeat([1.0, -1.0], 4))
    found = robust_search(data, nu=0.5, mu=0.125, intercept="none")
    assert (found.risk, found.bound, found.gap) == (0.0, 0.0, 0.0)
    assert found.stop is kernel.StopReason.PROVEN
    assert not found.w.any()


def test_limits_and_ctrl_c_keep_what_is_proven() -> None:
    data, words = drawn(7, n=24), {"nu": 0.7, "mu": 1 / 12}
    whole = robust_search(data, **words)
    told = itertools.count()

    def once(_: Any) -> None:
        if next(told) == 1:
            raise KeyboardInterrupt

    few = robust_search(data, cell_limit=3, **words)
    for found, stop in (
        (few, kernel.StopReason.CELL_LIMIT),
        (robust_search(data, time_limit=1e-9, **words), kernel.StopReason.TIME_LIMIT),
        (robust_search(data, progress=once, **words), kernel.StopReason.INTERRUPTED),
    ):
        assert found.stop is stop
        assert -np.inf < found.bound <= whole.bound + 1e-9
        assert found.lemma is not None
    assert few.bound < few.risk
    model = tm.extended_robust_svc(data, **words)
    late = tm.solve(model, method="robust-search", time_limit=1e-3)
    assert late.certificate.verdict is Verdict.NOT_CERTIFIED
    assert -np.inf < late.bound <= whole.bound + 1e-9
    assert whole.risk <= late.objective + 1e-9


def _proof() -> tuple[Any, kernel.HalvedOrthants]:
    data = drawn(3, n=20)
    problem, unit = _problem(data, 0.45, 0.1, "penalised")
    found = robust_search(data, nu=0.45, mu=0.1)
    lemma = kernel.simplicial_cover_lemma(problem, found.cover, unit)
    assert lemma is not None
    assert lemma.value == found.bound
    return problem, found.cover


def test_forged_covers_prove_nothing_false() -> None:
    """A cover with any one number changed is refused, or proves a bound that is true."""
    problem, cover = _proof()
    honest = kernel.simplicial_cover_value(problem, cover)
    rng = np.random.default_rng(2)
    refused = 0
    for _ in range(150):
        name = str(rng.choice(["halved", "directions", "known", "shares", "bounds", "exponents"]))
        numbers = np.array(getattr(cover, name))
        at = tuple(int(rng.integers(size)) for size in numbers.shape)
        numbers[at] = numbers[at] * rng.choice([0, -1, 2]) + rng.choice([0, 1])
        try:
            forged = dataclasses.replace(cover, **{name: numbers})
            value = kernel.simplicial_cover_value(problem, forged)
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
        kernel.simplicial_cover_value(problem, dataclasses.replace(cover, halved=halved))


def test_both_halves_hold_the_whole_cone() -> None:
    rng = np.random.default_rng(4)
    cone = next(iter(kernel.orthants(4)))
    for _ in range(60):
        i, j = (int(k) for k in rng.choice(4, size=2, replace=False))
        lower, upper = kernel.simplicial_halves(cone, i, j, int(rng.integers(-2, 3)))
        inside = cone @ rng.integers(0, 9, size=4)
        solved = [np.linalg.solve(half.astype(float), inside) for half in (lower, upper)]
        assert max(float(t.min()) for t in solved) > -1e-6 * float(np.abs(inside).max() + 1)
        cone = lower if rng.random() < 0.5 else upper


NU, MU = 0.7, "1/9"


def noisy(n: int = 9, d: int = 2) -> tm.TrainingData:
    """Two classes apart, a point of which is far on the wrong side."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = 1.2 * y[:, None] + rng.standard_normal((n, d))
    X[0] = 4.0
    return tm.TrainingData(X, y)


@pytest.mark.parametrize("mode", MODES)
def test_auto_leaves_a_model_to_the_search_which_certifies_it(mode: str) -> None:
    data = noisy()
    expected = by_all_outliers(data, NU, 1, mode)
    assert expected < 0
    model = tm.extended_robust_svc(data, nu=NU, mu=MU, intercept=mode)
    found = tm.solve(model)
    certificate = found.certificate
    assert (certificate.verdict, certificate.level) == (Verdict.CERTIFIED, "paper")
    assert certificate.facts["engine"] == "robust-search"
    assert certificate.facts["outliers"] == 1
    assert found.objective == pytest.approx(expected, rel=1e-6)
    assert found.bound <= expected + 1e-7 * abs(expected)
    w, b = found.values["w"], float(found.values.get("b", 0.0))
    risk, q = robust_risk(data, w, b, nu=NU, mu=MU)
    assert found.objective == pytest.approx(risk, rel=1e-9)
    np.testing.assert_array_equal(found.values["z"], q * data.n)
    outside = checked(model, **{name: 2 * value for name, value in found.values.items()})
    assert outside.objective == pytest.approx(expected, rel=1e-6), "twice as long is drawn in"


@pytest.mark.parametrize("mode", MODES)
def test_the_bound_holds_for_the_doubles_of_the_model(mode: str) -> None:
    """In rational numbers: (nu - mu) n errors are not fewer than the prices of the model buy."""
    rng = np.random.default_rng(3)
    for n in rng.integers(2, 60, size=40).tolist():
        data = tm.TrainingData(rng.standard_normal((n, 1)), np.where(np.arange(n) % 2, 1.0, -1.0))
        nu = float(rng.uniform(0.05, 1.0)) if n % 3 else 1.0
        count = int(rng.integers(0, np.ceil(nu * n)))
        mu = Fraction(count, n)
        price = Fraction(level_price(data, nu, mu)) / Fraction(1 / n)
        wide = window(data, nu, mu)
        assert wide == Fraction(nu) * n - count
        assert wide * (1 - Fraction(1, 2**51)) <= price <= wide <= n - count


def test_what_the_search_does_not_take_is_left_to_others() -> None:
    """Too many features, features that depend on one another, too many points."""
    flat = tm.TrainingData(np.column_stack([noisy().X, np.full(9, 3.0)]), noisy().y)
    for data in (noisy(n=8, d=15), flat, noisy(n=1200, d=1)):
        model = tm.extended_robust_svc(data, nu=0.5, mu=1 / data.n)
        assert kernel.automatic_method(model.origin) is None


def test_an_edited_model_is_proven_by_a_tree() -> None:
    """A point that must be kept: the problem without that choice of outliers."""
    data = noisy()
    model = tm.extended_robust_svc(data, nu=NU, mu=MU, intercept="none")
    before = tm.solve(model)
    out, n = int(np.argmax(before.values["z"])), data.n
    model.z[out].fix(0)
    found = tm.solve(model)
    # Of all points but one, whose nu n errors that count are one fewer.
    share, expected = (NU * n - 1) / (n - 1), 0.0
    for i in set(range(n)) - {out}:
        fewer = tm.TrainingData(np.delete(data.X, i, 0), np.delete(data.y, i))
        expected = min(expected, by_all_outliers(fewer, share, 0, "none") * (n - 1) / n)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert (found.certificate.level, found.certificate.unproven) == ("model", "")
    assert found.objective == pytest.approx(expected, rel=1e-5, abs=1e-8)
    assert found.objective > before.objective


def test_a_row_that_asks_for_a_positive_risk_unsettles_the_limit_of_b() -> None:
    """Beyond it risks are positive: a model whose points all have one is no statement of it."""
    model = tm.extended_robust_svc(noisy(), nu=0.6, mu=MU, intercept="free")
    assert tm.solve(model).certificate.verdict is Verdict.CERTIFIED
    model.far = pyo.Constraint(expr=model.w[0] == -1.0)
    found = tm.solve(model)
    assert found.objective > 0
    assert found.certificate.verdict is Verdict.NOT_CERTIFIED
    assert "the limit of a best b" in found.certificate.unproven
