"""Clarabel: interior point for LP, QP, SOCP, SDP and exponential cones, from the conic form.

Ctrl-C and the clock stop it between two iterations. It draws no random numbers: there is no seed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from threading import Event
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.cones import order
from tightmargin.solvers.engines.registry import (
    apply_options,
    refuse_huge_bounds,
    unused,
    with_iterate,
)
from tightmargin.solvers.engines.running import (
    Limits,
    reported,
    supervised,
    uninterrupted,
    within_deadline,
    without_lines,
)
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.conic import (
    Block,
    ConicForm,
    Multipliers,
    conic_form,
    conic_multipliers,
    multipliers,
)
from tightmargin.solvers.model.convexity import Classification, classify
from tightmargin.solvers.model.exponential import (
    ENTROPY,
    EXP,
    LOG,
    SUM,
    ExponentialForm,
    Part,
    Term,
    exponential_form,
    rounded_shares,
)
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.scaling import ScaledConic, Scaling, scaling

# A ray of the dual proves no feasible point. The certificate judges the last iterate of a run that
# stalled or is almost solved.
_STATUS = {
    "Solved": Status.OPTIMAL,
    "AlmostSolved": Status.INACCURATE,
    "PrimalInfeasible": Status.INFEASIBLE,
    "DualInfeasible": Status.INFEASIBLE_OR_UNBOUNDED,
    "AlmostPrimalInfeasible": Status.INFEASIBLE_OR_UNBOUNDED,
    "AlmostDualInfeasible": Status.INFEASIBLE_OR_UNBOUNDED,
    "InsufficientProgress": Status.INACCURATE,
    "NumericalError": Status.INACCURATE,
    "MaxIterations": Status.INACCURATE,
    "MaxTime": Status.INACCURATE,
    "CallbackTerminated": Status.INTERRUPTED,
}
# In numbers near 1 an optimum may still be small, and Clarabel's tolerances are absolute below 1.
CLOSER = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
# Merging the cliques of a sparse matrix breaks down on some patterns, and is no more than faster.
MERGING = "chordal_decomposition_merge_method"
# What a panic writes to standard error besides.
PANIC = (
    r"\s*$|thread '.*' panicked at |Eigval error: |index out of bounds: "
    r"|note: run with `RUST_BACKTRACE="
)


def run(form: StandardForm, classification: Classification, limits: Limits) -> Claim:
    """Solve a convex model."""
    refuse_huge_bounds("clarabel", form)
    if form.nonlinear:
        return run_exponential(form, limits)
    return run_conic(conic_form(form, classification), len(form.rows), limits)


def run_scaled(
    form: StandardForm,
    classification: Classification,
    limits: Limits,
    factors: Scaling | None = None,
) -> Claim:
    """Solve a convex model in numbers near 1, the first attempt on badly scaled data."""
    n_rows = len(form.rows)
    conic = conic_form(form, classification)
    scaled = (factors or scaling(form)).conic(conic)
    claim = run_conic(scaled.conic, n_rows, replace(limits, options={**CLOSER, **limits.options}))

    def unscaled(duals: Multipliers) -> Multipliers:
        z = scaled.multipliers(conic_multipliers(scaled.conic, duals))
        return multipliers(conic, z, n_rows)

    if claim.farkas is not None:
        return replace(claim, farkas=unscaled(claim.farkas))
    if claim.x is None or claim.duals is None:
        return claim
    return replace(
        claim,
        x=scaled.point(claim.x),
        duals=unscaled(claim.duals),
        bound=None,
        objective=None,
        message=f"{claim.message}, after scaling",
    )


def run_conic(conic: ConicForm, n_rows: int, limits: Limits) -> Claim:
    """Solve a conic form; `n_rows` linear rows of the model receive multipliers."""
    import clarabel

    limits = within_deadline(limits)
    settings = clarabel.DefaultSettings()
    settings.verbose = limits.log
    if limits.time_limit is not None:
        settings.time_limit = float(limits.time_limit)
    if limits.threads is not None:
        settings.max_threads = int(limits.threads)
    apply_options("clarabel", settings, limits.options)
    pressed, progress = Event(), [""]

    def stop(info: Any) -> bool:
        residual = max(info.res_primal, info.res_dual)
        progress[0] = f"{info.iterations} steps, residual {residual:.1e}"
        return pressed.is_set()

    # Eigenvalues of matrices may not converge; the exception holds the message of a panic.
    panics = any(block.kind == "psd" for block in conic.blocks) and not limits.log
    traces = os.environ.get("RUST_BACKTRACE", "0") != "0"
    try:
        with without_lines(PANIC) if panics and not traces else nullcontext():
            with uninterrupted("clarabel's setup"):
                solver = clarabel.DefaultSolver(
                    sp.triu(conic.P).tocsc(),
                    conic.q,
                    conic.A,
                    conic.b,
                    cones(conic, clarabel),
                    settings,
                )
            solver.set_termination_callback(stop)
            finished = supervised(
                solver.solve,
                pressed.set,
                log=limits.log,
                name="clarabel",
                state=lambda: (None, None, progress[0]),
            )
    except BaseException as error:
        if not is_panic(error):
            raise
        if panics and MERGING not in limits.options:
            again = run_conic(
                conic, n_rows, replace(limits, options={**limits.options, MERGING: "none"})
            )
            return replace(again, message=f"{again.message}; its cliques were not merged")
        return Claim(Status.ERROR, message=f"broke down: {error}", version=clarabel.__version__)
    solution = finished.value
    word = str(solution.status)
    message = f"{word} after {solution.iterations} iterations" + unused("clarabel", limits, "seed")
    status, x, z = _STATUS.get(word, Status.ERROR), np.array(solution.x), np.array(solution.z)
    claim = Claim(status, message=message, version=clarabel.__version__)
    if "PrimalInfeasible" in word and np.isfinite(z).all():
        claim = replace(claim, farkas=multipliers(conic, z, n_rows))
    value, bound = (
        float(number) + conic.offset for number in (solution.obj_val, solution.obj_val_dual)
    )
    claim = with_iterate(claim, x, z, lambda: multipliers(conic, z, n_rows), value, bound)
    return reported(claim, finished)


def is_panic(error: BaseException) -> bool:
    """Whether Rust code broke down, as Clarabel does where it meets a NaN: this is no Exception."""
    return type(error).__name__ == "PanicException"


def cones(conic: ConicForm, clarabel: Any) -> list[Any]:
    """Clarabel's cone objects for the blocks."""
    kinds = {
        "zero": clarabel.ZeroConeT,
        "nonneg": clarabel.NonnegativeConeT,
        "soc": clarabel.SecondOrderConeT,
        "exp": lambda size: clarabel.ExponentialConeT(),
        "psd": lambda size: clarabel.PSDTriangleConeT(order(size)),
    }
    return [kinds[block.kind](block.size) for block in conic.blocks]


