"""An irreducible set of rows and bounds that have no common point, each with its mathematics.

Parts are left out one by one. Where the rest is proven to have no point, the part was not needed;
where a point of the rest is found, it is (Chinneck, Feasibility and Infeasibility in Optimization,
2008, deletion filter). The proofs' multipliers leave most parts out at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp

from tightmargin.number_words import count_text, short
from tightmargin.printing import Page, Printed
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.certify.no_optimum import (
    empty_by_cones,
    farkas_vectors,
    feasible_point,
    find_infeasibility,
)
from tightmargin.solvers.disjunctive import without_disjunctions
from tightmargin.solvers.edits.diff import bound_text, row_text
from tightmargin.solvers.engines.running import SHORTEST, Limits, checked_limits
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import Infeasible
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.conic import Multipliers
from tightmargin.solvers.model.difference import RowKind
from tightmargin.solvers.model.polynomial import Quadratic
from tightmargin.solvers.model.reader import StandardForm, refuse_other_objects
from tightmargin.solvers.model.restated import representable
from tightmargin.solvers.model.rewrites import (
    added_blocks,
    fixings_as_bounds,
    is_hidden,
    without_gaps,
    without_norms,
    without_quotients,
)
from tightmargin.solvers.tables import Framed, table_page
from tightmargin.solvers.tree.search import tree_search

# --- What a model is made of, part by part: sides of rows, cones, bounds, fixings, integrality ---


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

    form: fixed variables are columns with two equal bounds.
    fixed (n,).
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
                return row_text(form, self.names, RowKind.LINEAR, k, upper=False)
            case Kind.AT_MOST:
                return row_text(form, self.names, RowKind.LINEAR, k, lower=False)
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


NODES = 500  # of a tree: without its bounds a mixed-integer model may have an endless one
WIDTH = 60  # characters of a statement that is printed
SHARES = (1e-6, 1e-12)  # of the largest multiplier: parts that are taken no more may be dropped


@dataclass(frozen=True, repr=False)
class ConflictingPart(Printed):
    """A row, bound, fixing or integrality of a model without a point.

    name: of the row or variable.
    statement: its mathematics.
    needed: whether a point was found that meets all other parts.
    """

    name: str
    kind: str
    statement: str
    needed: bool


@dataclass(frozen=True, eq=False, repr=False)
class Infeasibility(Framed):
    """Parts of a model that have no common point.

    Attributes
    ----------
    parts : tuple of ConflictingPart
    words : str
        What proves that they have none.
    irreducible : bool
        Whether every one of them is needed; else the time did not suffice to tell.
    seconds : float
    """

    parts: tuple[ConflictingPart, ...]
    words: str
    irreducible: bool
    seconds: float
    _table = "parts"

    def _page(self) -> Page:
        count = count_text(len(self.parts), "part")
        known = "each of them needed" if self.irreducible else "perhaps more than are needed"
        shown = [
            {"name": part.name, "statement": short(part.statement, WIDTH)} for part in self.parts
        ]
        title = f"Infeasibility: {count} without a common point, {known}"
        return table_page(title, shown, ("name", "statement"), ".parts, .words, .to_frame()")


def explain_infeasible(
    model: pyo.ConcreteModel, *, time_limit: float | None = None
) -> Infeasibility:
    """Why a model has no feasible point: an irreducible set of its rows and bounds.

    Parameters
    ----------
    model : ConcreteModel
        Any that solve() takes; its objective does not matter.
    time_limit : float, optional
        Seconds. What is left by then has no common point either, but may be more than is needed.

    Returns
    -------
    Infeasibility
        That its parts have no common point is proven by the kernel, so that it holds for the model.

    Raises
    ------
    TypeError
        Anything but a Pyomo model that is constructed.
    ValueError
        The model has a feasible point, or neither a point nor a proof was found.
    NumberError, DomainError, ProblemClassError
        As solve().

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = tm.rsvm(tm.TrainingData([[0.0], [1.0]], [-1, 1]), norm_bound=0.5)
    >>> model.steep = pyo.Constraint(expr=model.w[0] >= 2)
    >>> [part.name for part in tm.explain_infeasible(model).parts]
    ['steep', 'norm']
    """
    refuse_other_objects("explain_infeasible", model)
    limits = checked_limits(time_limit)
    began = time.perf_counter()
    filtering = _Filter(model, limits, began)
    kept, needed = filtering.reduced(*filtering.first())
    whole = filtering.whole
    parts = tuple(
        ConflictingPart(whole.name(key), str(key[0]), filtering.statement(key), key in needed)
        for key in kept
        if not is_hidden(whole.name(key), filtering.added)
    )
    return Infeasibility(
        parts,
        filtering.words,
        all(key in needed for key in kept),
        time.perf_counter() - began,
    )


@dataclass(frozen=True, eq=False)
class _Emptiness:
    """That some parts have no common point, and multipliers by which it was proven, if any."""

    words: str
    duals: Multipliers | None


class _Filter:
    """The parts that are left, and the proof that they have no common point."""

    def __init__(self, model: pyo.ConcreteModel, limits: Limits, began: float) -> None:
        self.limits, self.began, self.words = limits, began, ""
        self.given, plain = model, _plain(model)
        written = without_norms(plain)
        any_fixed = any(v.fixed for v in written.component_data_objects(pyo.Var))
        copy = written.clone() if any_fixed else written
        held = set(fixings_as_bounds(copy, whole=True))
        self.model, form = representable(copy)
        self.added, form = added_blocks(plain, self.model), without_objective(form)
        fixed = np.array([name in held for name in form.columns.names()], dtype=bool)
        self.whole = Whole(form, fixed)

    def first(self) -> tuple[list[Key], _Emptiness]:
        """All parts, and the proof that they have no common point.

        Raises ValueError: it is not.
        """
        keys = self.whole.keys()
        found = self.proven(keys)
        if found is not None:
            return keys, found
        point = self.point(keys)
        if point is not None:
            raise ValueError(
                f"the model has a feasible point: it misses no row by more than {point:.1e}"
            )
        raise ValueError(
            "that the model has no feasible point is not proven, and no point was found: no part "
            "of it can be named"
        )

    def reduced(self, kept: list[Key], proof: _Emptiness) -> tuple[list[Key], set[Key]]:
        """Parts without a common point, and those of them that are needed."""
        kept = self.taken(kept, proof)
        needed: set[Key] = set()
        for key in list(kept):
            if key not in kept:
                continue
            if self.limits.time_limit is not None and self.left() <= 0:
                break
            rest = [other for other in kept if other != key]
            found = self.proven(rest)
            if found is not None:
                kept = self.taken(rest, found)
            elif self.point(rest) is not None:
                needed.add(key)
        return kept, needed

    def taken(self, kept: list[Key], proof: _Emptiness) -> list[Key]:
        """The parts that the multipliers take, where those are proven to be enough."""
        if proof.duals is None:
            return kept
        sizes = [proof.duals.rows, *(np.asarray(part) for part in proof.duals.cones.values())]
        largest = max(float(np.abs(part).max(initial=0.0)) for part in sizes)
        for share in SHARES:
            fewer = self.whole.used(kept, proof.duals, share * largest)
            if len(fewer) < len(kept) and self.proven(fewer) is not None:
                return fewer
        return kept

    def proven(self, kept: list[Key]) -> _Emptiness | None:
        """A proof that some parts have no common point; None where there is or is found none."""
        found = self._proof(kept)
        if found is not None:
            self.words = found.words
        return found

    def _proof(self, kept: list[Key]) -> _Emptiness | None:
        form = self.whole.restricted(kept)
        limits = self.trial()
        linear = find_infeasibility(form, limits)
        if linear is not None:
            rows = linear.multipliers
            if rows is None or not rows.any():
                return _Emptiness(linear.words, None)
            return _Emptiness(linear.words, Multipliers(rows, np.zeros(form.n), {}))
        case = Case(self.model, Subject(form), limits=limits)
        conic = self._by_cones(case)
        if conic is not None:
            return conic
        if form.integer.any() and case.classification.relaxes_to_convex:
            tree = tree_search(case, node_limit=NODES)
            if isinstance(tree.bound, Infeasible):
                return _Emptiness(tree.bound.words, None)
        return None

    def _by_cones(self, case: Case) -> _Emptiness | None:
        """With an interior-point method's multipliers, even where limits cross without them."""
        curved = case.form.quadratic or case.form.psd
        if not (curved and case.classification.relaxes_to_convex):
            return None
        claim = Claim(Status.INFEASIBLE)
        said = next(farkas_vectors(case, claim), None)
        found = empty_by_cones(case, replace(claim, farkas=said))
        return None if found is None else _Emptiness(found.certificate.bound_method, said)

    def point(self, kept: list[Key]) -> float | None:
        """By how much a point misses the rows of some parts; None where none was found."""
        form = self.whole.restricted(kept)
        subject = Subject(form)
        limits = self.trial()
        found = feasible_point(form, subject.classification, limits)
        return None if found is None else found[1]

    def statement(self, key: Key) -> str:
        """What a part says, with the absolute values and norms of the user."""
        text = self.whole.statement(key)
        row = self.given.find_component(self.whole.name(key))
        changed = any(f"{block.name}." in text for block in self.added)
        return str(row.expr) if changed and row is not None else text

    def left(self) -> float:
        """Seconds of a limit."""
        assert self.limits.time_limit is not None
        return self.limits.time_limit - (time.perf_counter() - self.began)

    def trial(self) -> Limits:
        """What is left, for one set of parts."""
        if self.limits.time_limit is None:
            return Limits()
        return Limits(time_limit=max(self.left(), SHORTEST))


def _plain(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """Without disjunctions, gaps in domains and quotients."""
    return without_quotients(without_gaps(without_disjunctions(model)))
