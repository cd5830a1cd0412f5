"""The search over cones of directions behind a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.zero_one.kernel_model import expansion
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.edits.searches import (
    EditedSearch,
    Statements,
    read_edit,
    register_edited_search,
)
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.deadline import is_over, seconds_left
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.methods import Finding, Method, Values, register_method
from tightmargin.solvers.proof_files.result_proof import (
    Writer,
    register_document,
    register_edited_document,
)
from tightmargin.solvers.proofs.cones.cover import WORDS as CONES
from tightmargin.solvers.proofs.packings.side_rows import SideRows
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.zero_one.cones.document import (
    Beside,
    cone_document,
    suits_a_file,
)
from tightmargin.solvers.zero_one.cones.from_models import (
    RAMP,
    bound_by_cones,
    by_cones,
    dimensions,
    lemma_of,
    suits,
)
from tightmargin.solvers.zero_one.cones.result import ConeSearch
from tightmargin.solvers.zero_one.conflict_search.result import ConflictSearch
from tightmargin.solvers.zero_one.edited import side_rows
from tightmargin.solvers.zero_one.file_parts import ROWS

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
STATUS = {StopReason.PROVEN: Status.OPTIMAL, StopReason.INTERRUPTED: Status.INTERRUPTED}


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
    return Finding(
        values,
        STATUS.get(found.stop, Status.FEASIBLE),
        CONE_SEARCH,
        bound=lemma_of(found, side),
        facts={
            "no_duals": "no multipliers: a search over directions has none of the model's rows",
            "stop": str(found.stop),
            "cells": found.cells,
            "trace": [[p.seconds, p.bound, p.objective] for p in found.trace],
        },
        message=_message(found),
        no_point=why_no_point(origin, found, side),
    )


def why_no_point(origin: Origin, found: ConeSearch | ConflictSearch, side: SideRows | None) -> str:
    """What to say where a model has no point at what a search found.

    Nothing is proven by that: a derived M may rest on what the search has missed.
    """
    if not np.isfinite(found.objective):
        return EMPTY if found.stop is StopReason.PROVEN else NONE_FOUND
    no_point = NO_POINT if "big_m" in origin.parameters else OUT_OF_BOUNDS
    return no_point if side is None else no_point + OR_EMPTY


def _message(found: ConeSearch) -> str:
    if not np.isfinite(found.objective):
        return ""
    if found.stop is StopReason.PROVEN:
        return ""
    ended = found.stop.replace("_", " ")
    return f"{ended}: the gap is {100 * found.gap:.2f} % after {found.cells:,} cells"


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
    priced = (case.model.find_component(name) for name in ("w", "b"))
    if any((case.form.columns.of(v)[0] < 0).any() for v in priced if v is not None):
        return None  # fixed, at 0 perhaps
    try:
        read = read_edit(case.model, case.form, CONE_SEARCH)
    except ValueError:
        return None
    side = None if read is None else side_rows(read.origin, read.statements)
    if read is None or isinstance(side, str) or not suits_a_file(read.origin, side):
        return None
    origin, beside = read.origin, None if side is None else Beside(side, read.statements)

    def write(case: Case, result: SolveResult, seconds: float | None) -> dict[str, Any]:
        return cone_document(case, origin, result, seconds, beside)

    return write


register_document(tuple(ROWS), _document, when=suits_a_file, proves=CONES)
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
