"""Row 11: a kernel matrix that is not semidefinite is refused, or shifted on purpose and in print.

Solvers take such a matrix without a word (tests/project/test_numbers.py shows Clarabel at a
saddle).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.support.command_line import run, write_csv
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult, Verdict

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 2))
Y = np.where(np.arange(8) < 4, 1, -1)
SIGMOID = np.tanh(0.5 * X @ X.T - 1.0)
SMALLEST = float(np.linalg.eigvalsh(SIGMOID)[0])
# All of its classes of checks: a result of each says that the matrix was shifted.
ON_KERNELS: dict[str, dict[str, Any]] = {
    "c_svc_dual": {"C": 1.0}, "nu_svc_dual": {"nu": 0.5}, "extended_nu_svc": {"nu": 0.5},
    "zero_one_kernel": {"penalty": 1.0}, "kernel_soft_margin_svc": {"ridge": 0.1},
    "hard_margin_svc_dual": {}, "rsvm_dual": {"norm_bound": 1.0}, "rsvm_kernel_relaxed": {},
    "reduced_hull_svc": {"hull_bound": 0.4},
    "zero_one_hinge": {"penalty": 1.0, "big_m": "derived"},
    "conic_fixed": {"penalty": 1.0, "strengthening": "scaled"}, "conic_sdp": {"penalty": 1.0},
    "deviance_svc": {"price": 0.1},
}  # fmt: skip


@pytest.mark.parametrize("matrix", [SIGMOID, -1e-9 * np.eye(8)])
def test_row_11_a_matrix_that_is_no_kernel_is_refused_with_its_eigenvalue(matrix: Any) -> None:
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    sentence = f"gram is not positive semidefinite: smallest eigenvalue {smallest:.6g};"
    with pytest.raises(ValueError, match=sentence.replace("+", r"\+")) as refusal:
        tm.GramData(matrix, Y)
    assert "shift=smallest" in str(refusal.value)
    assert f"adds {-smallest:.6g} to the diagonal" in str(refusal.value)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_row_11_rounding_is_told_from_a_negative_eigenvalue(scale: float) -> None:
    """A Gram matrix of rank 2 is taken; the same with its least eigenvalue at -1e-9 is not."""
    for seed in range(200 if FULL else 10):
        F = np.random.default_rng(seed).standard_normal((6, 2))
        gram, y = scale * F @ F.T, [1, -1, 1, -1, 1, -1]
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
    result = tm.solve(CATALOGUE[name].build(data, **ON_KERNELS[name]), absolute_gap=1e-10)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.facts["kernel_shift"] == pytest.approx(-SMALLEST)
    assert f"smallest eigenvalue was {SMALLEST:.6g}" in result.message


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
    """And -I + I = 0 puts all points in one place, which the result says."""
    data = tm.GramData(X @ X.T, Y, shift="smallest")
    assert data.shift == 0.0
    assert "kernel_shift" not in tm.solve(tm.c_svc_dual(data, C=1.0)).certificate.facts
    result = tm.solve(tm.c_svc_dual(tm.GramData(-np.eye(8), Y, shift="smallest"), C=1.0))
    assert result.certificate.facts["least_errors"] == 4
    assert result.certificate.facts["kernel_shift"] == pytest.approx(1.0)


def test_row_11_the_command_line_refuses_shifts_and_certifies_again(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "k.csv", tm.TrainingData(SIGMOID, Y))
    words = ("c_svc_dual", "--data", file, "--set", "C=1")
    refused = run("solve", *words, "kernel=precomputed")
    assert refused.code == 2
    assert f"smallest eigenvalue {SMALLEST:.6g}" in refused.complaint
    out = tmp_path / "fit.json"
    solved = run("solve", *words, "kernel=precomputed", "shift=smallest", "--out", out)
    assert solved.code == 0
    assert "kernel shift" in solved.stdout
    assert SolveResult.load(out).normalisation == {"kernel": "precomputed", "shift": "smallest"}
    assert run("certify", out).code == 0
    misplaced = run("solve", *words, "kernel=rbf", "width=1", "shift=smallest")
    assert misplaced.code == 2
    assert "shift belongs to kernel=precomputed" in misplaced.complaint
