"""tm.show: a model as mathematics, its data in a line, every edit marked."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin, origin_now
from tightmargin.formulations.formulas.formula import formulas
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.edits.differences.diff import diff
from tightmargin.solvers.edits.differences.model_difference import Change
from tightmargin.solvers.showing.from_components import (
    component_statements,
    families,
    first_rows,
)
from tightmargin.solvers.showing.from_formulas import (
    data_statement,
    docstring_statements,
    formula_statements,
)
from tightmargin.solvers.showing.statements import (
    ADDED,
    CHANGED,
    MARKS,
    REMOVED,
    Statement,
    of_text,
    upright,
)
from tightmargin.solvers.standard_form.readable import refuse_other_objects

CELL = 64  # characters of a formula in a console
SIGNS = {"": "", ADDED: "+", REMOVED: "-", CHANGED: r"\sim"}


@dataclass(frozen=True, eq=False, repr=False)
class Mathematics(Printed):
    """A model as mathematics: text by print(), HTML in a notebook, LaTeX by `to_latex`.

    Attributes
    ----------
    title : str
    statements : tuple of Statement
        Objective, rows, bounds, abbreviations and data, then what was edited.
    """

    title: str
    statements: tuple[Statement, ...]

    @property
    def edits(self) -> tuple[Statement, ...]:
        """What is not as it was built."""
        return tuple(line for line in self.statements if line.mark)

    def _page(self) -> Page:
        first = 0 if self.edits else 1  # no column for marks that nothing has
        rows = [(line.mark, line.name, line.text, line.where) for line in self.statements]
        marked = [
            (
                f"<strong>{line.mark}</strong>",
                html.escape(line.name),
                line.html,
                html.escape(line.where),
            )
            for line in self.statements
        ]
        return Page(
            self.title,
            rows=[row[first:] for row in rows],
            marked=[row[first:] for row in marked],
            cell=CELL,
        )

    def to_latex(self) -> str:
        """One array, a line for each statement."""
        lines = [
            (
                SIGNS[line.mark],
                upright(line.name),
                rf"\displaystyle {line.latex}",
                upright(line.where),
            )
            for line in self.statements
        ]
        body = " \\\\\n".join(" & ".join(cells) for cells in lines)
        return f"\\begin{{array}}{{llll}}\n{body}\n\\end{{array}}"

    def _repr_latex_(self) -> str:
        return f"${self.to_latex()}$"


def show(model: pyo.ConcreteModel, rows: int = 0) -> Mathematics:
    """A model as mathematics.

    Parameters
    ----------
    model : ConcreteModel
        Of the catalogue: its formula at its own mode of the intercept, and what was edited since,
        as `tightmargin.diff` finds it (which also decides what an edit does). Any other: its
        components, each by its first row.
    rows : int
        How many rows of each family to write out with their numbers.

    Returns
    -------
    Mathematics
        Short as it prints itself, whole by print(); HTML in a notebook; `to_latex()`.

    Raises
    ------
    TypeError
        Something that is no constructed Pyomo model.
    ValueError
        A negative number of rows; a variable of another model in one of the catalogue's.

    Examples
    --------
    >>> import tightmargin as tm
    >>> print(tm.show(tm.c_svc(tm.TrainingData([[0.0], [1.0]], [-1, 1]), C=2.0)))
    c_svc (QP): C-SVC, the soft margin with a cost on every slack.
        min        1/2 ||w||^2 + C sum_i s_i xi_i
        margin[i]  y_i (<w, x_i> + b) + xi_i >= 1               for i in I (2)
        bounds     xi_i >= 0
        free       w, b
        data       TrainingData: 2 points, 1 feature; C = 2; intercept = free
    """
    refuse_other_objects("show", model)
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 0:
        raise ValueError(f"rows must be a whole number of at least 0, got {rows!r}")
    known = isinstance(getattr(model, "origin", None), Origin)
    if not known:
        return Mathematics(_title(model, known=False), tuple(component_statements(model, rows)))
    edits = list(_edits(model))
    new = {line.name.partition("[")[0] for line in edits if line.mark == ADDED}
    built = [family for family in families(model) if str(family.name) not in new]
    stated = _stated(model, built)
    expanded = [line for family in built if rows for line in first_rows(family, rows)]
    return Mathematics(_title(model, known=True), (*stated, *expanded, *edits))


def _title(model: pyo.ConcreteModel, *, known: bool) -> str:
    if known:
        entry = CATALOGUE[model.origin.entry]
        return f"{entry.name} ({entry.problem_class}): {entry.title}"
    variables = sum(len(part) for part in model.component_objects(pyo.Var, descend_into=True))
    found = sum(len(family) for family in families(model))
    return f"{model.name}: {count_text(variables, 'variable')}, {count_text(found, 'row')}"


def _stated(model: pyo.ConcreteModel, built: list[Any]) -> list[Statement]:
    """What the paper says, and the families of rows that it does not name."""
    formula = formulas().get(model.origin.entry)
    if formula is not None and formula.minimise:
        named = {row.name for row in formula.rows}
        lines = list(formula_statements(model, formula))
        for family in built:
            if family.local_name not in named:
                lines += first_rows(family, 1)
    else:
        lines = list(docstring_statements(model)) or list(component_statements(model))
    return [*lines, data_statement(origin_now(model))]


# --- edits ---------------------------------------------------------------------------------------


def _edits(model: pyo.ConcreteModel) -> Iterator[Statement]:
    """What was changed, families of rows together; what it does is not asked here."""
    for _, group in groupby(diff(model, time_limit=0.0).changes, key=_family):
        changes = list(group)
        first = _edit(changes[0])
        left = len(changes) - 1
        yield replace(first, where=f"and {left} more") if left else first


def _family(change: Change) -> tuple[str, str, str]:
    return change.kind, change.action, re.split(r"[\[ ]", change.name)[0]


def _edit(change: Change) -> Statement:
    was = f"was {change.before}" if change.action == "changed" else ""
    name = change.name or change.kind
    return of_text(name, change.after or change.before, was, MARKS[change.action])
