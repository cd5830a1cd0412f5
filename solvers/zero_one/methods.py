"""What is known of the 0-1 loss and the ramp loss: methods, closing bounds, incumbents."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.formulations.catalogue import CATALOGUE, Entry, Origin, origin_now
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import is_weighted, refusal_of_weights
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.svc.soft_margin import c_svc
from tightmargin.formulations.zero_one.checks import best_exact_point
from tightmargin.formulations.zero_one.ramp import ramp_objective
from tightmargin.formulations.zero_one.without_big_m import expansion
from tightmargin.solvers.certify.case import SEARCH_GAP, Case
from tightmargin.solvers.conic.methods import (
    bound_from_facts,
    relaxation_bound,
)
from tightmargin.solvers.edits.searches import (
    EditedSearch,
    Statements,
    read_edit,
    register_edited_search,
)
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.engines.running import (
    Limits,
    StopReason,
    deriving_time,
    is_over,
    seconds_left,
)
from tightmargin.solvers.kernel.cones import WORDS as CONES
from tightmargin.solvers.kernel.conflicts import WORDS as CONFLICTS
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.signed_points import LARGEST, SideRows
from tightmargin.solvers.kernel.statement import LowerBound
from tightmargin.solvers.model.names import named_values
from tightmargin.solvers.model.reader import standard_form
from tightmargin.solvers.registry import (
    DIRECT,
    PROCESSES,
    ClosingBounds,
    Finding,
    IncumbentHeuristic,
    Method,
    Values,
    first_point,
    processes_of,
    register_closing_bounds,
    register_incumbents,
    register_method,
)
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.result_proof import Writer, register_document, register_edited_document
from tightmargin.solvers.searches import finding_of, register_finding
from tightmargin.solvers.solve import solve
from tightmargin.solvers.tree.search import tree_search
from tightmargin.solvers.zero_one.cones import (
    MANY_DIMENSIONS,
    RAMP,
    ConeSearch,
    bound_by_cones,
    by_cones,
    dimensions,
    lemma_of,
    suits,
)
from tightmargin.solvers.zero_one.conflicts import ConflictSearch, check_workers, conflict_search
from tightmargin.solvers.zero_one.edited import ONLY_ADDED, side_rows
from tightmargin.solvers.zero_one.files import ROWS, Beside, cone_document, cones_suit_a_file
from tightmargin.solvers.zero_one.heuristic import zero_one_incumbent

# --- Bounds that close a mixed-integer result by our own computation, where that is affordable ---


STEP_LIMIT = 100_000  # a few seconds
POINT_LIMIT_OF_CONFLICTS, FEATURE_LIMIT_OF_CONFLICTS = 400, 40
POINT_LIMIT_OF_TREE, NODE_LIMIT = 30, 4_000  # seconds
KEEPS = "M is as large as is proven to keep an optimum of the problem"


def zero_one_bound(origin: Origin, values: Mapping[str, Array] | None = None) -> Lemma | None:
    """Lower bound on a 0-1 loss problem by a search of our own; None where it is too large.

    Cones of directions are searched where the dimensions are few; beyond, the conflict search works
    for as long as STEP_LIMIT allows. Its bound counts whether it finished or not. Few points in
    more features than it takes are left to branch and bound.

    values: with "w" and "b", a hyperplane to start from.
    """
    known = _known(origin, values)
    found = None if is_over() else bound_by_cones(origin, known, seconds=seconds_left())
    found = conflict_bound(origin, known) if found is None else found
    return _bound_by_tree(origin, known) if found is None else found


def few_dimensional_bound(
    origin: Origin, values: Mapping[str, Array] | None = None
) -> Lemma | None:
    """By cones of directions, or by a short branch and bound: both take weighted points.

    The ramp loss, which has no other search of ours either, is bounded in the same way. On 20
    problems of 18 to 27 points branch and bound took .7 to 1.6 s of processor time, the cones 2 to
    6 s in five dimensions of the ramp loss and seven of the 0-1 loss, and beyond more than that.
    """
    if is_over():
        return None
    known = _known(origin, values) if origin.entry != RAMP else None
    few = dimensions(origin) >= (5 if origin.entry == RAMP else MANY_DIMENSIONS)
    found = _bound_by_tree(origin, known) if few else None
    return bound_by_cones(origin, known, seconds=seconds_left()) if found is None else found


def _bound_by_tree(origin: Origin, known: tuple[Array, float] | None) -> Lemma | None:
    """Bound of a short branch and bound on the big-M model; None where the points are many."""
    data = origin.data.points
    if is_over() or data.n > POINT_LIMIT_OF_TREE or not SOLVERS["clarabel"].installed:
        return None
    name, price = (RAMP, "C") if origin.entry == RAMP else ("zero_one_big_m", "penalty")
    words = {word: origin.parameters[word] for word in (price, "intercept")}
    model = CATALOGUE[name].build(data, **words, big_m="derived", incumbent=known)
    case = Case(model, Subject(standard_form(model)), None, Limits(seconds_left()))
    found = tree_search(case, first_point(model, case.form), node_limit=NODE_LIMIT)
    if found.stop is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    point, check = found.point, CATALOGUE[name].check
    if not isinstance(found.bound, LowerBound) or point is None or point.x is None:
        return None
    assert check is not None
    doubt = check(origin_now(model), named_values(model, case.form, point.x)).unproven
    return Lemma(found.bound.value(case.constant), found.bound.words, {KEEPS: not doubt})


def _known(origin: Origin, values: Mapping[str, Array] | None) -> tuple[Array, float] | None:
    """The hyperplane of a point."""
    if values is None or "w" not in values:
        return None
    _, w, b, _ = best_exact_point(origin, values)
    return w, b


def conflict_bound(
    origin: Origin, known: tuple[Array, float] | None, side: SideRows | None = None
) -> Lemma | None:
    """Bound of a short conflict search; None where the points are too many.

    known (w, b): a hyperplane to start from.
    side: all that an edit adds to the problem.
    """
    data, parameters = origin.data.points, origin.parameters
    if is_over() or data.n > POINT_LIMIT_OF_CONFLICTS or data.d > FEATURE_LIMIT_OF_CONFLICTS:
        return None
    found = conflict_search(
        data,
        penalty=parameters["penalty"],
        intercept=parameters["intercept"],
        incumbent=known,
        gap=SEARCH_GAP,
        step_limit=STEP_LIMIT,
        time_limit=seconds_left(),
        side=side,
    )
    if found.stop is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return conflict_lemma(found, side)


def conflict_lemma(found: ConflictSearch, side: SideRows | None = None) -> Lemma | None:
    """What the kernel proved, and beside what."""
    if found.lemma is None:
        return None
    more = {} if side is None else {ONLY_ADDED: isinstance(side, SideRows)}
    opening = "" if found.stop is StopReason.PROVEN else "unfinished "
    return Lemma(found.lemma.value, opening + found.lemma.words, {**found.lemma.hypotheses, **more})


# --- The search over cones of directions behind a model ------------------------------------------


CONE_SEARCH = "cone-search"
EDITED = ("zero_one_big_m", "zero_one_bilinear")  # whose w is any, beside what an edit adds
EXPANDED = "zero_one_kernel"
SEARCHED = (*EDITED, EXPANDED)
NO_POINT = "the best hyperplane is no point of this model: its big-M is too small"
OUT_OF_BOUNDS = "the best hyperplane is no point of this model: its bounds of w and b cut it off"
NONE_FOUND = "the search found no point that meets what the edit adds"
EMPTY = (
    "no hyperplane meets what the edit adds, says the search: the model is infeasible, which "
    'method="auto" proves'
)
OR_EMPTY = ', or the edit leaves no hyperplane, which method="auto" proves'


def found_values(
    origin: Origin, w: Array, b: float, given_up: NDArray[np.bool_]
) -> dict[str, Array]:
    """Values of a model's variables at what a search found."""
    values = {"w": w, "b": np.asarray(b), "z": given_up.astype(float)}
    if origin.entry == EXPANDED:
        values["alpha"] = expansion(origin.data, w, b, origin.parameters["intercept"])
    return values


