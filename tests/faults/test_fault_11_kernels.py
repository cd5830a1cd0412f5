"""Row 11: a kernel matrix that is not semidefinite is refused, or shifted on purpose and in print.

Solvers take such a matrix without a word (tests/project/test_numbers.py shows Clarabel at a
saddle).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.references import reference_solutions
from tests.support.command_line import run
from tightmargin.formulations import CATALOGUE, GramData
from tightmargin.solvers import SolveResult, Verdict

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 2))
Y = np.where(np.arange(8) < 4, 1, -1)
SIGMOID = np.tanh(0.5 * X @ X.T - 1.0)
SMALLEST = float(np.linalg.eigvalsh(SIGMOID)[0])
# Below nu_bar alone, which is 0 here: the points are separable in feature space.
BELOW = {
    "extended_nu_svc_reverse", "extended_nu_svc_polar", "extended_nu_svc_linearised",
    "extended_nu_svc_linearised_dual",
}  # fmt: skip
ON_KERNELS = [n for n, entry in CATALOGUE.items() if GramData in entry.takes and n not in BELOW]
PRICES: dict[str, dict[str, Any]] = {
    "c_svc_dual": {"C": 1.0}, "nu_svc_dual": {"nu": 0.5},
    "extended_nu_svc_dual": {"nu": 0.5}, "extended_nu_svc": {"nu": 0.5},
    "extended_nu_svc_ball": {"nu": 0.5}, "min_cvar": {"beta": 0.5},
    "extended_robust_svc": {"nu": 0.5, "mu": 0.125},
    "zero_one_kernel": {"penalty": 1.0},
    "zero_one_bilinear": {"penalty": 1.0}, "kernel_soft_margin_svc": {"ridge": 0.1},
    "hard_margin_svc_dual": {}, "soft_margin_svc_dual": {"ridge": 0.1},
    "rsvm_dual": {"norm_bound": 1.0}, "rsvm_dual_perspective": {"norm_bound": 1.0},
    "rsvm_kernel_relaxed": {}, "reduced_hull_svc": {"hull_bound": 0.4},
    "zero_one_big_m": {"penalty": 1.0, "big_m": "derived"},
    "zero_one_relaxed": {"penalty": 1.0, "big_m": "derived"},
    "zero_one_hinge": {"penalty": 1.0, "big_m": "derived"},
    "conic_fixed": {"penalty": 1.0, "strengthening": "scaled"},
    "conic_sdp": {"penalty": 1.0}, "conic_sdp_literal": {"penalty": 1.0},
    "conic_sdp_dual": {"penalty": 1.0}, "conic_sdp_eliminated": {"penalty": 1.0},
    "conic_sdp_budget": {"budget": 0.25},
    "conic_sdp_rank_one": {"penalty": 1.0, "partners": 1},
    "regularised_svc": {"loss": "squared_hinge", "price": 0.1}, "deviance_svc": {"price": 0.1},
    "hinge_power_svc": {"penalty": 1.0, "exponent": 1.5},
}  # fmt: skip


@pytest.mark.parametrize("matrix", [SIGMOID, -np.eye(8), -1e-9 * np.eye(8), 1e9 * SIGMOID])
def test_row_11_a_matrix_that_is_no_kernel_is_refused_with_its_eigenvalue(matrix: Any) -> None:
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    sentence = f"gram is not positive semidefinite: smallest eigenvalue {smallest:.6g};"
    with pytest.raises(ValueError, match=sentence.replace("+", r"\+")) as refusal:
        tm.GramData(matrix, Y)
    assert "shift=smallest" in str(refusal.value)
    assert f"adds {-smallest:.6g} to the diagonal" in str(refusal.value)


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-8, 1.0, 1e8]))
@settings(max_examples=40)
def test_row_11_rounding_is_told_from_a_negative_eigenvalue(seed: int, scale: float) -> None:
    """A Gram matrix of rank 2 is taken; the same with its least eigenvalue at -1e-9 is not."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((6, 2))
    gram = scale * F @ F.T
    y = [1, -1, 1, -1, 1, -1]
    assert tm.GramData(gram, y).d == 2
    largest = np.linalg.eigvalsh(gram)[-1]
    with pytest.raises(ValueError, match="not positive semidefinite"):
        tm.GramData(gram - 1e-9 * largest * np.eye(6), y)


