"""What a solver is excused from, each with its reason, and what is asked of every solver.

An exclusion never excuses a wrong certificate or bound, only a missing answer. One that is no
longer needed fails the suite: whoever mends a solver's back end, or gets a better version of the
solver, takes it from the list.
"""

from __future__ import annotations

from dataclasses import dataclass

from tightmargin.formulations import ProblemClass

LP, QP, SOCP, SDP = ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP
CONVEX = frozenset({LP, QP, SOCP, SDP})
CONES = frozenset({SOCP, ProblemClass.MISOCP})


@dataclass(frozen=True)
class Asked:
    """What is asked of a solver; tolerances are relative to max(1, |optimum|)."""

    tolerance: float  # of the objective
    on_cones: float  # the same where rows are cones
    duals: frozenset[ProblemClass]  # for which it returns multipliers
    certified: frozenset[ProblemClass]  # every optimum is; elsewhere it may be too inaccurate
    timed: bool = True  # a clock can stop it


ASKED = {
    "highs": Asked(1e-7, 1e-7, frozenset({LP, QP}), CONVEX),
    "clarabel": Asked(2e-7, 2e-7, CONVEX, CONVEX),
    "scip": Asked(1e-5, 1e-4, frozenset(), frozenset({LP, QP})),
    "gurobi": Asked(1e-6, 1e-5, frozenset({LP, QP}), frozenset({LP, QP})),
    "scs": Asked(1e-5, 1e-5, CONVEX, CONVEX),
    "piqp": Asked(1e-6, 1e-6, frozenset({QP}), CONVEX, timed=False),
    "mosek": Asked(1e-6, 1e-6, CONVEX, CONVEX),
}

# (solver, problem, variant): why
EXCLUDED: dict[tuple[str, str, str], str] = {
    ("scip", "qp_unconstrained", "scaled"): (
        "SCIP branches on the free columns of a quadratic without rows until the clock stops it"
    ),
}

# Cases that end one way or the other with the last bits of a processor's sums: a missing answer is
# excused, an answer is judged as any other.
UNSTEADY: dict[tuple[str, str, str], str] = {
    ("scs", "lp_called_infeasible", "scaled"): (
        "SCS, a first-order method, does not always get through units of 1e-4 beside 1e4"
    )
}
