"""Whether a row of a gap table and its exact problem were edited alike.

The statements of an edit (rows, bounds, fixings, by names of variables and with their numbers)
that are added to a relaxation must be among those added to the exact problem: every point of the
edited exact problem then satisfies them, and the relaxation bounds it. A model that has lost
rows or got another objective, or an edit of variables that the exact problem does not have, is
another problem's, and nothing is said about the distance between the two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.solvers.disjunctive import without_disjunctions
from tightmargin.solvers.edits.edit import Edit, edit_of
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.restated import representable
from tightmargin.solvers.model.rewrites import without_norms, without_quotients
from tightmargin.solvers.result import SolveResult

EditFunction = Callable[[pyo.ConcreteModel], Any]

OTHER = "an edited model: its optimum is another problem's than that of the exact row"


@dataclass(frozen=True, eq=False)
class Side:
    """A row, or the exact problem, with the model it came from if that is at hand."""

    model: pyo.ConcreteModel | None
    result: SolveResult

    @property
    def name(self) -> str:
        """Its entry in the catalogue, or the name of a foreign model."""
        own = "" if self.model is None else str(self.model.name)
        return self.result.formulation or own

    @property
    def foreign(self) -> bool:
        """Whether it is no model of the catalogue: what it bounds is the user's word."""
        return self.result.formulation not in CATALOGUE

    @cached_property
    def edited(self) -> bool:
        """Whether a model of the catalogue is not what its builder writes."""
        checked = not self.foreign and CATALOGUE[self.result.formulation].check is not None
        unedited_without_point = (
            self.result.status is Status.INFEASIBLE and self._is_as_built
        )  # its level may be "model" because of a stated M
        return checked and self.result.certificate.level == "model" and not unedited_without_point

    @property
    def _is_as_built(self) -> bool:
        return self.edit is not None and self.edit.is_none

    @cached_property
    def edit(self) -> Edit | None:
        """How its model differs from its builder's; None where there is none to ask."""
        if not isinstance(getattr(self.model, "origin", None), Origin):
            return None
        plain = without_norms(without_quotients(without_disjunctions(self.model)))
        return edit_of(*representable(plain))


def edited_copy(model: pyo.ConcreteModel, edit: EditFunction, label: str) -> pyo.ConcreteModel:
    """A model that is ours to change, after the user's edit.

    Raises Exception: whatever the edit raises, with a note that names the row.
    """
    try:
        returned = edit(model)
    except Exception as error:
        error.add_note(f"raised by edit= on the row {label}")
        raise
    if returned is None:
        return model
    if not isinstance(returned, pyo.ConcreteModel) or not isinstance(
        getattr(returned, "origin", None), Origin
    ):
        raise ValueError(f"edit= must change the model or return it, and returned {returned!r}")
    return returned


def why_no_gap(row: Side, exact: Side) -> str:
    """Why a row says nothing about the exact problem because one was edited; empty if it does."""
    if row.foreign or (exact.foreign and not row.edited):
        return ""
    if not row.edited and not exact.edited:
        return ""
    if exact.foreign:
        return f"{OTHER}, which is no model of the catalogue"
    if row.edited and not exact.edited:
        return f"{OTHER}; edit= of compare edits both"
    if exact.edited and exact.edit is None:
        return "the exact row is a result of an edited model: give the model, or edit="
    return _why_apart(row, exact)


def _why_apart(row: Side, exact: Side) -> str:
    ours = row.edit if row.edited else Edit()
    theirs = exact.edit
    assert theirs is not None
    if ours is None:
        return f"{OTHER}, and its model is not at hand"
    for what, name in ((ours, "this row"), (theirs, "the exact row")):
        if not what.is_restriction:
            return f"{OTHER}: in {name} {what.loosened or what.objective}"
    if any(part.statement is None for part in ours.added):
        unread = ", ".join(part.name for part in ours.added if part.statement is None)
        return f"{OTHER}, as far as can be told: {unread} cannot be compared"
    missing = Counter(part.statement for part in ours.added) - Counter(
        part.statement for part in theirs.added
    )
    if missing:
        names = [part.name for part in ours.added if part.statement in missing]
        return f"{OTHER}, which does not have {', '.join(dict.fromkeys(names))}"
    return ""
