"""Row 11: a kernel matrix that is not semidefinite is refused, or shifted in so many words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.support.command_line import run, write_csv
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult, Verdict

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 2))
Y = np.where(np.arange(8) < 4, 1, -1)
SIGMOID = np.tanh(0.5 * X @ X.T - 1.0)
SMALLEST = float(np.linalg.eigvalsh(SIGMOID)[0])
ON_KERNELS: dict[str, dict[str, Any]] = {
    "c_svc_dual": {"C": 1.0}, "extended_nu_svc": {"nu": 0.5}, "zero_one_kernel": {"penalty": 1.0},
    "kernel_soft_margin_svc": {"ridge": 0.1}, "rsvm_kernel_relaxed": {},
    "reduced_hull_svc": {"hull_bound": 0.4}, "conic_sdp": {"penalty": 1.0},
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
