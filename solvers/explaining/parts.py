"""What a model is made of, part by part: sides of rows, cones, bounds, fixings, integrality."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp

from tightmargin.number_words import count_text
from tightmargin.solvers.canonical_form.conic_form import Multipliers
from tightmargin.solvers.edits.differences.mathematics import bound_text, row_text
from tightmargin.solvers.edits.row_changes import RowKind
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm


class Kind(StrEnum):
    """What a part is, and the list of the standard form that its number is of."""

    AT_LEAST = "row, lower side"
    AT_MOST = "row, upper side"
    QUADRATIC = "quadratic row"
    SEMIDEFINITE = "semidefinite row"
    LOWER = "lower bound"
    UPPER = "upper bound"
    FIXED = "fixed variable"
    INTEGER = "whole numbers"


Key = tuple[Kind, int]


@dataclass(frozen=True, eq=False)
class Whole:
    """A model without its objective, and which of its columns were fixed.

    Attributes
    ----------
    form : StandardForm
        Fixed variables are columns with two equal bounds.
    fixed : array (n,) of bool
    """

    form: StandardForm
    fixed: np.ndarray

    @cached_property
    def names(self) -> list[str]:
        """Of the columns."""
        return [str(name) for name in self.form.columns.names()]

    def keys(self) -> list[Key]:
        """All parts, those that are dropped first in front."""
        form = self.form
        found: list[Key] = []
        if form.integer.any():
            found.append((Kind.INTEGER, 0))
        for kind, ends in ((Kind.LOWER, form.lower), (Kind.UPPER, form.upper)):
            found += [(kind, j) for j in np.flatnonzero(np.isfinite(ends) & ~self.fixed).tolist()]
        found += [(Kind.FIXED, j) for j in np.flatnonzero(self.fixed).tolist()]
        for kind, ends in ((Kind.AT_LEAST, form.row_lower), (Kind.AT_MOST, form.row_upper)):
            found += [(kind, k) for k in np.flatnonzero(np.isfinite(ends)).tolist()]
        found += [(Kind.QUADRATIC, k) for k in range(len(form.quadratic))]
        found += [(Kind.SEMIDEFINITE, k) for k in range(len(form.psd))]
        return found

    def restricted(self, kept: Iterable[Key]) -> StandardForm:
        """The model of some of its parts."""
        form, parts = self.form, set(kept)

        def ends(kind: Kind, sides: np.ndarray, nothing: float, *, bounds: bool) -> np.ndarray:
            held = [k for part, k in parts if part is kind or (bounds and part is Kind.FIXED)]
            found = np.full(len(sides), nothing)
            found[held] = sides[held]
            return found

        whole = (Kind.INTEGER, 0) in parts
        return replace(
            form,
            lower=ends(Kind.LOWER, form.lower, -np.inf, bounds=True),
            upper=ends(Kind.UPPER, form.upper, np.inf, bounds=True),
            row_lower=ends(Kind.AT_LEAST, form.row_lower, -np.inf, bounds=False),
            row_upper=ends(Kind.AT_MOST, form.row_upper, np.inf, bounds=False),
            integer=form.integer if whole else np.zeros(form.n, dtype=bool),
            quadratic=tuple(
                row for k, row in enumerate(form.quadratic) if (Kind.QUADRATIC, k) in parts
            ),
            psd=tuple(row for k, row in enumerate(form.psd) if (Kind.SEMIDEFINITE, k) in parts),
        )

    def used(self, kept: Iterable[Key], duals: Multipliers, least: float) -> list[Key]:
        """Of some parts, those that multipliers above `least` take."""
        form = self.form
        # A Farkas vector over linear rows leaves what the bounds have to take.
        rest = duals.bounds if duals.cones else -(form.A.T @ duals.rows)
        signed = {
            Kind.AT_LEAST: duals.rows, Kind.AT_MOST: -duals.rows,
            Kind.LOWER: rest, Kind.UPPER: -rest, Kind.FIXED: np.abs(rest),
        }  # fmt: skip

        def takes(kind: Kind, k: int) -> bool:
            if kind in signed:
                return bool(signed[kind][k] > least)
            if kind is Kind.INTEGER:
                return False
            row = form.quadratic[k] if kind is Kind.QUADRATIC else form.psd[k]
            cone = duals.cones.get(id(row.data))
            return cone is not None and float(np.abs(cone).max()) > least

        return [(kind, k) for kind, k in kept if takes(kind, k)]

    def name(self, key: Key) -> str:
        """Of the row or the variable."""
        kind, k = key
        form = self.form
        match kind:
            case Kind.AT_LEAST | Kind.AT_MOST:
                return form.rows.name(k)
            case Kind.QUADRATIC:
                return str(form.quadratic[k].data.name)
            case Kind.SEMIDEFINITE:
                return str(form.psd[k].data.name)
            case Kind.INTEGER:
                return count_text(int(form.integer.sum()), "variable")
        return self.names[k]

    def statement(self, key: Key) -> str:
        """What it says, as mathematics."""
        kind, k = key
        form = self.form
        match kind:
            case Kind.AT_LEAST:
                form = replace(form, row_upper=np.full(len(form.row_upper), np.inf))
                return row_text(form, self.names, RowKind.LINEAR, k)
            case Kind.AT_MOST:
                form = replace(form, row_lower=np.full(len(form.row_lower), -np.inf))
                return row_text(form, self.names, RowKind.LINEAR, k)
            case Kind.QUADRATIC:
                return row_text(form, self.names, RowKind.QUADRATIC, k)
            case Kind.SEMIDEFINITE:
                return row_text(form, self.names, RowKind.SEMIDEFINITE, k)
            case Kind.INTEGER:
                first = self.names[int(np.flatnonzero(form.integer)[0])]
                return f"{first}, ... are whole numbers"
        low = -np.inf if kind is Kind.UPPER else float(form.lower[k])
        high = np.inf if kind is Kind.LOWER else float(form.upper[k])
        text = bound_text(self.names[k], low, high, integer=False)
        return f"{text} (fixed)" if kind is Kind.FIXED else text


def without_objective(form: StandardForm) -> StandardForm:
    """The same rows and bounds."""
    n = form.n
    return replace(form, objective=Quadratic(sp.csr_matrix((n, n)), np.zeros(n), 0.0), sense=1)


def with_fixings_as_bounds(model: pyo.ConcreteModel) -> tuple[pyo.ConcreteModel, list[str]]:
    """A copy whose fixed variables are free within two equal bounds, and their names."""
    held = [v for v in model.component_data_objects(pyo.Var) if v.fixed]
    if not held:
        return model, []
    copy = model.clone()
    names = []
    for v in held:
        twin = copy.find_component(v)
        value = float(pyo.value(v))
        twin.unfix()
        twin.setlb(value)
        twin.setub(value)
        names.append(str(v.name))
    return copy, names
