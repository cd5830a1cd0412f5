"""A model as a file that other programs read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.errors import InvalidExpressionError
from pyomo.core.base.component_namer import index_repr
from pyomo.opt import ProblemFormat
from pyomo.repn import generate_standard_repn

from tightmargin.formulations.modeling.cones import psd_entries
from tightmargin.solvers.disjunctive import without_disjunctions
from tightmargin.solvers.engines.mosek import FORMATS, export_conic
from tightmargin.solvers.files import sdpa as sdpa_format
from tightmargin.solvers.files.lp_format import begins_section
from tightmargin.solvers.files.program import ONE, UNBOUNDED, read_sum
from tightmargin.solvers.files.same_model import (
    TOLERANCE,
    Key,
    body_of,
    distance,
    goal_of,
    prepared,
)
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.difference import RowKind, row_terms
from tightmargin.solvers.model.polynomial import QuadraticRow
from tightmargin.solvers.model.reader import (
    RowHandle,
    StandardForm,
    refuse_other_objects,
    standard_form,
)
from tightmargin.solvers.model.restated import representable

# --- MPS files in free format from a model's arrays ----------------------------------------------
# Pyomo's writer leaves out of COLUMNS what stands in products alone, which no reader accepts.


def mps_text(form: StandardForm) -> str:
    """The text of a file for a model without semidefinite rows.

    Raises ValueError: rows that the format cannot state.
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


PYOMO = {".lp": ProblemFormat.cpxlp, ".nl": ProblemFormat.nl}
WRITERS = (".lp", ".mps", ".nl")
CONIC = (*FORMATS, sdpa_format.SUFFIX)
LAST_DIGIT = Fraction(1, 2**51)
SUFFIXES = (*WRITERS, *CONIC)


def export(model: pyo.ConcreteModel, file: str | Path) -> Path:
    """Write a model under its own names, a disjunctive one after its transformation.

    Pyomo writes lp and nl, MOSEK the conic formats cbf, ptf, task and jtask, for which it needs no
    licence; mps and dat-s (SDPA sparse) are ours. An nl file gets its names beside it, as files
    ending in row and col, and cbf and dat-s files have those of variables in comments. Formats
    other than nl state absolute values, norms and quotients with variables above them.

    `read_model` reads all but nl back, and `same_model` holds what it reads against the origin.

    Parameters
    ----------
    model : ConcreteModel
        Ours, edited or foreign.
    file : str or path
        Its suffix is the format.

    Returns
    -------
    Path
        Of the file.

    Raises
    ------
    TypeError
        Anything but a Pyomo model that is constructed.
    ValueError
        Another suffix, or a model that the format cannot state.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> tm.export(tm.c_svc(data, C=1.0), "c_svc.lp").name
    'c_svc.lp'
    """
    refuse_other_objects("export", model)
    path = Path(file)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"the file must end in {', '.join(SUFFIXES)}, which names its format; "
                         f"got {str(file)!r}")  # fmt: skip
    if suffix in WRITERS:
        _refuse_semidefinite(model, suffix)
    if suffix in FORMATS:
        return export_conic(without_disjunctions(model), path)
    if suffix == sdpa_format.SUFFIX:
        model, form = _in_doubles(prepared(model), path)  # its parts know it while it is held
        path.write_text(sdpa_format.sdpa_text(form, classify(form)), encoding="utf-8")
        return path
    if suffix == ".mps":
        model, form = _in_doubles(prepared(model), path)
        _refuse_far(form, suffix)
        path.write_text(mps_text(form), encoding="utf-8")
        return path
    model = without_disjunctions(model) if suffix == ".nl" else prepared(model)
    if suffix == ".lp":
        _refuse_sections(model)
        model, form = _in_doubles(model, path)
        _refuse_far(form, suffix)
        _refuse_cancelled(model, form)
    _write_by_pyomo(model, path, suffix)
    if suffix == ".lp":
        _mend_lp(path, model)
    return path


def _in_doubles(model: pyo.ConcreteModel, path: Path) -> tuple[pyo.ConcreteModel, StandardForm]:
    """The model in numbers that a file has, with a warning where it is another model then."""
    model, form = representable(model)
    moved = _moved(form)
    if moved:
        warnings.warn(f"{path.name}: {moved}", stacklevel=3)
    return model, form


def _moved(form: StandardForm) -> str:
    """What a file says otherwise than the model: a side, or more than a last digit elsewhere."""
    for j in form.exact.open:
        return f"{form.columns.name(j)} may be at a bound in the file, which the model excludes"
    rows = [form.rows.name(k) for k in form.exact.sides]
    rows += [row.data.name for row in form.quadratic if row.sides != (None, None)]
    if rows:
        return (
            f"a side of row {rows[0]} has a number that no double is, and is the double next to it"
        )
    own = range(form.n)
    parts = [("the objective", form.objective.lost, goal_of(form, own))]
    for k, row in enumerate(form.quadratic):
        if row.lost:
            terms = row_terms(form, RowKind.QUADRATIC, k)
            numbers = body_of(terms, own) | {(-1,): row.body.constant}
            parts.append((f"row {row.data.name}", row.lost, numbers))
    for name, lost, numbers in parts:
        for key, value in lost.items():
            if abs(value) > LAST_DIGIT * abs(Fraction(numbers.get((-1, *key), 0.0))):
                return f"{name} has numbers that no double is, and is another one in the file"
    return ""


