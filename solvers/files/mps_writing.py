"""MPS files in free format from a model's arrays.

Pyomo's writer leaves out of COLUMNS what stands in products alone, which no reader accepts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pyomo.core.base.component_namer import index_repr

from tightmargin.solvers.files.program import read_sum
from tightmargin.solvers.standard_form.standard_form import QuadraticRow, StandardForm


def mps_text(form: StandardForm) -> str:
    """The text of a file for a model without semidefinite rows.

    Raises
    ------
    ValueError
        Rows that the format cannot state.
    """
    odd = [*(row.data.name for row in form.psd), *(part.name for part in form.nonlinear)]
    if odd:
        raise ValueError(
            f"{odd[0]} is neither affine nor quadratic, which mps files cannot state: write nl"
        )
    return "\n".join(_Writer(form).lines()) + "\n"


class _Writer:
    def __init__(self, form: StandardForm) -> None:
        self.form = form
        self.columns = _labels(form.columns.names())
        linear = [
            component.name + (index_repr(key) if component.is_indexed() else "")
            for component, key in form.rows.locations()
        ]
        quadratic = [(row, "GL"[end]) for row in form.quadratic for end in _sides_of(row)]
        self.quadratic = [(row.body, row, kind) for row, kind in quadratic]
        apart = _apart(form)
        twice = [linear[r] for r in apart]
        names = ["objective", *linear, *twice, *(row.data.name for row, _ in quadratic)]
        self.goal, *rows = _labels(names)
        self.linear, rows = rows[: len(linear)], rows[len(linear) :]
        self.upper = dict(zip(apart, rows, strict=False))
        self.products = rows[len(apart) :]
        self.kinds = [
            _kind(low, high) for low, high in zip(form.row_lower, form.row_upper, strict=True)
        ]

    def lines(self) -> Iterator[str]:
        form = self.form
        yield "NAME model"
        yield "OBJSENSE"
        yield " MAX" if form.sense < 0 else " MIN"
        yield "ROWS"
        yield f" N {self.goal}"
        yield from (f" {k} {name}" for k, name in zip(self.kinds, self.linear, strict=True))
        yield from (f" L {name}" for name in self.upper.values())
        for name, (*_, kind) in zip(self.products, self.quadratic, strict=True):
            yield f" {kind} {name}"
        yield "COLUMNS"
        yield from self._columns()
        yield "RHS"
        yield from self._sides()
        yield "RANGES"
        sides = zip(self.linear, form.row_lower, form.row_upper, strict=True)
        for r, (name, low, high) in enumerate(sides):
            if r not in self.upper and low < high and np.isfinite([low, high]).all():
                yield f" RNG {name} {_text(high - low)}"
        yield "BOUNDS"
        for j, name in enumerate(self.columns):
            yield from _bounds(name, form.lower[j], form.upper[j], form.integer[j])
        yield from self._matrices()
        yield "ENDATA"

    def _columns(self) -> Iterator[str]:
        A = self.form.columnwise
        others: dict[int, list[tuple[str, float]]] = {}
        for name, (body, *_) in zip(self.products, self.quadratic, strict=True):
            for j, number in zip(body.index.tolist(), body.a.tolist(), strict=True):
                others.setdefault(j, []).append((name, number))
        marks = 0
        for group in (False, True):
            chosen = np.flatnonzero(self.form.integer == group).tolist()
            if group and chosen:
                yield " MARK 'MARKER' 'INTORG'"
                marks += 1
            for j in chosen:
                name = self.columns[j]
                price = self.form.sense * self.form.objective.a[j]
                yield f" {name} {self.goal} {_text(price)}"
                entries = slice(A.indptr[j], A.indptr[j + 1])
                for i, number in zip(A.indices[entries], A.data[entries], strict=True):
                    yield from (f" {name} {row} {_text(number)}" for row in self._rows_of(i))
                for row, number in others.get(j, []):
                    if number:
                        yield f" {name} {row} {_text(number)}"
        if marks:
            yield " MARK 'MARKER' 'INTEND'"

    def _rows_of(self, i: int) -> list[str]:
        return [self.linear[i], *([self.upper[i]] if i in self.upper else [])]

    def _sides(self) -> Iterator[str]:
        constant = self.form.sense * self.form.objective.constant
        if constant:
            yield f" RHS {self.goal} {_text(-constant)}"
        ends = zip(self.kinds, self.form.row_lower, self.form.row_upper, strict=True)
        for name, (kind, low, high) in zip(self.linear, ends, strict=True):
            side = high if kind == "L" else low
            if side and kind != "N":
                yield f" RHS {name} {_text(side)}"
        for r, name in self.upper.items():
            yield f" RHS {name} {_text(self.form.row_upper[r])}"
        for name, (body, row, kind) in zip(self.products, self.quadratic, strict=True):
            side = (row.upper if kind == "L" else row.lower) - body.constant
            if side:
                yield f" RHS {name} {_text(side)}"

    def _matrices(self) -> Iterator[str]:
        Q = self.form.objective.Q.tocoo()
        if Q.nnz:
            yield "QUADOBJ"
            for i, j, number in zip(Q.row, Q.col, Q.data, strict=True):
                if i <= j:
                    value = 2 * self.form.sense * number
                    yield f" {self.columns[i]} {self.columns[j]} {_text(value)}"
        for name, (body, *_) in zip(self.products, self.quadratic, strict=True):
            yield f"QCMATRIX {name}"
            for i, j, number in zip(body.index[body.i], body.index[body.j], body.v, strict=True):
                yield f" {self.columns[i]} {self.columns[j]} {_text(number)}"


def _labels(names: list[str]) -> list[str]:
    """Names as words, all different: w[0,1] as w(0_1)."""
    table = str.maketrans("[], \t\n\"'", "()______")
    words = [name.replace("'", "").translate(table) for name in names]
    seen: dict[str, int] = {}
    found = []
    for word in words:
        seen[word] = seen.get(word, 0) + 1
        found.append(word if seen[word] == 1 else f"{word}_{seen[word]}")
    return found


def _apart(form: StandardForm) -> list[int]:
    """Rows of two sides that their difference, which RANGES states, does not give back."""
    both = np.isfinite(form.row_lower) & np.isfinite(form.row_upper)
    low, high = np.where(both, form.row_lower, 0.0), np.where(both, form.row_upper, 0.0)
    with np.errstate(over="ignore"):
        width = high - low
        lost = low + width != high
    # Readers add the doubles, and ours the numbers as they are written.
    for r in np.flatnonzero((low < high) & ~lost).tolist():
        lost[r] = read_sum([_text(low[r]), _text(width[r])], "a row") != high[r]
    return np.flatnonzero((low < high) & lost).tolist()


def _sides_of(row: QuadraticRow) -> list[int]:
    """0 for a lower side that is there, 1 for an upper one; an equation is two rows."""
    return [end for end, side in enumerate((row.lower, row.upper)) if np.isfinite(side)]


def _kind(low: float, high: float) -> str:
    if low == high:
        return "E"
    return "G" if np.isfinite(low) else "L" if np.isfinite(high) else "N"


def _bounds(name: str, low: float, high: float, integer: bool) -> Iterator[str]:
    if integer and (low, high) == (0.0, 1.0):
        yield f" BV BOUND {name}"
    elif low == -np.inf and high == np.inf:
        yield f" FR BOUND {name}"
    elif low == high:
        yield f" FX BOUND {name} {_text(low)}"
    else:
        yield f" LO BOUND {name} {_text(low)}" if np.isfinite(low) else f" MI BOUND {name}"
        yield f" UP BOUND {name} {_text(high)}" if np.isfinite(high) else f" PL BOUND {name}"


def _text(number: float) -> str:
    return repr(float(number))
