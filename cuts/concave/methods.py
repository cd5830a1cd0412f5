"""What is registered for concave objectives and reverse convex rows in any model."""

from __future__ import annotations

from tightmargin.cuts.concave.outcome import BRANCH_AND_CUT, by_boxes, outcome_of
from tightmargin.cuts.concave.reading import read_concave
from tightmargin.solvers.attempts.attempts import Outcome
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.model_methods.registry import ModelMethod, register_model_method

NODE_LIMIT = "node_limit"
# Directions up to which auto tries branch and cut before a solver: there it is faster too.
MOST_DIRECTIONS = 8
MOST_COLUMNS = 300


def refusal(case: Case) -> str:
    """Why a model is none of these; empty when it is one."""
    try:
        read_concave(case.form)
    except ValueError as refused:
        return str(refused)
    return ""


def chosen(case: Case) -> str:
    """Why "auto" tries branch and cut first: what it ends with is proven, and SCIP's is a claim."""
    if case.classification.convex or case.form.n > MOST_COLUMNS or case.form.integer.any():
        return ""
    try:
        program = read_concave(case.form)
    except ValueError:
        return ""
    directions = program.directions.vectors.shape[1]
    if directions > MOST_DIRECTIONS:
        return ""
    return f"it proves a minimum that is concave in {directions} directions"


def branch_and_cut(case: Case) -> Outcome:
    """Branch and cut over boxes.

    Raises
    ------
    ValueError
        A node limit that is none.
    """
    nodes = case.limits.options.get(NODE_LIMIT)
    if nodes is not None and (type(nodes) is not int or nodes < 1):
        raise ValueError(f"node_limit must be a whole number of at least 1, got {nodes!r}")
    return outcome_of(case, by_boxes)


register_model_method(
    ModelMethod(
        BRANCH_AND_CUT,
        branch_and_cut,
        "branch and cut over boxes of the directions in which a model is concave",
        refuses=refusal,
        automatic=chosen,
        options=(NODE_LIMIT,),
    )
)
