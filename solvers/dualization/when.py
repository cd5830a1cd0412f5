"""When a model is better solved through its explicit dual.

Measured with one thread on nu-LPs with |w_j| <= 1 (HiGHS) and on C-SVC and nu-SVC (Clarabel, PIQP)
with n from 50 to 1e4 points in d = 5 to 100 dimensions, building the dual included.

LP, with the options below: ratio of times primal / dual 1 at n = 200, 2 to 4 at n = 500, 3 to 5 at
n = 1000, 4 (d = 100) to 13 (d = 5) at n = 3000, and 7, 19, 42, 54 at n = 1e4 with d = 100, 30, 10,
5. QP: below 1 under n = 1000; then 1.0 to 1.5 where the dual has a twentieth of the rows, 1.1 to
2.3 (Clarabel) and 1.3 to 3 (PIQP) at n = 1e4, and 0.6 to 1 with fewer rows to save.
"""

from __future__ import annotations

import numpy as np

from tightmargin.solvers.dualization.layout import dual_size
from tightmargin.solvers.standard_form.coefficients import without_rounding
from tightmargin.solvers.standard_form.standard_form import StandardForm

LP_ROWS, LP_RATIO = 300, 5
QP_ROWS, QP_RATIO = 1000, 20
SMALLEST, LARGEST = 1e-9, 1e15

# The dual has few rows and many boxed columns, which presolve only looks at: without it the first
# solve takes half the time. Scaling by the largest entry needs a half to a tenth of the iterations
# of the default, equilibration, and is no worse on columns of very different size.
HIGHS_OPTIONS = {"presolve": "off", "simplex_scale_strategy": 4}


def worthwhile(form: StandardForm) -> str:
    """Why the dual form of a model is the faster one; an empty string when it is not."""
    rows = len(form.rows)
    quadratic = form.objective.Q.nnz > 0
    least, ratio = (QP_ROWS, QP_RATIO) if quadratic else (LP_ROWS, LP_RATIO)
    if rows < least or not survives(form):
        return ""
    size = dual_size(form)
    if size is None or rows < ratio * size[0]:
        return ""
    return f"in dual form, which has {size[0]} rows where the model has {rows}"


def survives(form: StandardForm) -> bool:
    """Whether every number keeps its meaning where the dual has it.

    Sides and bounds become costs, and the Hessian becomes coefficients, which HiGHS drops below
    1e-9 without a word.
    """
    sides = (form.row_lower, form.row_upper, form.lower, form.upper)
    moved = [np.abs(numbers[np.isfinite(numbers)]) for numbers in sides]
    kept = np.abs(np.concatenate([form.objective.Q.data, without_rounding(form.columnwise).data]))
    return bool(
        all((numbers < LARGEST).all() for numbers in moved)
        and ((kept > SMALLEST) & (kept < LARGEST)).all()
    )