def _write_by_pyomo(model: pyo.ConcreteModel, path: Path, suffix: str) -> None:
    labels: dict[str, Any] = {"symbolic_solver_labels": True}
    try:
        model.write(str(path), format=PYOMO[suffix], io_options=labels)
    except InvalidExpressionError as error:
        path.unlink(missing_ok=True)
        raise ValueError(
            f"{error}; lp and mps files state affine and quadratic functions: write nl"
        ) from error
    except RuntimeError as error:  # Pyomo's word for two names that are one in a file
        path.unlink(missing_ok=True)
        if "symbol" not in str(error):
            raise
        raise ValueError(
            f"two parts of the model have one name in a {suffix[1:]} file: rename one, or write mps"
        ) from error


def _refuse_semidefinite(model: pyo.ConcreteModel, suffix: str) -> None:
    """An nl file would name a function that no reader has, and the others have no such row."""
    if not any(model.component_objects(pyo.ExternalFunction, descend_into=True)):
        return
    for row in model.component_data_objects(pyo.Constraint, active=True, descend_into=True):
        if psd_entries(row.body) is not None:
            names = [each[1:] for each in CONIC]
            raise ValueError(
                f"{row.name} is a semidefinite row, which a {suffix[1:]} file cannot state: write "
                f"{', '.join(names[:-1])} or {names[-1]}"
            )


def _refuse_sections(model: pyo.ConcreteModel) -> None:
    for variable in model.component_data_objects(pyo.Var, descend_into=True):
        if not variable.is_continuous() and begins_section(variable.name):
            raise ValueError(
                f"{variable.name} is an integer whose name begins a section of an lp file: rename "
                "it, or write mps"
            )


def _refuse_far(form: StandardForm, suffix: str) -> None:
    """Who reads such files takes bounds and sides from 1e20 on for none."""
    for place, numbers, name in (
        ("bound", np.column_stack([form.lower, form.upper]), form.columns.name),
        ("side", np.column_stack([form.row_lower, form.row_upper]), form.rows.name),
    ):
        far = np.isfinite(numbers) & (np.abs(numbers) >= UNBOUNDED)
        if far.any():
            row, end = (int(k) for k in np.argwhere(far)[0])
            raise ValueError(
                f"{name(row)} has the {place} {numbers[row, end]:g}, which readers of "
                f"{suffix[1:]} files take for none from {UNBOUNDED:g} on: scale it, or write nl"
            )


def _refuse_cancelled(model: pyo.ConcreteModel, form: StandardForm) -> None:
    """Pyomo adds repeated terms up in doubles, in which 1e16 x + x - 1e16 x is 0."""
    if form.nonlinear:
        return  # Pyomo refuses these
    own = range(form.n)
    parts: list[tuple[Any, Any, dict[Key, float]]] = []
    for r, row in enumerate(form.rows.single, len(form.rows) - len(form.rows.single)):
        scale = float(form.exact.scales.get(r, 1))  # the file has the row as it was written
        line = body_of(row_terms(form, RowKind.LINEAR, r), own)
        parts.append((row, row.body, {key: number / scale for key, number in line.items()}))
    for k, row in enumerate(form.quadratic):
        if not isinstance(row.data, RowHandle):  # a cone of arrays, which repeats no term
            terms = row_terms(form, RowKind.QUADRATIC, k)
            parts.append((row.data, row.data.body, body_of(terms, own)))
    for goal in model.component_data_objects(pyo.Objective, active=True, descend_into=True):
        numbers = {key: form.sense * a for key, a in goal_of(form, own).items() if len(key) > 1}
        parts.append((goal, goal.expr, numbers))
    for data, body, numbers in parts:
        sums, column = generate_standard_repn(body), form.columns.column
        written: dict[Key, float] = {
            (-1, column(v)): a for v, a in zip(sums.linear_vars, sums.linear_coefs, strict=True)
        }
        for pair, a in zip(sums.quadratic_vars, sums.quadratic_coefs, strict=True):
            written[-1, *sorted(map(column, pair))] = a
        if distance(numbers, written) > TOLERANCE * max(map(abs, numbers.values()), default=0.0):
            raise ValueError(
                f"{data.name} has terms that cancel, which Pyomo adds up in doubles in an lp file: "
                "add them up yourself, or write mps"
            )


def _mend_lp(path: Path, model: pyo.ConcreteModel) -> None:
    """Write what SCIP reads, and the objective 0 where Pyomo puts 1 in its place."""
    # SCIP takes an exponent after a blank for a number of its own.
    text = path.read_text(encoding="utf-8").replace(" ^ 2\n", "^2\n")
    placeholder = f"+1.0 {ONE}\n"
    if placeholder in text and not standard_form(model).objective.constant:
        text = text.replace(placeholder, f"+0 {ONE}\n")
    path.write_text(text, encoding="utf-8")
