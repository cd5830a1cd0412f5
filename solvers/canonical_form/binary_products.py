"""Products of a binary and another variable, and what to write in their place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tightmargin.solvers.standard_form.standard_form import StandardForm


def binary_product(form: StandardForm) -> str:
    """A sentence on the first such product of a row or of the objective; empty without one."""
    binary = form.integer & (form.lower >= 0) & (form.upper <= 1)
    if not binary.any():
        return ""
    for where, i, j in _products(form):
        if binary[i] or binary[j]:
            u, x = (form.columns.name(k) for k in ((i, j) if binary[i] else (j, i)))
            return (
                f"{where} multiplies the binary {u} by {x}: with a variable t in the place of the "
                f"product, -M {u} <= t <= M {u} and -M (1 - {u}) <= t - {x} <= M (1 - {u}) for an "
                f"M >= abs({x}), branch and bound can prove an optimum"
            )
    return ""


def _products(form: StandardForm) -> Iterator[tuple[str, int, int]]:
    """Owner and columns of every product of two variables."""
    Q = form.objective.Q.tocoo()
    for i, j in zip(Q.row.tolist(), Q.col.tolist(), strict=True):
        if i < j:
            yield "the objective", i, j
    for row in form.quadratic:
        body = row.body
        for k in np.flatnonzero(body.i < body.j).tolist():
            yield f"row {row.data.name}", int(body.index[body.i[k]]), int(body.index[body.j[k]])