def cone_finding(origin: Origin, found: ConeSearch, side: SideRows | None = None) -> Finding:
    """What dispatch makes of a search."""
    values = found_values(origin, found.w, found.b, found.given_up)
    if origin.entry == RAMP:
        u = origin.data.y * (origin.data.factor @ found.w + found.b)
        values["xi"] = np.where(found.given_up, 0.0, np.maximum(0.0, 1 - u))
    return finding_of(
        found,
        values,
        CONE_SEARCH,
        lemma_of(found, side),
        over="directions",
        effort=f"{found.cells:,} cells",
        share=True,
        no_point=why_no_point(origin, found, side),
        cells=found.cells,
    )


def why_no_point(origin: Origin, found: ConeSearch | ConflictSearch, side: SideRows | None) -> str:
    """What to say where a model has no point at what a search found.

    Nothing is proven by that: a derived M may rest on what the search has missed.
    """
    if not np.isfinite(found.objective):
        return EMPTY if found.stop is StopReason.PROVEN else NONE_FOUND
    no_point = NO_POINT if "big_m" in origin.parameters else OUT_OF_BOUNDS
    return no_point if side is None else no_point + OR_EMPTY


register_finding(ConeSearch, cone_finding)


def refuses_beside(origin: Origin, added: Statements) -> str:
    """Why an edit is for no search of ours; empty where it adds what side_rows() reads."""
    found = side_rows(origin, added)
    return found if isinstance(found, str) else refuses_featureless(origin)


