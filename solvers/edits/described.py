"""What of an outcome is said of the problem, edited or not, as the result that a user gets."""

from __future__ import annotations

from dataclasses import replace

import pyomo.environ as pyo

from tightmargin.solvers.attempts.attempts import Outcome
from tightmargin.solvers.canonical_form.binary_products import binary_product
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.edits.derived import Edit, about_the_problem
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.trace import in_sense
from tightmargin.solvers.findings import load
from tightmargin.solvers.methods import OWN, remark_on
from tightmargin.solvers.proofs.tree.tree import TreeProof
from tightmargin.solvers.records import result_of, settings_of
from tightmargin.solvers.remarks import remarks_on, why_no_duals
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.versions import versions

FINISHED = (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)  # nobody asks how it went


def own_result(
    model: pyo.ConcreteModel, case: Case, edit: Edit | None, outcome: Outcome
) -> tuple[SolveResult, TreeProof | None]:
    """What was found and proven without a solver's claim, and the tree of branch and bound."""
    result = described(model, case, edit, outcome, "", OWN)
    return replace(result, solver=OWN, version=versions()[OWN]), outcome.found.tree


def described(
    model: pyo.ConcreteModel,
    case: Case,
    edit: Edit | None,
    outcome: Outcome,
    reason: str,
    solver: str,
) -> SolveResult:
    """What of an outcome is said of the problem, with everything that a reader must know."""
    target, form, limits, claim = case.model, case.form, case.limits, outcome.claim
    found = about_the_problem(case, outcome.found, edit)
    load(case, found, model)
    result = result_of(target, form, case.classification, claim, found)
    notes = remarks_on(
        target,
        result.values,
        integer=bool(form.integer.any()),
        solver=solver,
        options=limits.options,
    )
    product = "" if found.certificate.verdict.closed else _product(case)
    parts = (*notes.sentences, product, remark_on(case.origin), reason, claim.message)
    facts = {**result.certificate.facts, **notes.facts}
    if claim.trace and (form.integer.any() or claim.status not in FINISHED):
        facts["trace"] = in_sense(claim.trace, form.sense)
    if found.x is not None and found.ray is None and not result.duals:
        facts |= why_no_duals(form, case.classification, solver)
    return replace(
        result,
        certificate=replace(result.certificate, facts=facts),
        seconds=outcome.seconds,
        options=limits.options,
        message="; ".join(part for part in parts if part),
        log=claim.log,
        **settings_of(limits),
    )


def _product(case: Case) -> str:
    """What to write for a product with a binary, where only that is not convex as it stands."""
    return "" if case.classification.relaxes_to_convex else binary_product(case.form)