# --- The exponential cone, for models with exp, log and entropy in convex places -----------------
# With K = {(u, v, t) : v > 0, v exp(u / v) <= t} and its closure, t is at least
#
#     exp(p)                    (p, 1, t) in K
#     -log(p)                   (-t, 1, p) in K
#     p log(p)                  (-t, p, 1) in K
#     log(sum_k c_k exp(p_k))   (p_k - t, 1, s_k) in K for all k, sum_k c_k s_k <= 1
#
# for affine p. What comes back is a point; the kernel proves a bound from it (certificates).


EXPONENTIAL = "exp and log by Clarabel's exponential cone"
SMALL = 1e-8  # a share that is none, to rounding
LEAST = 1e-30  # in the place of 0 under a logarithm: p log(p) is 0 there, and 0 log(0) is no number
Slopes = tuple[int, Sequence[float]]  # number of a term, and its s in kernel/exponential.py
# An affine function: a number, and coefficients by column.
Affine = tuple[float, list[tuple[int, float]]]
ONE: Affine = (1.0, [])
NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


def run_exponential(
    form: StandardForm, limits: Limits, options: Mapping[str, Any] = NO_OPTIONS
) -> Claim:
    """Solve a model that the exponential cone holds; options of the limits override `options`."""
    read = exponential_form(form)
    assert read is not None
    scaled = _scaled(read)
    conic, size = _with_cones(scaled.conic, read), scaled.objective
    ours = replace(limits, options={**options, **limits.options})
    claim = run_conic(conic, len(read.form.rows), ours)
    bound = None if claim.bound is None else claim.bound * size
    value = None if claim.objective is None else claim.objective * size
    message = f"{claim.message}, {EXPONENTIAL}"
    claim = replace(claim, message=message, duals=None, farkas=None, bound=bound, objective=value)
    if claim.x is None:
        return claim
    x = scaled.point(claim.x[: read.form.n])
    inside = read.logarithms
    x[inside] = np.maximum(x[inside], LEAST)
    return replace(claim, x=x[read.columns])


