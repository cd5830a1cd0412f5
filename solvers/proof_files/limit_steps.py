"""Limits of columns that a proof file derives, each with the certificate of its value.

A step is one more use of the lemma of checker.py, with the multipliers of one row alone: a linear
row, the objective and the cutoff, a convex quadratic row, a diagonal entry or a minor of order two
of a semidefinite row, or a cone. Intervals are first narrowed in doubles; of what that finds, the
steps that are needed become part of the file, with values rounded outwards from the exact ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from tightmargin.formulations.modeling.semidefinite import lower_pairs
from tightmargin.solvers.exact_arithmetic import rounded_down, rounded_up
from tightmargin.solvers.proof_files.certificate import Numbers, cone_order
from tightmargin.solvers.proof_files.checker import Certificate, Derivation
from tightmargin.solvers.proof_files.model_document import text, triangle, vector
from tightmargin.solvers.proof_files.row_readings import RowReading
from tightmargin.solvers.standard_form.standard_form import StandardForm

ROUNDS = 6
NARROWER = 0.5  # a limit is derived again where that leaves less than this share of the interval
NEARLY = 1e-9  # a whole number may be missed by so much in doubles
Side = tuple[int, bool]  # a column, and whether its lower limit is meant


@dataclass(frozen=True, eq=False)
class Event:
    """A limit found in doubles, with its certificate, its g and the columns that it rests on."""

    side: Side
    numbers: Numbers
    g: float
    rests_on: frozenset[int]


class Intervals:
    """Limits of the columns in doubles, with the events that narrowed them."""

    def __init__(self, derivation: Derivation, narrower: float) -> None:
        self.low = np.array([-math.inf if v is None else float(v) for v in derivation.low])
        self.high = np.array([math.inf if v is None else float(v) for v in derivation.high])
        self.integer, self.narrower = derivation.model.integer, narrower
        self.events: list[Event] = []

    def ends(self, j: int, a: float) -> tuple[float, float]:
        """Least and most of a x_j."""
        low, high = a * self.low[j], a * self.high[j]
        return (low, high) if a > 0 else (high, low)

    def offer(
        self, j: int, value: float, numbers: Numbers, g: float, columns: Iterable[int]
    ) -> None:
        """A new limit: lower for g > 0; kept where it is worth a step."""
        if not math.isfinite(value):
            return
        if j in self.integer:
            value = math.ceil(value - NEARLY) if g > 0 else math.floor(value + NEARLY)
        old = self.low[j] if g > 0 else self.high[j]
        width = self.high[j] - self.low[j]
        if g > 0:
            worth = not math.isfinite(old) or self.high[j] - value < self.narrower * width
            better = value > old
        else:
            worth = not math.isfinite(old) or value - self.low[j] < self.narrower * width
            better = value < old
        if not (better and worth):
            return
        (self.low if g > 0 else self.high)[j] = value
        self.events.append(Event((j, g > 0), numbers, g, frozenset(columns) - {j}))

    def by_row(
        self, terms: list[tuple[int, float]], low: float, high: float, numbers_at: Any
    ) -> None:
        """Each term is at most a side less the least of the others.

        `numbers_at(sign)` is the certificate of sign (a'x - side) >= 0.
        """
        ends = [self.ends(j, a) for j, a in terms]
        columns = [j for j, _ in terms]
        for sign, side in ((1.0, low), (-1.0, high)):
            if not math.isfinite(side):
                continue
            most = [top if sign > 0 else -bottom for bottom, top in ends]
            endless = [k for k, value in enumerate(most) if not math.isfinite(value)]
            if len(endless) > 1:
                continue
            total = sum(value for value in most if math.isfinite(value))
            for k, (j, a) in enumerate(terms):
                if endless and k not in endless:
                    continue
                rest = total - (most[k] if math.isfinite(most[k]) else 0.0)
                # sign a x_j >= sign side - rest
                self.offer(
                    j, (sign * side - rest) / (sign * a), numbers_at(sign), sign * a, columns
                )

    def by_curve(
        self, linear: dict[int, float], least: dict[int, float], room: float, numbers_at: Any
    ) -> None:
        """sum_j a_j x_j + c_j x_j^2 <= room, with certificates scaled by mu."""
        columns = sorted({*linear, *least})
        terms = {j: self._least(linear.get(j, 0.0), least.get(j, 0.0), j) for j in columns}
        endless = [j for j, value in terms.items() if not math.isfinite(value)]
        if len(endless) > 1:
            return
        total = sum(value for value in terms.values() if math.isfinite(value))
        for j in endless or columns:
            a, c = linear.get(j, 0.0), least.get(j, 0.0)
            left = room - total + (terms[j] if math.isfinite(terms[j]) else 0.0)
            if c > 0:
                square = a * a + 4 * c * left
                if square <= 0:
                    continue
                mu = 1 / math.sqrt(square)
                for g in (1.0, -1.0):
                    value = (-a - g / mu) / (2 * c)
                    self.offer(j, value, numbers_at(mu), g, columns)
            elif a and c == 0:
                self.offer(j, left / a, numbers_at(1.0), -a, columns)

    def _least(self, a: float, c: float, j: int) -> float:
        low, high = self.low[j], self.high[j]
        if c > 0:
            x = min(max(-a / (2 * c), low), high)
            return (c * x + a) * x
        straight = self.ends(j, a)[0] if a else 0.0
        size = max(abs(low), abs(high)) if c < 0 else 0.0
        return straight + (c * size * size if c < 0 else 0.0)


def derive_limits(
    form: StandardForm,
    readings: Sequence[RowReading],
    derivation: Derivation,
    wanted: set[Side],
    narrower: float = NARROWER,
) -> list[dict[str, Any]]:
    """Steps, already taken in the derivation, for as many of the wanted limits as can be had."""
    found = Intervals(derivation, narrower)
    for _ in range(ROUNDS):
        before = len(found.events)
        _by_matrices(form, found)
        _by_functions(form, readings, derivation, found)
        for i in range(len(form.rows)):
            span = slice(form.A.indptr[i], form.A.indptr[i + 1])
            terms = list(
                zip(form.A.indices[span].tolist(), form.A.data[span].tolist(), strict=True)
            )
            found.by_row(
                terms, float(form.row_lower[i]), float(form.row_upper[i]),
                lambda sign, i=i: Numbers(rows={i: sign}),
            )  # fmt: skip
        _by_cones(readings, derivation, found)
        if len(found.events) == before:
            break
    return list(_taken(readings, derivation, _needed(found.events, wanted)))


def _needed(events: list[Event], wanted: set[Side]) -> list[Event]:
    """The events that the wanted limits rest on, in order."""
    sides, kept = set(wanted), []
    for event in reversed(events):
        if event.side in sides:
            kept.append(event)
            sides.discard(event.side)  # what it was before is of interest to earlier events only
            sides |= {(j, lower) for j in event.rests_on for lower in (True, False)}
    return kept[::-1]


def _taken(
    readings: Sequence[RowReading], derivation: Derivation, events: list[Event]
) -> Iterator[dict[str, Any]]:
    """Steps with exact values, taken in the derivation as the checker takes them."""
    for event in events:
        entry = event.numbers.document(readings)
        proven = Certificate(derivation, entry, "step").limit(event.side[0], Fraction(event.g))
        if proven is None:
            continue
        value = rounded_down(proven) if event.g > 0 else rounded_up(proven)
        if not math.isfinite(value):
            continue
        step = {
            "certificate": entry,
            "columns": [[event.side[0], text(event.g), text(value)]],
        }
        derivation.step(step, "step")
        yield step


def _by_functions(
    form: StandardForm, readings: Sequence[RowReading], derivation: Derivation, found: Intervals
) -> None:
    """The objective is at most the cutoff, and convex quadratic rows are at most their sides."""
    curvature = derivation.curvature
    if derivation.cutoff is not None and "objective" in curvature:
        a = {j: v for j, v in enumerate(form.objective.a.tolist()) if v}
        least = {j: float(c) for j, c in curvature["objective"].items()}
        found.by_curve(a, least, float(derivation.cutoff), lambda mu: Numbers(mu))
    for k, reading in enumerate(readings):
        if reading.curvature is None:
            continue
        row = form.quadratic[k]
        sign, side = (1.0, row.upper) if reading.side == "upper" else (-1.0, row.lower)
        pairs = zip(row.body.index.tolist(), row.body.a.tolist(), strict=True)
        a = {j: sign * v for j, v in pairs if v}
        least = {j: float(c) for j, c in curvature[k, reading.side].items()}
        room = sign * (side - row.body.constant)
        found.by_curve(a, least, room, lambda nu, k=k: Numbers(quadratic={k: nu}))


def _by_matrices(form: StandardForm, found: Intervals) -> None:
    """Diagonal entries are at least 0, and M_ij^2 <= M_ii M_jj."""
    for k, psd in enumerate(form.psd):
        starts, pairs = psd.F.indptr.tolist(), lower_pairs(psd.order)
        columns, data = psd.F.indices.tolist(), psd.F.data.tolist()
        terms = [list(zip(columns[s:e], data[s:e], strict=True)) for s, e in pairwise(starts)]
        g, most = psd.g.tolist(), {}
        for entry, (i, j) in enumerate(pairs):
            if i == j:
                found.by_row(
                    terms[entry], -g[entry], math.inf,
                    lambda _, k=k, i=i: Numbers(psd=[_minor(k, {(i, i): 1.0})]),
                )  # fmt: skip
                tops = [found.ends(c, a)[1] for c, a in terms[entry]]
                most[i] = max(sum(tops) + g[entry], 0.0)
        for entry, (i, j) in enumerate(pairs):
            if i == j or not (0 < most[i] < math.inf and 0 < most[j] < math.inf):
                continue
            size, share = math.sqrt(most[i] * most[j]), math.sqrt(most[j] / most[i])
            outer = {
                (i, i): share / 2 * (1 + 1e-15), (j, j): 1 / share / 2 * (1 + 1e-15),
            }  # fmt: skip
            rests_on = [c for place in (i, j) for c, _ in terms[_place(place)]]
            before = len(found.events)
            found.by_row(
                terms[entry], -size - g[entry], size - g[entry],
                lambda sign, k=k, i=i, j=j, outer=outer: Numbers(
                    psd=[_minor(k, outer | {(max(i, j), min(i, j)): 0.5 * sign})]
                ),
            )  # fmt: skip
            found.events[before:] = [
                Event(e.side, e.numbers, e.g, e.rests_on | frozenset(rests_on))
                for e in found.events[before:]
            ]


def _place(i: int) -> int:
    """Of the diagonal entry i in a row-wise lower triangle."""
    return i * (i + 3) // 2


def _minor(k: int, entries: dict[tuple[int, int], float]) -> dict[str, Any]:
    return {"row": k, "matrix": triangle(entries)}


def _by_cones(readings: Sequence[RowReading], derivation: Derivation, found: Intervals) -> None:
    """M_jj x_j^2 <= F G at most, for columns that M connects to no other."""
    for number in cone_order(readings).values():
        factors, matrix, lift = derivation.cones[number]
        if lift:
            continue
        tops = [
            float(constant) + sum(found.ends(j, float(a))[1] for j, a in linear.items())
            for constant, linear in factors
        ]
        if not all(0 < top < math.inf for top in tops):
            continue
        touched = [place for pair in matrix if pair[0] != pair[1] for place in pair]
        inside = [j for _, linear in factors for j in linear]
        for (i, j), value in matrix.items():
            if i != j or i in touched or i == derivation.model.n or not value:
                continue
            size = math.sqrt(tops[0] * tops[1] / float(value))
            share = math.sqrt(float(value) * tops[1] / tops[0]) / 2 * (1 + 1e-15)
            other = math.sqrt(float(value) * tops[0] / tops[1]) / 2 * (1 + 1e-15)
            for g in (1.0, -1.0):
                part = {
                    "cone": number,
                    "alpha": text(share),
                    "beta": text(other),
                    "direction": vector({i: -g}),
                }
                found.offer(i, -g * size, Numbers(cones=[part]), g * float(value), [i, *inside])
