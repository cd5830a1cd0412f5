"""The hinge and the conic estimator of Cepeda et al. (2024), fitted over a grid of parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tightmargin.experiments.progress import Say
from tightmargin.experiments.validation.cost_grid import HingeMachine, block_size, hinge_block
from tightmargin.formulations.common.hyperplane import weight_and_intercept
from tightmargin.formulations.conic.closed_form_bound import budget_grid
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, one_of
from tightmargin.formulations.svc.soft_margin import c_svc
from tightmargin.solvers.conic.low_rank import LOW_RANK
from tightmargin.solvers.conic.path import ConicRow, conic_path
from tightmargin.solvers.engines.running import checked_limits, telling
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.result import Certificate, SolveResult
from tightmargin.solvers.solve import solve

GRID = 100
SYMBOLS = {"hinge": "beta", "conic": "kappa"}  # the hyperparameter in the paper
METHODS = tuple(SYMBOLS)


@dataclass(frozen=True, eq=False)
class Fit:
    """One trained hyperplane with its proof.

    hyperparameter: beta or kappa.
    w, b (d,): the hyperplane; w is None when the solve left no point.
    objective, bound: value of the training problem, c_svc or conic_sdp_budget, and the proven lower
        bound on it.
    """

    hyperparameter: float
    w: Array | None
    b: float
    objective: float | None
    bound: float | None
    status: Status
    certificate: Certificate
    seconds: float

    @property
    def certified(self) -> bool:
        """Whether our own computation proves this to be the estimator, or within tolerance."""
        return self.w is not None and self.certificate.verdict.closed

    @property
    def remark(self) -> str:
        """Why a fit is proven within tolerance only; empty for all others."""
        near = self.certificate.verdict is Verdict.WITHIN_TOLERANCE
        return f"{self.certificate.verdict}: {self.certificate.reason}" if near else ""

    @property
    def complaint(self) -> str:
        """What is wrong with an uncertified fit; empty for a certified one."""
        if self.certified:
            return ""
        reason = self.certificate.reason or f"the solve ended {self.status}"
        return f"{self.certificate.verdict}: {reason}"


def hinge_grid(count: int = GRID) -> Array:
    """Values of beta, k / (count + 1) for k = 1 to count: evenly inside (0, 1), (count,).

    Section 5.1.2 of the paper: penalty = beta / (1 - beta).

    Raises ValueError: count is no whole number of at least 1.
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise ValueError(f"count must be a whole number of at least 1, got {count!r}")
    return np.arange(1, count + 1) / (count + 1)


def papers_grid(method: str, count: int = GRID) -> Array:
    """So many values of beta (section 5.1.2) or of kappa (Appendix C), rising, (count,).

    Raises ValueError: unknown method, or count is no whole number of at least 1.
    """
    one_of("method", method, METHODS)
    return hinge_grid(count) if method == "hinge" else budget_grid(count)


def checked_grid(method: str, grid: Sequence[float] | Array) -> Array:
    """The grid as a rising array of distinct values that belong to the method.

    Raises ValueError: unknown method, or naming the value.
    """
    symbol = SYMBOLS[one_of("method", method, METHODS)]
    values = np.asarray(grid, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"grid must be a list of values of {symbol}, got {grid!r}")
    inside = (values > 0) & ((values < 1) if method == "hinge" else (values <= 1))
    if not inside.all():
        end = "1)" if method == "hinge" else "1]"
        raise ValueError(f"grid: {symbol} must lie in (0, {end}, got {values[~inside][0]:g}")
    return np.unique(values)