def without_objective(form: StandardForm, limits: Limits) -> tuple[Array | None, list[Slopes]]:
    """A point over the columns of `exponential_form(form).form`, or slopes for a Farkas proof.

    The slopes are the duals of the exponential cones as affine minorants of the terms
    (kernel/exponential.py).
    """
    read = exponential_form(form)
    assert read is not None
    scaled = _scaled(read)
    conic = _with_cones(scaled.conic, read)
    free = replace(conic, P=0 * conic.P, q=0 * conic.q, offset=0.0)
    claim = run_conic(free, len(read.form.rows), limits)
    if claim.farkas is not None:
        exps = [block for block in conic.blocks if block.kind == "exp"]
        return None, _slopes(read, [claim.farkas.cones[id(block.data)] for block in exps])
    return (None if claim.x is None else scaled.point(claim.x[: read.form.n])), []


def _slopes(read: ExponentialForm, z: list[Array]) -> list[Slopes]:
    """Slopes from multipliers (a, b, c) of the triples of `_cones`, the term's own scaled to 1."""
    slopes: list[Slopes] = []
    triples = iter(z)
    for number, term in enumerate(read.terms):
        a, b, c = np.transpose([next(triples) for _ in _cones(term, 0)[0]])
        if term.kind == EXP and c[0] > 0:
            slopes.append((number, [-a[0] / c[0]]))
        elif term.kind == LOG and a[0] < 0:
            slopes.append((number, [-c[0] / a[0]]))
        elif term.kind == ENTROPY and a[0] < 0:
            slopes.append((number, [b[0] / a[0]]))
        elif term.kind == SUM and a.sum() < 0:
            sizes = np.where(-a > SMALL * -a.sum(), -a, 0.0)
            slopes.append((number, rounded_shares(sizes).tolist()))
    return [(number, [float(each) for each in s]) for number, s in slopes]


def _scaled(read: ExponentialForm) -> ScaledConic:
    """The conic form without the terms, scaled but for the columns of terms: exponents are pure."""
    held = np.zeros(read.form.n, dtype=bool)
    held[[part.column for term in read.terms for part in term.parts if part.column >= 0]] = True
    held[[term.value for term in read.terms]] = True
    return scaling(read.form, held).conic(conic_form(read.form, classify(read.form)))


def _with_cones(conic: ConicForm, read: ExponentialForm) -> ConicForm:
    """The form with three rows for each cone, behind the rows and columns of shares s."""
    sums: list[Affine] = []
    triples: list[tuple[Affine, Affine, Affine]] = []
    n = read.form.n
    shares = 0
    for term in read.terms:
        more, count = _cones(term, n + shares)
        triples += more
        if count:
            mine = zip(term.parts, range(n + shares, n + shares + count), strict=True)
            sums.append((1.0, [(column, -part.c) for part, column in mine]))
        shares += count
    first, size = len(conic.b), n + shares
    affine = [*sums, *(part for triple in triples for part in triple)]
    rows = sp.coo_matrix(
        (
            [-v for _, terms in affine for _, v in terms],
            (
                [i for i, (_, terms) in enumerate(affine) for _ in terms],
                [j for _, terms in affine for j, _ in terms],
            ),
        ),
        shape=(len(affine), size),
    )
    nonneg = (Block("nonneg", first, len(sums)),) if sums else ()
    cones = (
        Block("exp", first + len(sums) + 3 * k, 3, data=triple) for k, triple in enumerate(triples)
    )
    wider = sp.csc_matrix((first, shares))
    return replace(
        conic,
        P=sp.block_diag([conic.P, sp.csc_matrix((shares, shares))], format="csc"),
        q=np.concatenate([conic.q, np.zeros(shares)]),
        A=sp.vstack([sp.hstack([conic.A, wider]), rows], format="csc"),
        b=np.concatenate([conic.b, [constant for constant, _ in affine]]),
        blocks=(*conic.blocks, *nonneg, *cones),
    )


def _cones(term: Term, first: int) -> tuple[list[tuple[Affine, Affine, Affine]], int]:
    """Triples of a term, and how many columns of shares they use from `first` on."""
    t: Affine = (0.0, [(term.value, 1.0)])
    below: Affine = (0.0, [(term.value, -1.0)])
    if term.kind == EXP:
        return [(_affine(term.parts[0]), ONE, t)], 0
    if term.kind == LOG:
        return [(below, ONE, _affine(term.parts[0]))], 0
    if term.kind == ENTROPY:
        return [(below, _affine(term.parts[0]), ONE)], 0
    lower = [(_affine(part)[0], [*_affine(part)[1], *below[1]]) for part in term.parts]
    share = [(0.0, [(first + k, 1.0)]) for k in range(len(term.parts))]
    return [(p, ONE, s) for p, s in zip(lower, share, strict=True)], len(term.parts)


def _affine(part: Part) -> Affine:
    return (0.0, [(part.column, part.sign)] if part.column >= 0 else [])
