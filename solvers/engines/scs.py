"""SCS: splitting method for LP, QP, SOCP and SDP, straight from the conic form.

SCS stops at an absolute tolerance, so rows of coefficients 1e-5 would be ignored: every row, every
cone and the objective is first divided by its largest coefficient.

It hears Ctrl-C itself, says so in a line of its own, and throws its iterate away; so it runs in
parts of 500 iterations, each from where the last one ended (which costs nothing measurable), and
the end of the last whole part is kept. It has one thread and draws no random numbers: neither can
be set. A failure it prints whatever "verbose" says, through sys.stdout.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.cones import order
from tightmargin.solvers.engines.registry import (
    own_names,
    refuse_huge_bounds,
    refused_option,
    unknown_option,
    unused,
    with_iterate,
)
from tightmargin.solvers.engines.running import (
    Limits,
    reported,
    silenced,
    supervised,
    within_deadline,
)
from tightmargin.solvers.errors import ProblemClassError
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.conic import ConicForm, conic_form, multipliers
from tightmargin.solvers.model.convexity import Classification
from tightmargin.solvers.model.reader import StandardForm

# At 1e-7 half of the semidefinite models keep a proven gap above 1e-6; this costs a fifth more.
TOLERANCE = 1e-9

PART = 500

OPTIONS = (
    "linear_solver", "verbose", "normalize", "adaptive_scale", "adaptive_diag_scale", "scale",
    "rho_x", "alpha", "max_iters", "eps_abs", "eps_rel", "eps_infeas", "time_limit_secs",
    "acceleration_lookback", "acceleration_interval", "acceleration_type_1",
    "acceleration_regularization", "acceleration_relaxation", "write_data_filename",
    "log_csv_filename",
)  # fmt: skip

_KINDS = dict.fromkeys(("linear_solver", "write_data_filename", "log_csv_filename"), (str,))

# -1 is a ray of the dual: no least value exists, and a point may not exist either.
# At a limit SCS guesses: 2 is an iterate to be judged by the certificate, -6 and -7 are nothing.
_STATUS = {
    1: Status.OPTIMAL,
    2: Status.INACCURATE,
    -1: Status.INFEASIBLE_OR_UNBOUNDED,
    -2: Status.INFEASIBLE,
    -5: Status.INTERRUPTED,
    -6: Status.LIMIT_NO_SOLUTION,
    -7: Status.LIMIT_NO_SOLUTION,
}
_GUESSES = (-6, -7)


def run(form: StandardForm, classification: Classification, limits: Limits) -> Claim:
    """Solve a convex model."""
    if not form.n:
        raise ProblemClassError("scs needs a variable that is not fixed")
    refuse_huge_bounds("scs", form)
    return run_conic(conic_form(form, classification), len(form.rows), limits)


def run_closer(form: StandardForm, classification: Classification, limits: Limits) -> Claim:
    """Solve to a hundredth of the tolerance: for what is not certified yet."""
    names = ("eps_abs", "eps_rel")
    closer = {name: limits.options.get(name, TOLERANCE) / 100 for name in names}
    return run(form, classification, replace(limits, options={**limits.options, **closer}))


def run_conic(conic: ConicForm, n_rows: int, limits: Limits) -> Claim:
    """Solve a conic form; `n_rows` linear rows of the model receive multipliers."""
    import scs

    limits = within_deadline(limits)
    settings: dict[str, Any] = {
        "verbose": limits.log,
        "eps_abs": TOLERANCE,
        "eps_rel": TOLERANCE,
        "max_iters": 200_000,
    }
    settings |= own_names(limits, time_limit="time_limit_secs")
    for name, value in limits.options.items():
        if name not in OPTIONS:
            raise unknown_option("scs", name, OPTIONS)
        if not isinstance(value, _KINDS.get(name, (int, float))):
            raise refused_option("scs", name, value, OPTIONS)
    settings |= limits.options
    rows, scale = _row_order(conic), _row_scale(conic)
    cost = _largest(np.abs(np.r_[conic.q, conic.P.data]))
    data = {
        "P": sp.triu(conic.P / cost, format="csc"),
        "A": (sp.diags(scale) @ conic.A).tocsr()[rows].tocsc(),
        "b": (scale * conic.b)[rows],
        "c": conic.q / cost,
    }
    sizes = {
        kind: [block.size for block in conic.blocks_of(kind)]
        for kind in ("zero", "nonneg", "soc", "psd")
    }
    cones = {  # SCS wants them in the order of our blocks
        "z": sum(sizes["zero"]),
        "l": sum(sizes["nonneg"]),
        "q": sizes["soc"],
        "s": [order(size) for size in sizes["psd"]],
    }
    if not len(rows):  # SCS wants at least one: 0 <= 1
        data |= {"A": sp.csc_matrix((1, len(conic.q))), "b": np.ones(1)}
        cones["l"] = 1
    pressed = Event()

    def work() -> dict[str, Any]:
        with nullcontext() if limits.log else silenced():
            return _in_parts(data, cones, settings, pressed)

    finished = supervised(work, pressed.set, log=limits.log, name="scs")
    solution, info = finished.value, finished.value["info"]
    message = f"{info['status']} after {info['iter']} iterations"
    message += unused("scs", limits, "seed", "threads")
    status = _STATUS.get(info["status_val"], Status.ERROR)
    claim = Claim(status, message=message, version=scs.__version__)
    z = np.empty(len(rows))
    z[rows] = solution["y"][: len(rows)]
    z *= scale * cost
    value, bound = (cost * float(info[name]) + conic.offset for name in ("pobj", "dobj"))
    duals = partial(multipliers, conic, z, n_rows)
    return reported(with_iterate(claim, solution["x"], z, duals, value, bound), finished)


def _in_parts(
    data: Mapping[str, Any], cones: Mapping[str, Any], settings: dict[str, Any], stop: Event
) -> dict[str, Any]:
    """Solve in parts of at most PART iterations until it ends, a limit is met or `stop` is set."""
    import scs

    total, limit = settings["max_iters"], settings.get("time_limit_secs") or math.inf
    size = math.ceil(total / max(1, math.ceil(total / PART)))
    started = time.perf_counter()

    def left() -> float:
        return limit - (time.perf_counter() - started)

    def solver(iterations: int) -> Any:
        """One whose clock, which starts anew with every part, is set to the time left."""
        clock = {"time_limit_secs": max(left(), 1e-9)} if limit < math.inf else {}
        return scs.SCS(data, cones, **(settings | {"max_iters": iterations} | clock))

    solving = solver(size)
    last = solving.solve()
    done, longest = int(last["info"]["iter"]), time.perf_counter() - started
    while done < total and left() > 0 and not stop.is_set():
        if last["info"]["status_val"] in _GUESSES:  # no iterate to go on from: in one piece
            return solver(total).solve()
        if last["info"]["status_val"] != scs.SOLVED_INACCURATE:
            break
        before = left()
        if before < longest:
            solving = solver(size)
        following = solving.solve(warm_start=True, x=last["x"], y=last["y"], s=last["s"])
        longest = max(longest, before - left()) if limit < math.inf else longest
        if following["info"]["status_val"] == scs.SIGINT:
            last["info"] |= {"status_val": scs.SIGINT, "status": "interrupted"}
            break
        last, done = following, done + int(following["info"]["iter"])
    last["info"]["iter"] = max(done, 0)
    if left() <= 0 and last["info"]["status_val"] == scs.SOLVED_INACCURATE:
        last["info"]["status"] = "solved (inaccurate - reached time_limit_secs)"
    return last


def _row_order(conic: ConicForm) -> Index:
    """Our row behind each row of SCS, which reads lower triangles column by column."""
    rows = np.arange(len(conic.b))
    for block in conic.blocks_of("psd"):
        rows[block.rows] = block.start + np.lexsort(np.tril_indices(order(block.size)))
    return rows


def _row_scale(conic: ConicForm) -> Array:
    """Positive factors that bring every linear row and every cone to largest coefficient 1."""
    size = abs(conic.A).max(axis=1).toarray().ravel()
    for block in conic.blocks:
        if block.kind in ("soc", "psd"):
            size[block.rows] = size[block.rows].max()
    return 1 / np.where(size > 0, size, 1.0)


def _largest(sizes: Array) -> float:
    largest = float(sizes.max(initial=0.0))
    return largest if largest > 0 else 1.0