def fits(
    method: str,
    data: TrainingData,
    grid: Sequence[float] | Array,
    *,
    intercept: str = "penalised",
    solver: str = "auto",
    time_limit: float | None = None,
    progress: Say | None = None,
) -> tuple[Fit, ...]:
    """Train one estimator at every value of the grid, each fit with its certificate.

    method: hinge: min ||w||^2 + b^2 + beta / (1 - beta) sum_i (1 - u_i)_+ (the paper's (2) and
        section 5.1.2), solved as c_svc, which minimises half of it: C = beta / (2 (1 - beta)).
        conic: the SDP with the row sum_i z_i <= kappa n (Appendix C), by conic_path.
    grid: beta in (0, 1), or kappa in (0, 1].
    intercept: the paper's is penalised. The conic method takes that or none.
    solver: for every hinge fit, and for conic fits that need an interior-point solver. By auto the
        hinge fits are found many at once by `tightmargin.experiments.validation.cost_grid`, and
        only those that are not close then, or are too large, by a solver of the model.
    time_limit: seconds for each fit; fits that are found at once have theirs together.
    progress(str): told what is being done; by default a terminal shows it.
    Returns: by rising hyperparameter.
    Raises ValueError: unknown method, or a value or an intercept that does not belong to it.
    Raises KeyboardInterrupt: Ctrl-C; half a grid has no choice.
    """
    values = checked_grid(method, grid).tolist()
    if method == "hinge":
        one_of("intercept", intercept, INTERCEPTS)
        with telling("hinge fits", progress) as say:
            return _hinge_fits(data, values, intercept, solver, time_limit, say)
    path = conic_path(
        data,
        budgets=values,
        intercept=intercept,
        solver=solver,
        time_limit=time_limit,
        progress=progress,
    )
    if path.not_reached:
        raise KeyboardInterrupt
    return tuple(sorted(map(_conic, path.rows), key=lambda fit: fit.hyperparameter))


def _hinge_fits(
    data: TrainingData,
    values: list[float],
    intercept: str,
    solver: str,
    time_limit: float | None,
    progress: Say,
) -> tuple[Fit, ...]:
    """Blocks of values at once where the solver is left open, and one after the other else."""
    limit = checked_limits(time_limit).time_limit
    costs = np.array([_cost(beta) for beta in values])
    size = block_size(data, costs) if solver == "auto" else 0
    found: list[Fit] = []
    for first in range(0, len(values), max(1, size)):
        betas = values[first : first + max(1, size)]
        last = f" to {betas[-1]:.4g}" if len(betas) > 1 else ""
        progress(f"beta {betas[0]:.4g}{last}, {first + 1} of {len(values)}")
        if not size:
            found.append(_by_model(data, betas[0], intercept, solver, limit))
            continue
        machines = hinge_block(data, costs[first : first + size], intercept, limit)
        for beta, machine in zip(betas, machines, strict=True):
            fit = _of_machine(beta, machine)
            done = machine.proven and machine.near
            found.append(fit if done else _again(data, fit, intercept, limit, progress))
    return tuple(found)


def _cost(beta: float) -> float:
    """C of c_svc."""
    return beta / (1 - beta) / 2


def _of_machine(beta: float, machine: HingeMachine) -> Fit:
    return Fit(
        beta, machine.w, machine.b, machine.objective, machine.bound,
        Status.OPTIMAL if machine.proven else Status.INACCURATE, machine.certificate,
        machine.seconds,
    )  # fmt: skip


def _again(data: TrainingData, fit: Fit, intercept: str, limit: float | None, progress: Say) -> Fit:
    """A poor fit once more, by a solver of the model in the time left; the better of both."""
    left = None if limit is None else limit - fit.seconds
    if left is not None and left <= 0:
        return fit
    progress(f"beta {fit.hyperparameter:.4g} once more, by a solver of the model")
    other = _by_model(data, fit.hyperparameter, intercept, "auto", left)
    keep = not other.certified and (fit.certified or _value(fit) < _value(other))
    better = fit if keep else other
    return replace(better, seconds=fit.seconds + other.seconds)


def _value(fit: Fit) -> float:
    return math.inf if fit.objective is None else fit.objective


def _by_model(
    data: TrainingData, beta: float, intercept: str, solver: str, limit: float | None
) -> Fit:
    model = c_svc(data, C=_cost(beta), intercept=intercept)
    found: SolveResult = solve(model, solver=solver, time_limit=limit)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    w, b = None, 0.0
    if found.objective is not None and not found.ray:
        w, b = weight_and_intercept(None, found.values, found.duals)
    return Fit(
        beta, w, b, found.objective, found.bound, found.status, found.certificate, found.seconds
    )


def _conic(row: ConicRow) -> Fit:
    how = "closed form" if row.method == LOW_RANK else "weak duality"
    found = row.judgement
    certificate = Certificate(
        found.verdict,
        reason=f"{found.reason} {row.stop}".strip() if found.reason else "",
        level="paper",
        gap=found.gap,
        bound=row.bound,
        bound_method=f"{how} of the strengthening dual, {row.method}",
        facts={"penalty": row.penalty, "rank_of_lift": row.rank, "errors": row.errors},
    )
    status = Status.OPTIMAL if found.verdict.closed else Status.INACCURATE
    return Fit(row.budget, row.w, row.b, row.objective, row.bound, status, certificate, row.seconds)
