"""The class of a model, decided from its rows before any solver sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from formulations.catalogue import ProblemClass
from solvers.quadratic_rows import EIGENVALUE_TOLERANCE, Reading, Shape, read_rows
from solvers.standard_form import StandardForm

CONVEX_CLASSES = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)
INTEGER_CLASSES = (ProblemClass.MILP, ProblemClass.MIQP, ProblemClass.MISOCP)


@dataclass(frozen=True, eq=False)
class Classification:
    """Class of a model, its quadratic rows as read, and why it is not convex when it is not."""

    problem_class: ProblemClass
    readings: tuple[Reading, ...]
    reason: str = ""

    @property
    def convex(self) -> bool:
        """Continuous and convex."""
        return self.problem_class in CONVEX_CLASSES

    @property
    def relaxes_to_convex(self) -> bool:
        """Convex once integrality is dropped."""
        return self.convex or self.problem_class in INTEGER_CLASSES


def classify(form: StandardForm) -> Classification:
    """Classify a model read by standard_form."""
    readings = read_rows(form)
    integer = bool(form.integer.any())

    def answer(problem_class: ProblemClass, reason: str = "") -> Classification:
        return Classification(problem_class, readings, reason)

    if form.nonlinear:
        return answer(ProblemClass.NONCONVEX, f"{form.nonlinear[0].name} is not quadratic")
    smallest = smallest_curvature(form.objective.Q)
    if smallest < 0:
        return answer(
            ProblemClass.NONCONVEX, f"the objective has negative curvature {smallest:.3g}"
        )
    bad = [r for r in readings if r.shape is not Shape.CONVEX]
    if bad:
        lone_reverse = len(bad) == len(readings) == 1 and bad[0].shape is Shape.REVERSE
        linear = form.objective.Q.nnz == 0 and not form.psd and not integer
        if lone_reverse and linear:
            return answer(ProblemClass.LRCP, bad[0].reason)
        return answer(ProblemClass.NONCONVEX, bad[0].reason)
    if form.psd:
        if integer:
            return answer(ProblemClass.NONCONVEX, "integer variables beside a semidefinite row")
        return answer(ProblemClass.SDP)
    if readings:
        return answer(ProblemClass.MISOCP if integer else ProblemClass.SOCP)
    if form.objective.Q.nnz:
        return answer(ProblemClass.MIQP if integer else ProblemClass.QP)
    return answer(ProblemClass.MILP if integer else ProblemClass.LP)


def smallest_curvature(Q: sp.csr_matrix) -> float:
    """Smallest eigenvalue of a symmetric matrix, 0 when it is semidefinite to rounding."""
    if Q.nnz == 0:
        return 0.0
    off_diagonal = Q - sp.diags(Q.diagonal())
    off_diagonal.eliminate_zeros()
    if off_diagonal.nnz == 0:
        return min(0.0, float(Q.diagonal().min()))
    support = np.unique(Q.nonzero()[0])
    eigenvalues = np.linalg.eigvalsh(Q[support][:, support].toarray())
    noise = EIGENVALUE_TOLERANCE * float(np.abs(eigenvalues).max())
    return float(eigenvalues[0]) if eigenvalues[0] < -noise else 0.0