def refuses_featureless(origin: Origin) -> str:
    """Why a model has no directions."""
    return "" if origin.data.d else "it has no feature, and so no direction"


def _run(origin: Origin, limits: Limits) -> Finding:
    return cone_finding(origin, by_cones(origin, limits.time_limit))


def _run_beside(origin: Origin, added: Statements, limits: Limits) -> Finding:
    side = side_rows(origin, added)
    assert isinstance(side, SideRows)
    return cone_finding(origin, by_cones(origin, limits.time_limit, side), side)


def _bound_beside(origin: Origin, added: Statements, values: Values) -> Lemma | None:
    side = side_rows(origin, added)
    assert isinstance(side, SideRows)
    if is_over():
        return None
    known = values["w"], float(values["b"]) if "b" in values else 0.0
    return bound_by_cones(origin, known, side, seconds_left())


def is_stated_by_word(origin: Origin) -> bool:
    """Whether M is derived: where a given one may state less, the model is what is asked about."""
    return isinstance(origin.parameters.get("big_m", "derived"), str)


def _leaves_ramp(origin: Origin) -> str:
    """The 0-1 loss has a method beside it."""
    return leaves_to_cones(origin) if origin.entry == RAMP else ""


def leaves_to_cones(origin: Origin) -> str:
    """Why method="auto" takes the search; empty where it does not."""
    if not (is_stated_by_word(origin) and suits(origin)):
        return ""
    return f"in {dimensions(origin)} dimensions it proves in moments what a big-M leaves open"


def _document(case: Case, result: SolveResult, seconds: float | None) -> dict[str, Any]:
    assert case.origin is not None
    return cone_document(case, case.origin, result, seconds, None)


def _edited_document(case: Case) -> Writer | None:
    """Who writes the proof of an edited model that cones take, all of its columns being there."""
    found = (case.model.find_component(name) for name in ("w", "b"))
    priced = [v for v in found if v is not None and v.ctype is pyo.Var]
    if any((case.form.columns.of(v)[0] < 0).any() for v in priced):
        return None  # fixed, at 0 perhaps
    try:
        read = read_edit(case.model, case.form, CONE_SEARCH)
    except ValueError:
        return None
    side = None if read is None else side_rows(read.origin, read.statements)
    if read is None or isinstance(side, str) or not cones_suit_a_file(read.origin, side):
        return None
    return _Edited(read.origin, None if side is None else Beside(side, read.statements))


@dataclass(frozen=True, eq=False)
class _Edited:
    """The writer of an edited model."""

    origin: Origin
    beside: Beside | None

    def __call__(self, case: Case, result: SolveResult, seconds: float | None) -> dict[str, Any]:
        return cone_document(case, self.origin, result, seconds, self.beside)


register_document(tuple(ROWS), _document, when=cones_suit_a_file, proves=CONES)
register_edited_document(_edited_document)
register_method(
    Method(
        CONE_SEARCH,
        (*SEARCHED, RAMP),
        _run,
        "branch and bound over cones of directions, which proves the optimum in few dimensions",
        refuses=refuses_featureless,
        automatic=_leaves_ramp,
        weighted=True,
    )
)
register_edited_search(
    EditedSearch(
        CONE_SEARCH,
        (*EDITED, RAMP),
        refuses_beside,
        _run_beside,
        _bound_beside,
        automatic=_leaves_ramp,
    )
)


CONFLICT_SEARCH = "conflict-search"
BOTH = "cones-then-conflicts"
POINTS = 1000
SHARE = 0.7  # of the time, after which cones that have proven nothing leave it to conflicts
BESIDE = 100_000_000  # products of points and cells, which rows may make of little use


