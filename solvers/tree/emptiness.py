"""Multipliers that prove a box to have no point, where those of its relaxation do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.certify.no_optimum import find_infeasibility
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.kernel.bound import Rows, SparseMultipliers
from tightmargin.solvers.kernel.limits import Subject

NONE: Index = np.zeros(0, dtype=np.int64)


def violated_row(rows: Rows, low: Array, high: Array) -> SparseMultipliers | None:
    """The multiplier of one row that no point of the box meets; None without such a row."""
    A, sizes = rows.matrices[1].T, rows.matrices[3].T
    ends = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    middle, half = 0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0])
    endless = ~(np.isfinite(low) & np.isfinite(high))
    about, spread = A @ middle, sizes @ half
    closed = (sizes @ endless.astype(np.float64)) == 0
    over, under = about - spread - rows.conic.b, about + spread - rows.conic.b
    best, place, sign = 0.0, -1, 1.0
    for block in rows.conic.blocks:
        if block.kind not in ("zero", "nonneg"):
            continue
        inside = np.arange(block.start, block.start + block.size)
        for side, missed in ((1.0, over), (-1.0, -under)):
            if side < 0 and block.kind != "zero":
                continue
            amount = np.where(closed[inside], missed[inside], 0.0)
            k = int(np.argmax(amount))
            if amount[k] > best + 1e-9 * (1.0 + abs(float(rows.conic.b[inside[k]]))):
                best, place, sign = float(amount[k]), int(inside[k]), side
    if place < 0:
        return None
    return SparseMultipliers(0.0, np.array([place]), np.array([sign]), NONE, np.zeros(0))


def farkas_of_rows(
    subject: Subject, low: Array, high: Array, limits: Limits
) -> SparseMultipliers | None:
    """Farkas multipliers of the linear rows in a box, by the linear program of least violation."""
    form, conic = subject.form, subject.conic
    box = replace(
        form,
        lower=np.maximum(form.lower, low),
        upper=np.minimum(form.upper, high),
        integer=np.zeros(form.n, dtype=bool),
        quadratic=(),
        psd=(),
    )
    if (box.lower > box.upper).any():
        return None
    found = find_infeasibility(box, Limits(time_limit=limits.time_limit, threads=limits.threads))
    if found is None or found.multipliers is None:
        return None
    y = found.multipliers
    z = np.concatenate(
        [-y[conic.equal], np.maximum(y[conic.low], 0.0), np.maximum(-y[conic.high], 0.0)]
    )
    used = np.flatnonzero(z)
    return SparseMultipliers(0.0, used, z[used], NONE, np.zeros(0))
