"""Which solver goes first when the user names none, by class and size, and why.

Only free solvers are chosen: those that need a licence run when they are named. Size is the larger
of the numbers of rows and columns, so that a problem and its dual count alike. The evidence beside
each number is CPU seconds of one thread until the objective is right to 1e-6, on linear and C-SVC
machines of n overlapping normal points with d features.
"""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.solvers.dualization.when import worthwhile
from tightmargin.solvers.standard_form.standard_form import PsdRow, StandardForm

# nu machine with |w_j| <= 1: simplex on the dual form 0.17 s where Clarabel takes 0.46 s at
# n=1e4, d=10; 0.48 and 4.7 s at n=2e4, d=30; 4.1 and 6.8 s at n=1e5, d=10; 6.6 and 21.7 s at
# n=1e5, d=30.
DUAL_SIMPLEX_SIZE = 200_000
# The same as it is written, where the dual form has nothing to save: 0.07 s and 0.04 s at n=1e3,
# d=10; 1.4 and 0.35 s at n=3e3, d=30; 3.9 and 0.46 s at n=1e4, d=10.
SIMPLEX_SIZE = 20_000
# C-SVC: Clarabel 0.27 s, PIQP 0.17 s at n=3e3, d=30; 1.46 and 0.81 s at n=1e4, d=30. Below, the
# difference is a few hundredths of a second, and Clarabel also proves that a QP is infeasible.
PIQP_SIZE = 3_000
# Entries of a dense matrix: at order 120 (7,381 of them) Clarabel takes 3 GB, and its memory grows
# with the fourth power of the order. Patterns with fewer entries it splits.
PSD_ENTRIES, PSD_SHARE = 7_500, 0.3

ORDER: dict[ProblemClass, tuple[str, ...]] = {
    ProblemClass.LP: ("highs", "clarabel", "scip", "scs", "gurobi", "mosek"),
    # HiGHS last: its active-set method needs 0.4 s at n=1e3, d=10, and more than 40 s at d=100.
    ProblemClass.QP: ("clarabel", "piqp", "scs", "scip", "gurobi", "mosek", "highs"),
    ProblemClass.SOCP: ("clarabel", "scs", "scip", "gurobi", "mosek"),
    ProblemClass.SDP: ("clarabel", "scs", "mosek"),
    ProblemClass.EXP: ("clarabel", "scip"),
    ProblemClass.MILP: ("highs", "scip", "gurobi", "mosek"),
    ProblemClass.MIQP: ("scip", "gurobi", "mosek"),
    ProblemClass.MISOCP: ("scip", "gurobi", "mosek"),
    ProblemClass.LRCP: ("scip", "gurobi"),
    ProblemClass.NONCONVEX: ("scip", "gurobi"),
}
CLOCKLESS = ("piqp",)  # no time limit can stop them


_REASONS = {
    (ProblemClass.QP, "highs"): "the last resort for a QP, slow from a thousand points on",
    (ProblemClass.SOCP, "clarabel"): "an interior point method is accurate on cones",
    (ProblemClass.SDP, "clarabel"): "an interior point method is accurate on cones",
    (ProblemClass.EXP, "clarabel"): "it has an exponential cone for exp and log",
    (ProblemClass.EXP, "scip"): "it encloses exp and log",
    (ProblemClass.MILP, "highs"): "branch and cut for linear models",
    (ProblemClass.MIQP, "scip"): "branch and cut for quadratic models too",
    (ProblemClass.MISOCP, "scip"): "branch and cut for quadratic models too",
    (ProblemClass.LRCP, "scip"): "it proves global bounds on models that are not convex",
    (ProblemClass.NONCONVEX, "scip"): "it proves global bounds on models that are not convex",
}
_SIZED_REASONS = {
    (ProblemClass.LP, "highs", False): "simplex ends at a vertex, and is fast at this size",
    (ProblemClass.LP, "clarabel", True): "an interior point method is faster at this size",
    (ProblemClass.QP, "clarabel", False): (
        f"reliable, and quick up to {PIQP_SIZE} rows or columns"
    ),
    (ProblemClass.QP, "clarabel", True): "reliable at any size",
    (ProblemClass.SDP, "scs", True): "an interior point method needs gigabytes for such a matrix",
    (ProblemClass.QP, "piqp", True): f"the fastest above {PIQP_SIZE} rows or columns",
}


def size_of(form: StandardForm) -> int:
    """The larger of the numbers of rows and columns."""
    return max(form.n, len(form.rows) + len(form.quadratic) + len(form.psd))


def is_large(problem_class: ProblemClass, form: StandardForm) -> bool:
    """Whether a model is beyond the size at which another method takes over."""
    match problem_class:
        case ProblemClass.LP:
            return size_of(form) > (DUAL_SIMPLEX_SIZE if worthwhile(form) else SIMPLEX_SIZE)
        case ProblemClass.QP:
            return size_of(form) > PIQP_SIZE
        case ProblemClass.SDP:
            return needs_gigabytes(form)
    return False


def needs_gigabytes(form: StandardForm) -> bool:
    """Whether a semidefinite row takes an interior-point method more memory than there may be."""
    return any(len(row.g) > PSD_ENTRIES and _is_dense(row) for row in form.psd)


def _is_dense(row: PsdRow) -> bool:
    """Whether a matrix has too many entries that are not 0 to be split along its pattern."""
    used = int(np.count_nonzero((np.diff(row.F.indptr) > 0) | (row.g != 0)))
    return used > PSD_SHARE * len(row.g)


def order(problem_class: ProblemClass, form: StandardForm) -> tuple[str, ...]:
    """Solvers for a model, first choice first."""
    names = ORDER[problem_class]
    if not is_large(problem_class, form):
        return names
    first = {
        ProblemClass.LP: "clarabel",
        ProblemClass.QP: "piqp",
        ProblemClass.SDP: "scs",
    }[problem_class]
    return (first, *(name for name in names if name != first))


def reason(name: str, problem_class: ProblemClass, form: StandardForm) -> str:
    """What speaks for a solver, to follow its name and a colon."""
    key = (problem_class, name)
    said = _REASONS.get(key) or _SIZED_REASONS.get((*key, is_large(problem_class, form)))
    return said or f"it takes {problem_class} models without a licence"
