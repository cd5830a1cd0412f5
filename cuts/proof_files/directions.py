"""The facets of an inner hull as a proof: directions, in the words of proof_files/checker.py.

Every corner of the hull is a point of U, so that multipliers of the margin rows prove
f >= <u, w> for all points of the model; where a ray along w leaves the hull at t w / ||w||, some
corners u have f >= t ||w||. So the least distance of a facet from 0 bounds the objective where
||w|| is at least 1, and -||w||^2 where f is at most 1. Qhull's facets are a suggestion: what is
written is decided by the checker's own rules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.cuts.inner_hull.enclosure import own_normals
from tightmargin.cuts.inner_hull.hull_search import HullSearch
from tightmargin.cuts.inner_hull.surface import Surface
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.reduced_hull import support
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.proof_files.checker import Directions, Model, Tree
from tightmargin.solvers.proof_files.write import NotProvenError, text, vector

Document = dict[str, Any]

BELOW = 1 - 1e-12  # of a plane that all corners are to be below
LONGEST = 10  # normals that are compared in exact arithmetic
SPREAD = (0.5, 1.5)  # weights of corners in a point that is in general position


# --- the model, as far as directions see it ------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Roles:
    """Columns and rows of a model of the family, by what they do.

    weights: columns of w, those of a penalised intercept included.
    margins (n,): rows of the points.
    slacks (n,): columns of xi.
    level: the row of the polar form that holds what is the objective elsewhere.
    prices: of all columns: those of the objective, or of the level.
    held (row, Fraction): multipliers of rows for numbers that no double is, whose variables they
        take out of there.
    caps: the most that each margin row may be multiplied with.
    groups: points whose multipliers have the same sum: the classes where the intercept is free.
    mass: that sum.
    """

    weights: list[int]
    margins: NDArray[np.int64]
    slacks: NDArray[np.int64]
    level: int | None
    prices: list[Fraction]
    held: list[tuple[int, Fraction]]
    caps: list[Fraction]
    groups: list[list[int]]
    mass: Fraction

    @classmethod
    def of(cls, case: Case) -> Roles:
        """By the names of components, which the builders share."""
        form, model = case.form, case.model
        columns = {name: form.columns.of(model.find_component(name))[0] for name in ("w", "xi")}
        weights = columns["w"].tolist()
        if case.origin is not None and case.origin.parameters["intercept"] == "penalised":
            weights += form.columns.of(model.find_component("b"))[0].tolist()
        numbers: dict[str, list[int]] = {}
        for k, (component, _) in enumerate(form.rows.locations()):
            numbers.setdefault(component.name, []).append(k)
        level = numbers.get("level", [None])[0]
        numbers_there = form.objective.a if level is None else form.A[[level]].toarray()[0]
        prices, held, new = _without_new(case, [Fraction(v) for v in numbers_there.tolist()])
        margins = np.array(numbers.get("margin") or numbers["tail"])
        rows = form.A[margins].tocsc()
        free = sorted({*range(form.n)} - {*weights} - {*columns["xi"].tolist()} - new)
        (height,) = [j for j in free if prices[j]]  # rho, or the value at risk
        groups = [list(range(len(margins)))]
        for j in free:
            if j != height:  # the intercept
                sides = rows[:, [j]].toarray().ravel()
                groups = [np.flatnonzero(sign * sides > 0).tolist() for sign in (1, -1)]
        total = abs(prices[height] / Fraction(float(rows[0, height])))
        caps = [prices[j] for j in columns["xi"].tolist()]
        return cls(
            weights, margins, columns["xi"], level, prices, held, caps, groups, total / len(groups)
        )


def _without_new(
    case: Case, prices: list[Fraction]
) -> tuple[list[Fraction], list[tuple[int, Fraction]], set[int]]:
    """Prices without new variables of a copy, the multiples of rows that it takes, and these."""
    form, held = case.form, []
    A = form.A.tocsc()
    blocks = case.model.component_objects(pyo.Block, descend_into=False)
    new = [form.columns.column(v) for block in blocks for v, _ in getattr(block, "defined", ())]
    for j in new:
        if not prices[j]:
            continue
        # The rows of what its own row loses stand before that one.
        row = form.A[[int(A[:, [j]].indices.max())]]
        entries = dict(zip(row.indices.tolist(), map(Fraction, row.data.tolist()), strict=True))
        multiplier = prices[j] / entries[j]
        held.append((int(A[:, [j]].indices.max()), multiplier))
        for k, value in entries.items():
            prices[k] -= multiplier * value
    if any(prices[j] for j in new):
        raise NotProvenError("the objective has numbers that take many doubles")
    return prices, held, set(new)


# --- the lower end -------------------------------------------------------------------------------


def directions_of(
    roles: Roles, model: Model, search: HullSearch, surface: Surface
) -> tuple[Document, Fraction]:
    """The facets with multipliers for their corners, as the file has them, and what they prove.

    Raises NotProvenError: a facet is not beyond 0.
    """
    used, simplices = np.unique(surface.simplices, return_inverse=True)
    simplices = simplices.reshape(surface.simplices.shape)
    certificates = []
    for point in surface.points[used]:
        shares = support(search.hulls, search.along[point.tobytes()]).multipliers
        certificates.append(_certificate(roles, shares))
    row = 0 if roles.level is None else "objective"
    parts: Document = {}
    known = Tree(model, None)
    if roles.level is None:
        parts["curvature"] = [{"of": "objective", "least": [], "squares": []}]
        known.curve(parts["curvature"][0], "curvature")
    found = Directions(known, row)
    found.read(certificates)
    corners = np.array([[value / found.unit for value in u] for u in found.corners])
    first = _roundest(corners[simplices])
    order = np.r_[first, np.delete(np.arange(len(simplices)), first)]
    simplices = simplices[order]
    normals = _planes(corners[simplices], surface.normals[order])
    inside = np.asarray(np.random.default_rng(0).uniform(*SPREAD, size=corners.shape[1]))
    parts["directions"] = {
        "row": row,
        "certificates": certificates,
        "simplices": simplices.tolist(),
        "normals": [[text(value) for value in normal] for normal in normals.tolist()],
        "inside": [text(value) for value in inside.tolist()],
        "beyond": [text(value) for value in _above_all(corners, normals[0]).tolist()],
    }
    longest = sorted(normals.tolist(), key=lambda normal: -sum(v * v for v in normal))[:LONGEST]
    found.normal2 = max(sum((Fraction(v) ** 2 for v in p), Fraction(0)) for p in longest)
    return parts, _proven(found)


def _proven(found: Directions) -> Fraction:
    """The best `lower` that directions prove, nearly."""
    if found.of_objective:
        return -found.weight * found.const**2 * found.normal2
    square = found.length2 / found.normal2
    root = Fraction(math.sqrt(square))
    while root**2 > square:
        root = Fraction(math.nextafter(float(root), 0.0))
    return found.const + root


def _certificate(roles: Roles, shares: Array) -> Document:
    """Multipliers of the margin rows that leave w alone open."""
    factor = roles.mass * len(roles.groups) / Fraction(float(shares.sum()))
    values = [
        min(Fraction(share) * factor, cap) if share else Fraction(0)
        for share, cap in zip(shares.tolist(), roles.caps, strict=True)
    ]
    for group in roles.groups:
        _bring_to(values, roles.caps, group, roles.mass)
    entries = [(int(roles.margins[i]), value) for i, value in enumerate(values) if value]
    if roles.level is None:
        return {"objective": text(1.0), "rows": vector(sorted([*entries, *roles.held]))}
    return {"rows": vector(sorted([*entries, *roles.held, (roles.level, Fraction(-1))]))}


def _bring_to(
    values: list[Fraction], caps: Sequence[Fraction], group: Sequence[int], total: Fraction
) -> None:
    """Change values between 0 and their caps, as few as can be, until they add up exactly.

    Raises NotProvenError: the caps do not reach the total.
    """
    left = total - sum((values[i] for i in group), Fraction(0))
    # Those between their limits first: a corner of U has one of them in each class.
    for i in sorted(group, key=lambda i: (not 0 < values[i] < caps[i], not values[i])):
        if not left:
            return
        new = min(max(values[i] + left, Fraction(0)), caps[i])
        left -= new - values[i]
        values[i] = new
    if left:
        raise NotProvenError("the weights of a class do not add up to its share of nu")


def _roundest(corners: Array) -> int:
    """The simplex whose corners are farthest from dependent, relative to their size."""
    singular = np.linalg.svd(corners, compute_uv=False)
    return int(np.argmax(singular[:, -1] / singular[:, 0]))


def _planes(corners: Array, guesses: Array) -> Array:
    """p (f, k) with <u, p> >= 1 at the corners of simplices (f, k, k), as short as was found.

    What the corners themselves say, or what Qhull does (a normal of any length).
    """
    best = np.full(guesses.shape, np.nan)
    length = np.full(len(guesses), np.inf)
    for normals in (own_normals(corners), guesses):
        lowest = np.einsum("fij,fj->fi", corners, normals).min(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            planes = normals / lowest[:, None]
            # Out by what the products may be off, so that they hold exactly.
            planes *= 1 + 2 * _errors(corners, planes).max(axis=1)[:, None]
            norms = np.linalg.norm(planes, axis=1)
        better = (lowest > 0) & (norms < length)
        best[better], length[better] = planes[better], norms[better]
    if not np.isfinite(length).all():
        raise NotProvenError("a facet of the inner hull is not beyond 0")
    return best


def _errors(corners: Array, planes: Array) -> Array:
    """How far products <u, p> (f, k) in doubles may be from those of the exact corners."""
    sizes = np.einsum("fij,fj->fi", np.abs(corners), np.abs(planes))
    return np.asarray(4 * (corners.shape[-1] + 2) * np.finfo(float).eps * sizes)


def _above_all(corners: Array, plane: Array) -> Array:
    """A plane moved inward until no corner is beyond it."""
    highest = float((corners @ plane).max()) + float(_errors(corners[None], plane[None]).max())
    return np.asarray(plane / max(highest, 1.0) * BELOW)