# --- the conflict search -------------------------------------------------------------------------


def _by_conflicts(
    origin: Origin,
    limits: Limits,
    side: SideRows | None = None,
    incumbent: tuple[Array, float] | None = None,
) -> Finding:
    """Branch and bound over kept points: it knows the problem, and a big-M plays no part in it."""
    found = conflict_search(
        origin.data.points,
        penalty=origin.parameters["penalty"],
        intercept=origin.parameters["intercept"],
        incumbent=origin.parameters.get("incumbent") if incumbent is None else incumbent,
        gap=SEARCH_GAP,
        time_limit=limits.time_limit,
        side=side,
        **processes_of(limits),
    )
    return _finding(origin, found, conflict_lemma(found, side), side)


def _by_conflicts_beside(origin: Origin, added: Statements, limits: Limits) -> Finding:
    """The same beside what an edit adds: every node keeps it."""
    side = side_rows(origin, added)
    assert isinstance(side, SideRows)
    return _by_conflicts(origin, limits, side)


def _conflicts_beside(origin: Origin, added: Statements, values: Values) -> Lemma | None:
    side = side_rows(origin, added)
    assert isinstance(side, SideRows)
    b = float(values["b"]) if "b" in values else 0.0
    return conflict_bound(origin, (values["w"], b), side)


def _refuses(origin: Origin, added: Statements) -> str:
    found = side_rows(origin, added)
    return found if isinstance(found, str) else ""


def _finding(
    origin: Origin, found: ConflictSearch, lemma: Lemma | None, side: SideRows | None
) -> Finding:
    return finding_of(
        found,
        found_values(origin, found.w, found.b, found.given_up),
        CONFLICT_SEARCH,
        lemma,
        over="kept points",
        effort=f"{found.nodes:,} nodes",
        share=True,
        no_point=why_no_point(origin, found, side),
        nodes=found.nodes,
        steps=found.steps,
    )


register_finding(
    ConflictSearch,
    lambda origin, found: _finding(origin, found, conflict_lemma(found), None),
)
register_method(
    Method(
        CONFLICT_SEARCH,
        SEARCHED,
        _by_conflicts,
        "branch and bound over kept points, which proves the optimum without a solver",
        options=PROCESSES,
    )
)
register_edited_search(
    EditedSearch(
        CONFLICT_SEARCH,
        EDITED,
        _refuses,
        _by_conflicts_beside,
        _conflicts_beside,
        automatic=lambda origin: "",
    )
)


# --- cones where the dimensions are few, then conflicts ------------------------------------------


def _by_both(origin: Origin, limits: Limits, side: SideRows | None = None) -> Finding:
    """What is left of the time of the first goes to the second, which begins where it ended."""
    check_workers(**processes_of(limits))
    alone = is_weighted(origin.data) or origin.data.n > LARGEST
    if not (alone or suits(origin, side)):
        return _by_conflicts(origin, limits, side)
    began, seconds = time.perf_counter(), limits.time_limit
    share = seconds if alone or seconds is None else SHARE * seconds
    most = None if alone or side is None else BESIDE // int(origin.data.n)
    found = by_cones(origin, share, side, cell_limit=most)
    first = cone_finding(origin, found, side)
    if alone or found.stop in (StopReason.PROVEN, StopReason.INTERRUPTED):
        return first
    known = (found.w, found.b) if np.isfinite(found.objective) else None
    second = _by_conflicts(origin, limits.without(time.perf_counter() - began), side, known)
    better = first.bound is not None and (
        second.bound is None or first.bound.value > second.bound.value
    )
    return replace(second, bound=first.bound) if better else second


def _by_both_beside(origin: Origin, added: Statements, limits: Limits) -> Finding:
    side = side_rows(origin, added)
    assert isinstance(side, SideRows)
    return _by_both(origin, limits, side)


def _too_large(origin: Origin) -> str:
    """Why none of the two takes a model: conflicts count every point once."""
    if is_weighted(origin.data) and not suits(origin):
        return refusal_of_weights(f"method {BOTH} in so many dimensions")
    return refuses_featureless(origin)


def _leaves_to_both(origin: Origin) -> str:
    why = leaves_to_cones(origin)
    if why or not is_stated_by_word(origin) or origin.data.n > POINTS:
        return why
    return f"up to {POINTS:,} points it proves in seconds what a big-M leaves open"


