"""A reader of Conic Benchmark Format files that shares no code with the writers under test.

What it reads becomes   min or max  cost'x + constant,  each  matrix x + side  in its cone,  and
Clarabel solves it. The entries of a PSDVAR are columns too, scaled by sqrt(2) off the diagonal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp

ROOT2 = np.sqrt(2.0)
# Number of integers before the value on each line.
PLACES = {
    "OBJFCOORD": 3, "OBJACOORD": 1, "FCOORD": 4, "ACOORD": 2, "BCOORD": 1, "HCOORD": 4, "DCOORD": 3,
}  # fmt: skip

Sections = Mapping[str, list[list[str]]]


@dataclass(frozen=True, eq=False)
class Cone:
    """matrix x + side in F (free), L= (zero), L+, L-, Q, QR or PSD (row-wise lower triangle)."""

    kind: str
    matrix: sp.csr_matrix
    side: np.ndarray

    @property
    def size(self) -> int:
        return len(self.side)


@dataclass(frozen=True, eq=False)
class Solved:
    """Optimum (infinite when there is none), point, and multipliers of the cones.

    The multipliers are those of a minimisation: cost = sum of matrix' dual.
    """

    objective: float
    x: np.ndarray
    duals: list[np.ndarray]


@dataclass(frozen=True, eq=False)
class Program:
    """See the module's docstring; `integer` lists the columns that must be integers."""

    maximise: bool
    cost: np.ndarray
    constant: float
    cones: list[Cone]
    integer: list[int]

    def solved(self, fixed: Mapping[int, float] | None = None) -> Solved:
        """Solve without integrality, with some columns fixed."""
        sign = -1.0 if self.maximise else 1.0
        n, cones = len(self.cost), [cone for cone in self.cones if cone.kind != "F"]
        if fixed:
            unit = sp.identity(n, format="csr")[list(fixed)]
            cones.append(Cone("L=", unit, -np.array(list(fixed.values()), dtype=float)))
        turns, kinds = zip(*(_for_clarabel(cone) for cone in cones), strict=True)
        pairs = list(zip(turns, cones, strict=True))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        found = clarabel.DefaultSolver(
            sp.csc_matrix((n, n)),
            sign * self.cost,
            -sp.vstack([turn @ cone.matrix for turn, cone in pairs], format="csc"),
            np.concatenate([turn @ cone.side for turn, cone in pairs]),
            list(kinds),
            settings,
        ).solve()
        if str(found.status) not in ("Solved", "AlmostSolved"):
            return Solved(sign * np.inf, np.full(n, np.nan), [])
        parts = iter(np.split(np.array(found.z), np.cumsum([cone.size for cone in cones])[:-1]))
        turned = iter(turns)
        duals = [
            np.zeros(cone.size) if cone.kind == "F" else next(turned).T @ next(parts)
            for cone in self.cones
        ]
        return Solved(sign * found.obj_val + self.constant, np.array(found.x), duals)


def _for_clarabel(cone: Cone) -> tuple[sp.csr_matrix, Any]:
    """The matrix that leads from the rows of a cone to Clarabel's, and Clarabel's cone."""
    m = cone.size
    unit = sp.identity(m, format="csr")
    match cone.kind:
        case "L=":
            return unit, clarabel.ZeroConeT(m)
        case "L+":
            return unit, clarabel.NonnegativeConeT(m)
        case "L-":
            return -unit, clarabel.NonnegativeConeT(m)
        case "Q":
            return unit, clarabel.SecondOrderConeT(m)
        case "QR":  # 2 f g >= ||h||^2 is f + g >= ||(f - g, sqrt(2) h)||
            parts = (np.array([[1.0, 1.0], [1.0, -1.0]]), ROOT2 * np.identity(m - 2))
            return sp.block_diag(parts, format="csr"), clarabel.SecondOrderConeT(m)
        case "PSD":
            return unit, clarabel.PSDTriangleConeT(round((np.sqrt(8 * m + 1) - 1) / 2))
    raise AssertionError(f"unknown cone {cone.kind}")