@pytest.mark.parametrize("name", ON_KERNELS)
def test_row_11_a_shift_is_explicit_and_reported(name: str) -> None:
    data = tm.GramData(SIGMOID, Y, shift="smallest")
    assert data.shift == pytest.approx(-SMALLEST, rel=1e-12)
    assert data.smallest_eigenvalue == pytest.approx(SMALLEST, rel=1e-12)
    np.testing.assert_allclose(data.gram, SIGMOID - SMALLEST * np.eye(8), atol=1e-12)
    # The loss of the rigorous SVM is 0 here.
    result = tm.solve(CATALOGUE[name].build(data, **PRICES[name]), absolute_gap=1e-10)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.facts["kernel_shift"] == pytest.approx(-SMALLEST)
    assert f"smallest eigenvalue was {SMALLEST:.6g}" in result.message


def test_row_11_the_optimum_is_that_of_the_shifted_matrix() -> None:
    result = tm.solve(tm.c_svc_dual(tm.GramData(SIGMOID, Y, shift=6.0), C=1.0))
    shifted = SIGMOID + 6.0 * np.eye(8)
    known = -reference_solutions.c_dual(shifted, Y.astype(float), np.ones(8), "free")
    assert result.objective == pytest.approx(known, rel=1e-6)
    assert result.certificate.facts["kernel_shift"] == 6.0


@pytest.mark.parametrize(
    ("shift", "words"),
    [
        (0.5 * -SMALLEST, "is too small"),
        (-1.0, "at least 0"),
        (np.nan, "finite"),
        (np.inf, "finite"),
        (True, "a number or smallest"),
        ("least", "a number or smallest"),
    ],
)
def test_row_11_a_shift_that_does_not_help_is_refused(shift: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tm.GramData(SIGMOID, Y, shift=shift)


def test_row_11_a_kernel_gets_no_shift_it_does_not_need() -> None:
    data = tm.GramData(X @ X.T, Y, shift="smallest")
    assert data.shift == 0.0
    assert "kernel_shift" not in tm.solve(tm.c_svc_dual(data, C=1.0)).certificate.facts


def test_row_11_minus_the_identity_shifted_is_no_kernel_to_learn_from() -> None:
    """-I + I = 0: all points in one place, and the result says so."""
    result = tm.solve(tm.c_svc_dual(tm.GramData(-np.eye(8), Y, shift="smallest"), C=1.0))
    assert result.certificate.facts["least_errors"] == 4
    assert result.certificate.facts["kernel_shift"] == pytest.approx(1.0)


def table(path: Path, matrix: Any) -> Path:
    lines = [",".join([*(f"k{j}" for j in range(8)), "y"])]
    lines += [
        ",".join([*map(repr, row), str(y)])
        for row, y in zip(matrix.tolist(), Y.tolist(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_row_11_the_command_line_refuses_shifts_and_certifies_again(tmp_path: Path) -> None:
    words = ("c_svc_dual", "--data", table(tmp_path / "k.csv", SIGMOID), "--set", "C=1")
    refused = run("solve", *words, "kernel=precomputed")
    assert refused.code == 2
    assert f"smallest eigenvalue {SMALLEST:.6g}" in refused.complaint
    out = tmp_path / "fit.json"
    solved = run("solve", *words, "kernel=precomputed", "shift=smallest", "--out", out)
    assert solved.code == 0
    assert "kernel shift" in solved.stdout
    saved = SolveResult.load(out)
    assert saved.normalisation == {"kernel": "precomputed", "shift": "smallest"}
    assert run("certify", out).code == 0
    misplaced = run("solve", *words, "kernel=rbf", "width=1", "shift=smallest")
    assert misplaced.code == 2
    assert "shift belongs to kernel=precomputed" in misplaced.complaint
