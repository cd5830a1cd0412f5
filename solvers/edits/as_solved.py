"""An edited model as it goes to a solver: with its own M, and what is to be asked of the result."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin
from tightmargin.solvers.edits.derived import Edit, by_a_copy, edit_of, stands_for_itself
from tightmargin.solvers.edits.model_identity import unedited_origin
from tightmargin.solvers.edits.rederiving.rederived import (
    Rederived,
    is_rederived,
    rederived,
)
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.standard_form.restated import representable
from tightmargin.solvers.standard_form.standard_form import StandardForm


@dataclass(frozen=True, eq=False)
class AsSolved:
    """A model, or a copy of it with other M.

    Attributes
    ----------
    model, form
        What is solved, and its arrays.
    origin : Origin or None
        Where it came from if it is as it was built, M apart.
    edit : Edit or None
        What is to be asked of a result.
    words : str
        What was derived again, or why it was not.
    copied : str
        What the copy has of its own; empty for the model as it stands.
    """

    model: pyo.ConcreteModel
    form: StandardForm
    origin: Origin | None
    edit: Edit | None
    words: str = ""
    copied: str = ""

    def said(self, result: SolveResult) -> SolveResult:
        """A result that says what was derived again, if anything was."""
        parts = (self.words, result.message)
        result = replace(result, message="; ".join(part for part in parts if part))
        return by_a_copy(result, self.copied) if self.copied else result


def as_written(model: pyo.ConcreteModel) -> AsSolved:
    """A model without disjunctions and quotients, with the M that it has."""
    stated, form = representable(model)
    return AsSolved(stated, form, unedited_origin(model, form), edit=None)


def as_solved(written: AsSolved, limits: Limits) -> AsSolved:
    """A model ready to be solved: an exact one whose M was derived, with M derived again.

    A relaxation stands for itself, and a model whose M `rederive` has set is right as it stands.
    """
    model, form, origin = written.model, written.form, written.origin
    established = is_rederived(model, form)
    if established or stands_for_itself(model):
        edit = edit_of(model, form, origin, established=established)
        return AsSolved(model, form, origin, edit)
    again = rederived(model, form, origin, limits)
    if not isinstance(again, Rederived):
        words = f"big_m was not derived again for the edited model: {again}" if again else ""
        return AsSolved(model, form, origin, edit_of(model, form, origin), words)
    model, form = again.model, again.form
    origin = unedited_origin(model, form)
    edit = edit_of(model, form, origin, established=True)
    return AsSolved(model, form, origin, edit, again.words, again.copied)
