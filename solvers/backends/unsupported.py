"""Solvers that were tried or looked at and have no back end here, and why."""

from __future__ import annotations

UNSUPPORTED: tuple[tuple[str, str], ...] = (
    (
        "osqp, proxqp, daqp",
        "QP only; OSQP and ProxQP need tens of times as long as PIQP for six digits, DAQP is for "
        "small dense ones",
    ),
    ("ecos, qoco", "what Clarabel takes but for semidefinite rows; PIQP is faster on QP"),
    ("cvxopt, csdp, sdpa", "SDP, as Clarabel and SCS; GPL, or an executable that reads a file"),
    (
        "highs hipo, pdlp",
        "methods of HiGHS for large LP and QP; HiPO needs highspy[extras], and neither was faster "
        "than Clarabel at ten thousand points",
    ),
    (
        "copt, xpress, cplex",
        "commercial; free up to 2000, 200 and 1000 variables, COPT and Xpress call a local "
        "optimum of a non-convex model a solution; Gurobi covers the same classes",
    ),
    ("knitro, ipopt, baron", "a licence or an executable; Knitro and Ipopt find local optima"),
    ("glpk, cbc, scip-sdp", "HiGHS replaces the first two; SCIP-SDP has no wheel"),
    ("cuopt, cupdlpx", "need a GPU of one maker"),
)