register_method(
    Method(
        BOTH,
        SEARCHED,
        _by_both,
        "cones of directions where the dimensions are few, then the search over kept points",
        refuses=_too_large,
        options=PROCESSES,
        automatic=_leaves_to_both,
        weighted=True,
    )
)
register_edited_search(
    EditedSearch(
        BOTH,
        EDITED,
        refuses_beside,
        _by_both_beside,
        lambda origin, added, values: None,
        automatic=_leaves_to_both,
    )
)


# --- bounds that close a gap ---------------------------------------------------------------------


register_closing_bounds(
    ClosingBounds(
        ("zero_one_big_m",),
        zero_one_bound,
        relaxation_bound,
        bound_from_facts,
        optimal=(CONES, CONFLICTS),
    )
)
register_closing_bounds(
    ClosingBounds(
        ("zero_one_big_m",),
        few_dimensional_bound,
        relaxation_bound,
        bound_from_facts,
        optimal=(CONES,),
        weighted=True,
    )
)
register_closing_bounds(
    ClosingBounds((RAMP,), few_dimensional_bound, optimal=(CONES,), weighted=True)
)


# --- incumbents ----------------------------------------------------------------------------------


def _zero_one_incumbent(
    entry: Entry, data: Any, parameters: Mapping[str, Any]
) -> tuple[Array, float] | None:
    """A good hyperplane by the heuristic."""
    if not data.d:
        return None
    intercept = parameters.get("intercept", entry.parameters["intercept"].default)
    found = zero_one_incumbent(
        data.points,
        penalty=parameters["penalty"],
        intercept=intercept,
        time_limit=deriving_time(),
    )
    return found.w, found.b


def _ramp_incumbent(
    entry: Entry, data: Any, parameters: Mapping[str, Any]
) -> tuple[Array, float] | None:
    """The better of the 0-1 loss and of the hinge loss, for the ramp loss."""
    if not data.d:
        return None
    points, C = data.points, parameters["C"]
    intercept = parameters.get("intercept", entry.parameters["intercept"].default)
    by_count = zero_one_incumbent(
        points, penalty=4 * C, intercept=intercept, time_limit=deriving_time()
    )
    hinge = solve(c_svc(points, C=C, intercept=intercept), method=DIRECT).values
    by_hinge = hinge["w"], float(hinge["b"]) if "b" in hinge else 0.0
    candidates = [(by_count.w, by_count.b), by_hinge]
    return min(
        candidates, key=lambda point: ramp_objective(points, point[0], point[1], C, intercept)
    )


def _start(model: pyo.ConcreteModel, data: Any, incumbent: tuple[Any, Any]) -> None:
    """Give the variables the incumbent's values, a start for solvers that take one."""
    indicators = _indicators(model)
    if not indicators:
        return
    w, b = np.asarray(incumbent[0], dtype=float), float(incumbent[1])
    for variable, number in zip(model.w.values(), w.tolist(), strict=True):
        variable.set_value(number)
    if model.find_component("b") is not None:
        model.b.set_value(b)
    u = data.y * (data.factor @ w + b)
    outliers = u < (-1 if model.find_component("xi") is not None else 1)
    for variable, out in zip(indicators, outliers.tolist(), strict=True):
        variable.set_value(float(out))
    if model.find_component("keep") is not None:
        for kept, out in zip(model.keep.values(), outliers.tolist(), strict=True):
            kept.binary_indicator_var.set_value(float(not out))


def _indicators(model: pyo.ConcreteModel) -> list[Any]:
    """Variables that are 1 for the points a model gives up."""
    if model.find_component("z") is not None:
        return list(model.z.values())
    if model.find_component("drop") is not None:
        return [part.binary_indicator_var for part in model.drop.values()]
    return []


def _of_points(entry: Entry, *words: str) -> bool:
    return TrainingData in entry.takes and all(word in entry.parameters for word in words)


register_incumbents(
    IncumbentHeuristic(
        lambda entry: _of_points(entry, "penalty"),
        _zero_one_incumbent,
        _start,
        ("penalty", "intercept"),
        weighted=True,
    )
)
register_incumbents(
    IncumbentHeuristic(
        lambda entry: _of_points(entry, "C"),
        _ramp_incumbent,
        _start,
        ("C", "intercept"),
        weighted=True,
    )
)
