"""An edited model solved by a search of its family that keeps what the edit adds.

The search knows no M: its bound is one on the edited problem, whose points include those of the
model as it is written, and of a copy of it with any other M. Its point is put to the kernel as a
point of the model as it is written. Where a derived M cuts it off, M is derived again from it.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pyomo.environ as pyo

from tightmargin.solvers.canonical_form.named_values import point_with
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.edits.as_solved import AsSolved
from tightmargin.solvers.edits.derived import by_a_copy
from tightmargin.solvers.edits.rederiving.rederived import with_room_for
from tightmargin.solvers.edits.searches import read_edit
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.findings import result_of_finding
from tightmargin.solvers.methods import AUTO, BRANCH_AND_BOUND, DIRECT
from tightmargin.solvers.proofs.subject import Subject
from tightmargin.solvers.result import SolveResult


def searched_edit(
    written: AsSolved, model: pyo.ConcreteModel, word: str, limits: Limits
) -> tuple[Case, SolveResult] | None:
    """What a search proves of an edited model; None where that is for others to do.

    Parameters
    ----------
    written : AsSolved
        Edited, without disjunctions and quotients, with the M that it has.
    model : ConcreteModel
        The user's.
    word : str
        A method, or "auto": that gives up a model that the search does not finish by itself, but
        where its options are named, which no solver has.

    Raises
    ------
    ValueError
        The method takes other edits than this.
    """
    try:
        read = read_edit(written.model, written.form, word)
    except ValueError as refusal:
        if word == AUTO:
            return None
        raise ValueError(
            f"method {word} does not take this edit: {refusal}; take {BRANCH_AND_BOUND} or {DIRECT}"
        ) from None
    if read is None:
        return None
    began = time.perf_counter()
    finding = read.run(limits)
    why = f"auto left it to a method: {read.why}" if read.why else ""
    case = Case(written.model, Subject(written.form), None, limits, automatic=word == AUTO)
    result = result_of_finding(finding, (why,), model, case)
    if result.objective is None and finding.status is Status.OPTIMAL:
        x = point_with(written.model, written.form, np.zeros(written.form.n), finding.values)
        again = with_room_for(written.model, written.form, x)
        if again is not None:
            case = Case(again.model, Subject(again.form), None, limits, automatic=word == AUTO)
            result = result_of_finding(finding, (again.words, why), model, case)
            result = by_a_copy(result, again.copied)
    result = replace(result, seconds=time.perf_counter() - began)
    if result.certificate.verdict.closed or result.status is Status.INTERRUPTED:
        return case, result
    stopped = limits.time_limit is not None and result.seconds >= limits.time_limit
    return (case, result) if word != AUTO or stopped or limits.options else None
