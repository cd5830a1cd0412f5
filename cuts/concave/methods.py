"""What is registered for concave objectives and reverse convex rows in any model."""

from __future__ import annotations

from tightmargin.cuts.concave.inner_hull import MOST_DIMENSIONS, image_dimension
from tightmargin.cuts.concave.outcome import (
    BRANCH_AND_CUT,
    CUTTING_PLANE,
    INNER_HULL,
    by_boxes,
    by_cuts,
    by_hull,
    outcome_of,
)
from tightmargin.cuts.concave.reading import read_concave
from tightmargin.formulations.parameters import one_of
from tightmargin.solvers.attempts import Outcome
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.findings import ModelMethod, register_model_method

NODE_LIMIT, CUT_LIMIT, STRATEGY = "node_limit", "cut_limit", "strategy"
STRATEGIES = ("concavity", "literal")
# Directions up to which auto tries branch and cut before a solver: there it is faster too.
MOST_DIRECTIONS = 8
MOST_COLUMNS = 300
MOST_CUT_COLUMNS = 10


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


def refusal_of_cuts(case: Case) -> str:
    """Why concavity cuts do not take a model: they take few columns, and one concave part."""
    refused = refusal(case)
    if refused:
        return refused
    program = read_concave(case.form)
    if case.form.n > MOST_CUT_COLUMNS:
        return f"it has {case.form.n} variables, more than {MOST_CUT_COLUMNS}"
    if program.convex.any():
        return "a quadratic row of it is convex"
    weights = program.directions.weights
    if len(weights) > 2 or (len(weights) == 2 and weights[0].any()):
        return "more than one part of it is concave"
    return ""


def cutting_plane(case: Case) -> Outcome:
    """Concavity cuts in an outer loop.

    Raises ValueError: a cut limit that is none, another strategy.
    """
    refuse_limit(case.limits, CUT_LIMIT)
    one_of(STRATEGY, case.limits.options.get(STRATEGY, STRATEGIES[0]), STRATEGIES)
    return outcome_of(case, by_cuts)


def refusal_of_hull(case: Case) -> str:
    """Why vertices are not enumerated: rows that are not linear, or too many dimensions."""
    refused = refusal(case)
    if refused:
        return refused
    program = read_concave(case.form)
    if len(program.constants):
        return "a quadratic row makes other points than vertices"
    dimension = image_dimension(program)
    if dimension > MOST_DIMENSIONS:
        return f"it has {dimension} concave directions, more than {MOST_DIMENSIONS}"
    return ""


def inner_hull(case: Case) -> Outcome:
    """Vertices by Qhull, and branch and cut from the best of them."""
    return outcome_of(case, by_hull)


def refuse_limit(limits: Limits, name: str) -> None:
    """Raise ValueError for a limit that is no whole number of at least 1."""
    number = limits.options.get(name)
    if number is not None and (type(number) is not int or number < 1):
        raise ValueError(f"{name} must be a whole number of at least 1, got {number!r}")


def branch_and_cut(case: Case) -> Outcome:
    """Branch and cut over boxes.

    Raises ValueError: a node limit that is none.
    """
    refuse_limit(case.limits, NODE_LIMIT)
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
register_model_method(
    ModelMethod(
        CUTTING_PLANE,
        cutting_plane,
        "concavity cuts until nothing is left of the polytope, for few variables",
        refuses=refusal_of_cuts,
        options=(CUT_LIMIT, STRATEGY),
    )
)
register_model_method(
    ModelMethod(
        INNER_HULL,
        inner_hull,
        "vertices by Qhull over few concave directions, and branch and cut for the proof",
        refuses=refusal_of_hull,
    )
)
