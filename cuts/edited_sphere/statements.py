"""What an edit adds to an extended nu-SVC, as rows over (w, b, rho, xi) of the unit sphere.

A model in another scale holds ||w|| at a radius r, and all its variables are r times those of the
sphere: a row a'z <= c reads a'z <= c / r there. Points are centred where the intercept is free,
and divided by a power of two; what that rounds goes to the side, outward.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.search.run import in_unit
from tightmargin.cuts.spatial_branching.node_bound import EPS, SideRows
from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.extended_checks import norm_squared
from tightmargin.solvers.edits.variables import Added

LARGEST = 1e100  # of numbers whose products are neither 0 nor infinity
_ELEMENT = re.compile(r"(w|xi)\[(\d+)\]")


def side_rows(origin: Origin, problem: PolarProblem, added: Sequence[Added]) -> SideRows | str:
    """The rows of an edit, or why the search does not take it.

    Parameters
    ----------
    origin : Origin
        Of extended_nu_svc, with the present hyperparameters.
    added : sequence of Added
        All that the edit does.
    """
    read = _Read(problem, math.sqrt(norm_squared(origin.parameters["scale"])))
    for part in added:
        why = read.take(part)
        if why:
            return why
    return read.rows()


@dataclass(eq=False)
class _Read:
    """Half rows so far: coefficients by kind, side, and whether the opposite half is one too."""

    problem: PolarProblem
    radius: float
    halves: list[tuple[dict[str, float], float, bool]] = field(default_factory=list)
    ends: dict[str, dict[str, float]] = field(default_factory=dict)

    def take(self, part: Added) -> str:
        """Read one statement; why it cannot be taken, or an empty string."""
        assert part.statement is not None
        kind, *rest = part.statement
        if kind == "integer":
            return f"{part.name} was made an integer"
        if kind in ("lower", "upper"):
            name, end = rest
            self.ends.setdefault(name, {})[kind] = end
            return self._known(part.name, {name: 1.0}, end)
        terms, products, low, high = rest
        if products:
            return f"row {part.name} is quadratic"
        self._halves(dict(terms), low, high)
        return self._known(part.name, dict(terms), low, high)

    def _known(self, label: str, terms: dict[str, float], *sides: float) -> str:
        for name in terms:
            free_b = name == "b" and self.problem.intercept != "none"
            if not free_b and name != "rho" and _ELEMENT.fullmatch(name) is None:
                return f"{name} is none of w, b, rho and xi"
        sizes = [abs(number) for number in (*terms.values(), *sides) if number]
        if any(LARGEST < size < np.inf or size < 1 / LARGEST for size in sizes):
            return f"row {label} has a number beyond {LARGEST:g} or within {1 / LARGEST:g}"
        return ""

    def _halves(self, terms: dict[str, float], low: float, high: float) -> None:
        same = low == high
        if high < np.inf:
            self.halves.append((terms, high, same))
        if low > -np.inf:
            self.halves.append(({name: -number for name, number in terms.items()}, -low, same))

    def rows(self) -> SideRows:
        """All of them, each with a largest coefficient between 1 and 2."""
        for name, ends in self.ends.items():
            self._halves({name: 1.0}, ends.get("lower", -np.inf), ends.get("upper", np.inf))
        hulls, unit = in_unit(self.problem.hulls)
        m, n, k = len(self.halves), len(hulls.caps), hulls.k
        found = SideRows(
            np.zeros((m, k)), np.zeros(m), np.zeros(m), np.zeros((m, n)), np.zeros(m),
            np.array([same for _, _, same in self.halves], dtype=bool),
        )  # fmt: skip
        for j, (terms, side, _) in enumerate(self.halves):
            found.most[j] = side
            if self.radius != 1:
                found.most[j] = side / self.radius + 4 * EPS * abs(side)
            self._put(found, j, terms, unit)
            row = np.r_[found.of_weight[j], found.of_b[j], found.of_rho[j], found.of_xi[j]]
            scale = math.ldexp(1.0, 1 - math.frexp(float(np.abs(row).max()))[1])
            for part in (found.of_weight, found.of_b, found.of_rho, found.of_xi, found.most):
                part[j] *= scale
        return found

    def _put(self, found: SideRows, j: int, terms: dict[str, float], unit: float) -> None:
        for name, number in terms.items():
            element = _ELEMENT.fullmatch(name)
            if name == "rho":
                found.of_rho[j] += number * unit
            elif element is not None and element[1] == "xi":
                found.of_xi[j, int(element[2])] += number * unit
            elif element is not None:
                found.of_weight[j, int(element[2])] += number
            elif self.problem.intercept == "penalised":
                found.of_weight[j, -1] += number
            else:
                found.of_b[j] += number * unit
                self._moved(found, j, number)

    def _moved(self, found: SideRows, j: int, number: float) -> None:
        """The intercept of the data is that of centred points less <w, shift>."""
        shift = number * self.problem.shift
        found.most[j] += 8 * EPS * float((np.abs(found.of_weight[j]) + 2 * np.abs(shift)).sum())
        found.of_weight[j] -= shift


def violation(side: SideRows, point: dict[str, Array]) -> Array:
    """By how much (m,) each row is missed at values of w (k,), b, rho and xi in units."""
    return np.asarray(
        side.of_weight @ point["w"]
        + side.of_b * float(point["b"])
        + side.of_rho * float(point["rho"])
        + side.of_xi @ point["xi"]
        - side.most
    )
