"""What a solve says of a row: its bound, what of it is proven, and what is claimed."""

from __future__ import annotations

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.solvers.comparison.gap_table import Bound
from tightmargin.solvers.comparison.rows import Row
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.proofs.gap import CLOSED
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.records import describe
from tightmargin.solvers.result import Certificate, SolveResult


def row_without_result(
    label: str, model: pyo.ConcreteModel, status: Status, told: str, seconds: float = 0.0
) -> Bound:
    """A row that was not solved, or failed."""
    described = describe(model)
    result = SolveResult(
        status=status, objective=None, bound=None, values={}, duals={},
        certificate=Certificate(Verdict.NOT_CERTIFIED, told), solver="", version="",
        seconds=seconds, message=told, problem_class="", **described,
    )  # fmt: skip
    return Bound(
        label, described["formulation"], result.parameters, None, None, status, "", seconds,
        Verdict.NOT_CERTIFIED, told, result,
    )  # fmt: skip


def _lacks_a_point(result: SolveResult) -> bool:
    """Whether the bound is proven and as good as the point, which misses a row by a little.

    A gap table is of bounds: nothing in it rests on the point of a relaxation.
    """
    gap = result.certificate.gap
    return result.bound is not None and gap is not None and gap <= CLOSED


def row_of_result(label: str, row: Row, result: SolveResult, apart: str) -> Bound:
    """A row of the table; `apart` says why it is no bound on the exact problem."""
    certificate = result.certificate
    name = result.formulation
    dual = name in CATALOGUE and CATALOGUE[name].dual_of is not None
    value = result.objective
    if dual:
        # A feasible point of the dual is a proof by itself; its own lower bound is not needed.
        value = None if result.objective is None else -result.objective
        proven = value if certificate.verdict is Verdict.CERTIFIED else None
    else:
        proven = result.bound
    remark, claimed = certificate.reason, None
    if apart:
        proven, remark = None, f"no bound: {apart}"
    elif certificate.unproven:
        proven, remark = None, f"no bound: {certificate.unproven}"
    elif (certificate.verdict is Verdict.NOT_CERTIFIED and not _lacks_a_point(result)) or (
        dual and proven is None
    ):
        claimed = value if dual or result.bound is None else result.bound
        proven = None
        remark = f"{certificate.verdict}: {certificate.reason}"
    elif isinstance(row, pyo.ConcreteModel) and not isinstance(
        getattr(row, "origin", None), Origin
    ):
        remark = "a foreign model: that it relaxes the exact one is the user's word"
    claim = value if dual else certificate.solver_bound
    if apart or certificate.unproven:
        claim = None
    boundless = Status.UNBOUNDED if dual else Status.INFEASIBLE
    sure = certificate.verdict is Verdict.CERTIFIED and not (apart or certificate.unproven)
    return Bound(
        label=label,
        entry=name,
        parameters=result.parameters,
        value=value,
        bound=proven,
        status=result.status,
        solver=result.solver,
        seconds=result.seconds,
        verdict=certificate.verdict,
        remark=remark,
        result=result,
        claimed=claimed,
        claim=claim,
        is_empty=sure and result.status is boundless,
    )
