"""Models that have no variable left, all being fixed: a constant, if their rows hold.

Solvers end in errors there, or say nothing. What a claim here is worth is decided as for theirs.
"""

from __future__ import annotations

import numpy as np

from tightmargin.solvers.attempts.attempts import Outcome
from tightmargin.solvers.canonical_form.conic_form import Multipliers, unpack
from tightmargin.solvers.canonical_form.conic_form import triangle_scale as scale_of
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.certify import certify
from tightmargin.solvers.execution.claim import Claim, Status
from tightmargin.solvers.standard_form.standard_form import PsdRow, StandardForm

WORDS = "no variable is left, so that no solver was asked"


def by_its_constants(case: Case) -> Outcome:
    """What there is to say of a model without variables."""
    claim = _claim(case.form)
    return Outcome(claim, certify(case, claim), "", 0.0)


def _claim(form: StandardForm) -> Claim:
    """The only point there is, or the row that it misses."""
    none = np.zeros(0)
    cones = {id(row.data): _against(row) for row in form.psd}
    missed = (form.row_lower > 0) | (form.row_upper < 0)
    rows = (form.row_lower > 0).astype(np.float64) - (form.row_upper < 0)
    if missed.any() or any(z.any() for z in cones.values()):
        names = [form.rows[int(k)].name for k in np.flatnonzero(missed)[:1]]
        names += [row.data.name for row in form.psd if cones[id(row.data)].any()]
        words = f"{WORDS}: row {names[0]} does not hold"
        return Claim(Status.INFEASIBLE, message=words, farkas=Multipliers(rows, none, cones))
    nothing = Multipliers(np.zeros(len(rows)), none, {key: 0 * z for key, z in cones.items()})
    return Claim(Status.OPTIMAL, x=none, duals=nothing, message=WORDS)


def _against(row: PsdRow) -> np.ndarray:
    """v v' for a direction v in which a constant matrix is negative; 0 where there is none."""
    matrix = unpack(row.g * scale_of(row.order))
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= 0:
        return np.zeros_like(matrix)
    return np.outer(vectors[:, 0], vectors[:, 0])
