"""Searches of the families on edited models: what an edit adds, for those that can take it along.

A search of a family knows the problem as it is built. Where an edit only adds statements (rows,
bounds, fixings) a family may have registered a search that keeps them as well; it reads them here
as they stand in the model, or says why they are none of its.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, origin_now
from tightmargin.formulations.lemma import Lemma
from tightmargin.solvers.edits.edit import Added, as_built, component_of, edit_of
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.findings import refuse_other_options
from tightmargin.solvers.model.difference import column_names
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.registry import AUTO, Finding, Values, method_named

Statements: TypeAlias = Sequence[Added]


@dataclass(frozen=True, eq=False)
class EditedSearch:
    """A method of ours that takes some edited models.

    method: the word after method=.
    entries, tuple of str.
    refuses(origin, statements) -> str: why it does not take an edit; empty when it does.
    run(origin, statements, limits) -> Finding: its bound holds for every point of the built model
        that meets the statements, whatever M it has.
    bound(origin, statements, values) -> Lemma or None: such a bound behind a solver's point, within
        moments; None where it would take longer.
    automatic(origin) -> str: why method="auto" leaves an edited model to it; empty when it does
        not.
    """

    method: str
    entries: tuple[str, ...]
    refuses: Callable[[Origin, Statements], str]
    run: Callable[[Origin, Statements, Limits], Finding]
    bound: Callable[[Origin, Statements, Values], Lemma | None]
    automatic: Callable[[Origin], str]


_SEARCHES: list[EditedSearch] = []


def register_edited_search(search: EditedSearch) -> None:
    """Offer a search for edited models."""
    _SEARCHES.append(search)


@dataclass(frozen=True, eq=False)
class ReadEdit:
    """An edited model as the search takes it."""

    search: EditedSearch
    origin: Origin
    statements: Statements
    why: str  # "auto" leaves it to the search

    def run(self, limits: Limits) -> Finding:
        """Search."""
        refuse_other_options(method_named(self.search.method, self.origin.entry), limits)
        return self.search.run(self.origin, self.statements, limits)


def read_edit(model: pyo.ConcreteModel, form: StandardForm, word: str) -> ReadEdit | None:
    """What an edited model is to the search that takes it; None without one.

    model, form: edited, without disjunctions and quotients.
    word: a method, or "auto" for any that was measured to be the best.
    Raises ValueError: the search takes other edits than this; the message says why.
    """
    written = getattr(model, "origin", None)
    if not isinstance(written, Origin):
        return None
    found, why = None, ""
    for search in _SEARCHES:
        if written.entry in search.entries and word in (AUTO, search.method):
            # As it was written: "derived" says that an M keeps the problem, and its numbers do not.
            why = search.automatic(written) if word == AUTO else ""
            if word != AUTO or why:
                found = search
                break
    if found is None:
        return None
    method = method_named(found.method, written.entry)
    if method.refusal(written):
        if word == AUTO:
            return None
        raise ValueError(method.refusal(written))
    origin, statements = origin_now(model), _statements(model, form)
    refusal = found.refuses(origin, statements)
    if refusal:
        raise ValueError(refusal)
    return ReadEdit(found, origin, statements, why)


def bound_beside(model: pyo.ConcreteModel, form: StandardForm, values: Values) -> Lemma | None:
    """A search's bound on an edited model; None where no search takes the edit."""
    written = getattr(model, "origin", None)
    found = [s for s in _SEARCHES if isinstance(written, Origin) and written.entry in s.entries]
    for search in found:
        try:
            read = read_edit(model, form, search.method)
        except ValueError:
            continue
        bound = None if read is None else search.bound(read.origin, read.statements, values)
        if bound is not None:
            return bound
    return None


def _statements(model: pyo.ConcreteModel, form: StandardForm) -> Statements:
    """What an edit adds, where it does nothing else; a ValueError says what else it does."""
    if form.nonlinear:
        raise ValueError("a row or the objective is beyond degree two")
    if None in column_names(form):
        raise ValueError("a variable of another model occurs in it")
    edit = edit_of(model, form)
    assert edit is not None
    if not edit.is_restriction:
        raise ValueError(edit.loosened or edit.objective)
    rows = as_built(model, form).component_objects(pyo.Constraint)
    own = {component.name for component in rows}
    for part in edit.added:
        if part.statement is None:
            raise ValueError(f"{part.name} cannot be read")
        # With an indicator fixed such a row may look like one of w and b alone, and rest on M.
        if part.statement[0] == "row" and component_of(part.name) in own:
            raise ValueError(f"row {part.name} was changed")
    return edit.added
