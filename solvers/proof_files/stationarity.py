"""Multipliers moved by rational numbers until no column without a limit has a residual.

The residual r_j of a certificate costs r_j x_j, and on a column without the limit that this asks
for nothing but r_j = 0 will do. As many multipliers of rows (and entries of x^) as there are such
columns are moved, those with the most room, by the exact solution of a small system.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.certificates.dual_centre import dual_centre
from tightmargin.solvers.proof_files.certificate import Numbers
from tightmargin.solvers.proof_files.checker import Certificate, Derivation, Vector
from tightmargin.solvers.proof_files.row_readings import RowReading
from tightmargin.solvers.proofs.exact_sums.steps import independent_movers, rational_moves
from tightmargin.solvers.standard_form.standard_form import StandardForm

FREE_LIMIT = 150  # equations of that many unknowns take some seconds
ROUNDS = 4
SHARES = (0.0, 1e-10, 1e-8, 1e-6)
SMALLEST_ROOM = 1e-13


def stationary(
    form: StandardForm,
    readings: Sequence[RowReading],
    derivation: Derivation,
    numbers: Numbers,
    goal: Vector | None = None,
) -> tuple[Fraction, Numbers] | None:
    """The bound of a certificate near the given one, and its numbers; None where there is none.

    Parameters
    ----------
    form : StandardForm
        With the rows that are derived in the file behind its own.
    goal : mapping of int to Fraction, optional
        What the certificate bounds beside the objective.
    """
    goal = goal or {}
    bent = _bent_columns(form, numbers)
    cost = float(numbers.objective) * form.objective.a
    for j, g in goal.items():
        cost[j] += float(g)
    low, high = _room(form, derivation, bent, cost)
    fits = low <= high
    y = np.array([float(numbers.rows.get(i, 0.0)) for i in range(len(form.row_lower))])
    inside = np.where(fits, np.clip(y, np.where(fits, low, y), np.where(fits, high, y)), y)
    numbers = replace(numbers, rows={i: v for i, v in enumerate(inside.tolist()) if v})
    for nearby in _alternatives(form, readings, derivation, numbers, goal, low, high):
        found = _repaired(form, readings, derivation, nearby, goal, low, high)
        if found is not None:
            return found
    return None


def evaluated(
    readings: Sequence[RowReading],
    derivation: Derivation,
    numbers: Numbers,
    goal: Vector | None = None,
) -> tuple[Fraction, Certificate, list[int]]:
    """The finite part of a certificate's bound, and the columns without a finite term."""
    certificate = Certificate(derivation, numbers.document(readings), "bound")
    certificate.add((goal or {}).items(), 1)
    total, _, endless = certificate.value
    return total, certificate, sorted(endless)


def _alternatives(
    form: StandardForm,
    readings: Sequence[RowReading],
    derivation: Derivation,
    numbers: Numbers,
    goal: Vector,
    low: Array,
    high: Array,
) -> Iterator[Numbers]:
    """The numbers, then others that lie a little deeper among the stationary ones."""
    yield numbers
    bent = _bent_columns(form, numbers)
    limited = np.array([v is not None for v in (*derivation.low, *derivation.high)])
    idle = ~bent & ~limited.reshape(2, -1).any(axis=0) & (form.objective.a == 0)
    idle[list(goal)] = False
    touched = set(form.columnwise[:, np.flatnonzero(idle)].indices.tolist())
    if touched:
        # Variables that cost nothing and are free, as in v = F'alpha: their rows prove nothing.
        rows = {i: v for i, v in numbers.rows.items() if i not in touched}
        yield replace(numbers, rows=rows)
    _, certificate, endless = evaluated(readings, derivation, numbers, goal)
    if not endless or len(endless) > FREE_LIMIT or (low > high).any():
        return
    y = np.array([float(numbers.rows.get(i, 0.0)) for i in range(len(form.row_lower))])
    block = form.columnwise[:, endless].toarray().T
    residual = np.array([float(certificate.r.get(j, 0)) for j in endless])
    largest = max(float(np.abs(y).max(initial=0.0)), 1e-300)
    centre = dual_centre(block, block @ y + residual, low, high, largest)
    if centre is None:
        return
    for share in SHARES[1:]:
        moved = y + share * (centre - y)
        yield replace(numbers, rows={i: v for i, v in enumerate(moved.tolist()) if v})


def _repaired(
    form: StandardForm,
    readings: Sequence[RowReading],
    derivation: Derivation,
    numbers: Numbers,
    goal: Vector,
    low: Array,
    high: Array,
) -> tuple[Fraction, Numbers] | None:
    """The numbers with the residuals of all endless columns moved to 0."""
    wrong: list[int] = []
    H = _hessian(form, numbers)
    start = numbers
    for _ in range(ROUNDS):
        total, certificate, endless = evaluated(readings, derivation, numbers, goal)
        if not endless:
            return total, numbers
        wrong = sorted({*wrong, *endless})
        if len(wrong) > FREE_LIMIT:
            return None
        _, certificate, _ = evaluated(readings, derivation, start, goal)
        rest = [certificate.r.get(j, Fraction(0)) for j in wrong]
        found = _moved(form, H, start, low, high, wrong, rest)
        if found is None:
            return None
        numbers = found
    return None