def read(path: Path) -> Program:
    """Read a file."""
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> Program:
    """Read the text of a file; an unknown section is an error, not something to pass over."""
    found = _sections(text)
    simple = {"VER", "OBJSENSE", "PSDVAR", "VAR", "PSDCON", "CON", "INT", "OBJBCOORD"}
    assert set(found) <= simple | set(PLACES), sorted(found)
    assert int(found["VER"][0][0]) in (1, 2, 3, 4)
    widths = [_triangle(k) for k in _integers(found, "PSDVAR")]
    heights = [_triangle(k) for k in _integers(found, "PSDCON")]
    var_cones, n = _sizes(found, "VAR")
    con_cones, m = _sizes(found, "CON")
    starts = n + np.cumsum([0, *widths])
    columns = int(starts[-1])
    cost, sides = np.zeros(columns), np.zeros(m)
    rows = sp.lil_matrix((m, columns))
    blocks = [(sp.lil_matrix((height, columns)), np.zeros(height)) for height in heights]
    for (j,), value in _entries(found, "OBJACOORD"):
        cost[j] += value
    for (j, *pair), value in _entries(found, "OBJFCOORD"):
        at, weight = _in_triangle(*pair)
        cost[starts[j] + at] += weight * value
    for (i, j), value in _entries(found, "ACOORD"):
        rows[i, j] += value
    for (i, j, *pair), value in _entries(found, "FCOORD"):
        at, weight = _in_triangle(*pair)
        rows[i, starts[j] + at] += weight * value
    for (i,), value in _entries(found, "BCOORD"):
        sides[i] += value
    for (i, j, *pair), value in _entries(found, "HCOORD"):
        at, weight = _in_triangle(*pair)
        blocks[i][0][at, j] += weight * value
    for (i, *pair), value in _entries(found, "DCOORD"):
        at, weight = _in_triangle(*pair)
        blocks[i][1][at] += weight * value
    unit = sp.identity(columns, format="csr")
    cones = _split(var_cones, unit[:n], np.zeros(n)) + _split(con_cones, rows.tocsr(), sides)
    for start, width in zip(starts[:-1], widths, strict=True):
        cones.append(Cone("PSD", unit[start : start + width], np.zeros(width)))
    cones += [Cone("PSD", matrix.tocsr(), side) for matrix, side in blocks]
    return Program(
        maximise=found["OBJSENSE"][0][0] == "MAX",
        cost=cost,
        constant=float(found["OBJBCOORD"][0][0]) if "OBJBCOORD" in found else 0.0,
        cones=cones,
        integer=_integers(found, "INT"),
    )


def values(text: str, section: str) -> list[tuple[tuple[int, ...], float]]:
    """Places and numbers of one section."""
    return _entries(_sections(text), section)


def _sections(text: str) -> Sections:
    """Words of the lines of each section; comments and empty lines are dropped."""
    found: dict[str, list[list[str]]] = {}
    name = ""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if len(words) == 1 and words[0].isalpha() and words[0] not in ("MIN", "MAX"):
            name = words[0]
            assert name not in found, f"section {name} comes twice"
            found[name] = []
        elif words:
            found[name].append(words)
    return found


def _counted(found: Sections, section: str) -> list[list[str]]:
    """Lines of a section after the one that holds their number."""
    (count,), *lines = found.get(section, [["0"]])
    assert len(lines) == int(count), section
    return lines


def _integers(found: Sections, section: str) -> list[int]:
    return [int(number) for (number,) in _counted(found, section)]


def _entries(found: Sections, section: str) -> list[tuple[tuple[int, ...], float]]:
    lines = _counted(found, section)
    assert all(len(words) == PLACES[section] + 1 for words in lines), section
    return [(tuple(map(int, words[:-1])), float(words[-1])) for words in lines]


def _sizes(found: Sections, section: str) -> tuple[list[tuple[str, int]], int]:
    """Cones of VAR or CON with their sizes, and the sum of the sizes."""
    (total, count), *lines = found.get(section, [["0", "0"]])
    cones = [(kind, int(size)) for kind, size in lines]
    assert (len(cones), sum(size for _, size in cones)) == (int(count), int(total)), section
    return cones, int(total)


def _split(cones: list[tuple[str, int]], matrix: sp.csr_matrix, sides: np.ndarray) -> list[Cone]:
    ends = np.cumsum([size for _, size in cones])
    return [
        Cone(kind, matrix[end - size : end], sides[end - size : end])
        for (kind, size), end in zip(cones, ends, strict=True)
    ]


def _triangle(order: int) -> int:
    return order * (order + 1) // 2


def _in_triangle(row: int, column: int) -> tuple[int, float]:
    """Position of an entry of a symmetric matrix, and what one unit of it weighs there."""
    row, column = max(row, column), min(row, column)
    return _triangle(row) + column, 1.0 if row == column else ROOT2
