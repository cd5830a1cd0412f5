"""The class of a model, decided from its rows before any solver sees it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.catalogue import INTEGER_CLASSES, ProblemClass
from tightmargin.solvers.canonical_form.cone_recognition import Reading, Shape, read_rows
from tightmargin.solvers.canonical_form.curvature import curvature
from tightmargin.solvers.standard_form.exponential_terms import exponential_form
from tightmargin.solvers.standard_form.standard_form import StandardForm

CONVEX_CLASSES = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)


@dataclass(frozen=True, eq=False)
class Classification:
    """Class of a model, its quadratic rows as read, and why it is not convex when it is not.

    Attributes
    ----------
    problem_class : ProblemClass
    readings : tuple of Reading
        Of the quadratic rows, in order.
    reason : str
        What is not convex.
    curvature : array (n,) or None
        c with Q - diag(c) proven semidefinite, for the Q of the objective; None where the
        objective is not convex.
    mixed_semidefinite : bool
        Whether integers beside semidefinite rows are all that is not convex: no solver here takes
        such a model, and branch and bound does.
    """

    problem_class: ProblemClass
    readings: tuple[Reading, ...]
    reason: str = ""
    curvature: NDArray[np.float64] | None = None
    mixed_semidefinite: bool = False

    @property
    def convex(self) -> bool:
        """Continuous and convex, without exp and log."""
        return self.problem_class in CONVEX_CLASSES

    @property
    def relaxes_to_convex(self) -> bool:
        """Convex once integrality is dropped."""
        return self.convex or self.has_integers

    @property
    def has_integers(self) -> bool:
        """Whether integers are all that is not convex."""
        return self.problem_class in INTEGER_CLASSES or self.mixed_semidefinite


def _is_exponential(form: StandardForm) -> bool:
    """Whether exp and log in convex places are all that is beyond a convex model."""
    read = None if form.integer.any() else exponential_form(form)
    return read is not None and not read.form.nonlinear and classify(read.form).convex


def classify(form: StandardForm) -> Classification:
    """Classify a model read by standard_form."""
    readings = read_rows(form)
    integer = bool(form.integer.any())

    bend = curvature(form.objective.Q)

    def answer(problem_class: ProblemClass, reason: str = "") -> Classification:
        return Classification(problem_class, readings, reason, bend.least)

    if form.nonlinear:
        kind = ProblemClass.EXP if _is_exponential(form) else ProblemClass.NONCONVEX
        return answer(kind, f"{form.nonlinear[0].name} is not quadratic")
    if not bend.convex:
        return answer(
            ProblemClass.NONCONVEX, f"the objective has negative curvature {bend.negative:.3g}"
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
            reason = "integer variables beside a semidefinite row"
            return replace(answer(ProblemClass.NONCONVEX, reason), mixed_semidefinite=True)
        return answer(ProblemClass.SDP)
    if readings:
        return answer(ProblemClass.MISOCP if integer else ProblemClass.SOCP)
    if form.objective.Q.nnz:
        return answer(ProblemClass.MIQP if integer else ProblemClass.QP)
    return answer(ProblemClass.MILP if integer else ProblemClass.LP)