def _moved(
    form: StandardForm,
    H: sp.csr_matrix,
    numbers: Numbers,
    low: Array,
    high: Array,
    wrong: list[int],
    rest: list[Fraction],
) -> Numbers | None:
    """Numbers with the residuals of some columns moved to 0, all multipliers within their room."""
    m = len(form.row_lower)
    y = np.array([float(numbers.rows.get(i, 0.0)) for i in range(m)])
    room = np.minimum(y - low, high - y)
    scale = max(float(np.abs(y).max(initial=0.0)), 1e-300)
    bends = np.flatnonzero(np.diff(H[:, wrong].tocsr().indptr))
    against_rows, against_x = -form.columnwise[:, wrong].tocsr(), H[:, wrong].tocsr()
    for least, weight in (
        (SMALLEST_ROOM * scale, np.minimum(room, scale)),
        (-1.0, np.ones(m)),
    ):
        inside = np.flatnonzero((room > least) & (high > low))
        block = np.vstack([against_rows[inside].toarray(), against_x[bends].toarray()])
        weights = np.concatenate([weight[inside], np.zeros(len(bends))])
        step = _solved(block, weights, rest)
        if step is None:
            continue
        of_rows = {int(inside[k]): d for k, d in step.items() if k < len(inside)}
        of_x = {int(bends[k - len(inside)]): d for k, d in step.items() if k >= len(inside)}
        found = numbers.moved(of_rows, of_x)
        if all(_within(Fraction(found.rows[i]), low[i], high[i]) for i in of_rows):
            return found
    return None


def _solved(block: Array, weights: Array, rest: list[Fraction]) -> dict[int, Fraction] | None:
    """Steps of the movers with the largest weights that bring a residual to 0.

    A weight of 0 stands for one like the largest.
    """
    chosen = independent_movers(block, weights, level=True)
    if not len(chosen):
        return None
    found = rational_moves(block[chosen], [-value for value in rest])
    return None if found is None else dict(zip(chosen.tolist(), found, strict=True))


def _within(value: Fraction, low: float, high: float) -> bool:
    above = not np.isfinite(low) or value >= Fraction(float(low))
    return above and (not np.isfinite(high) or value <= Fraction(float(high)))


def _hessian(form: StandardForm, numbers: Numbers) -> sp.csr_matrix:
    """2 Q of what is linearised at x^."""
    H = sp.csr_matrix(2 * float(numbers.objective) * form.objective.Q)
    for k, nu in numbers.quadratic.items():
        if k in numbers.points:
            continue
        row = form.quadratic[k]
        sign = 1.0 if np.isfinite(row.upper) else -1.0
        body, at = row.body, row.body.index
        entries = 2 * sign * float(nu) * body.v
        H = H + sp.csr_matrix((entries, (at[body.i], at[body.j])), shape=H.shape)
    return sp.csr_matrix(H)


def _bent_columns(form: StandardForm, numbers: Numbers) -> NDArray[np.bool_]:
    """Columns on which more than the linear rows and the linear objective acts."""
    bent = np.diff(form.objective.Q.tocsc().indptr) > 0
    for row in form.quadratic:
        bent[row.body.index] = True
    for psd in form.psd:
        bent |= np.diff(psd.F.tocsc().indptr) > 0
    return bent


def _room(
    form: StandardForm, derivation: Derivation, bent: NDArray[np.bool_], cost: Array
) -> tuple[Array, Array]:
    """Interval of each multiplier, from its row's sides and the columns that hold only that row."""
    low = np.where(np.isfinite(form.row_upper), -np.inf, 0.0)
    high = np.where(np.isfinite(form.row_lower), np.inf, 0.0)
    below = np.array([v is not None for v in derivation.low])
    above = np.array([v is not None for v in derivation.high])
    columns = form.columnwise
    single = np.flatnonzero((np.diff(columns.indptr) == 1) & ~bent & (below != above))
    rows, a = columns.indices[columns.indptr[single]], columns.data[columns.indptr[single]]
    ratio = cost[single] / a
    # A quotient rounds, except by a power of 2; inside it the exact cost keeps its sign.
    rounds = (np.abs(np.frexp(a)[0]) != 0.5) & (ratio != 0)
    at_most = (a > 0) == below[single]
    ratio = np.where(rounds, np.nextafter(ratio, np.where(at_most, -np.inf, np.inf)), ratio)
    np.minimum.at(high, rows[at_most], ratio[at_most])
    np.maximum.at(low, rows[~at_most], ratio[~at_most])
    return low, high
