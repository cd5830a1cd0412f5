"""Conic Benchmark Format, versions 1 to 4, without exponential and power cones.

Entries of a matrix variable PSDVAR become columns, those of one half. Names, which the format
lacks, stand in comments `# column 3 w[0]` where our export wrote the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from tightmargin.formulations.modeling.semidefinite import lower_pairs
from tightmargin.solvers.backends.mosek import COLUMN
from tightmargin.solvers.files.program import Matrix, Program, Row, Sum

# Number of integers before the value of a line.
_PLACES = {
    "OBJFCOORD": 3, "OBJACOORD": 1, "FCOORD": 4, "ACOORD": 2, "BCOORD": 1, "HCOORD": 4, "DCOORD": 3,
}  # fmt: skip
_SINGLE = ("VER", "OBJSENSE", "OBJBCOORD")
_LISTS = ("PSDVAR", "VAR", "PSDCON", "CON", "INT")
_CONES = ("F", "L=", "L+", "L-", "Q", "QR")

Lines = list[list[str]]


def read_cbf(text: str, lifted: frozenset[str] = frozenset()) -> Program:
    """Read the text of a CBF file.

    Parameters
    ----------
    lifted : frozenset of str
        Names of cones whose entries get columns of their own.

    Raises
    ------
    ValueError
        What is no CBF file, or has cones of another kind.
    """
    found = _sections(text)
    orders = [int(words[0]) for words in found.get("PSDVAR", [])]
    domains = _domains(found, "VAR")
    n = sum(size for _, size in domains)
    names = _names(text, n)
    starts, at = [], n
    for k, size in enumerate(orders):
        starts.append(at)
        names += [f"X{k}[{i},{j}]" for i, j in lower_pairs(size)]
        at += size * (size + 1) // 2
    program = Program.free(names, lifted)
    program.maximise = found["OBJSENSE"][0][0].upper() == "MAX"
    for words in found.get("INT", []):
        program.integer[_place(words[0])] = True

    def matrix_entry(into: Sum, matrix: int, i: int, j: int, number: float) -> None:
        i, j = max(i, j), min(i, j)
        into.add(starts[matrix] + i * (i + 1) // 2 + j, number * (1.0 if i == j else 2.0))

    goal = program.objective
    goal.constant = float(found["OBJBCOORD"][0][0]) if "OBJBCOORD" in found else 0.0
    for (j,), number in _entries(found, "OBJACOORD"):
        goal.add(j, number)
    for (k, i, j), number in _entries(found, "OBJFCOORD"):
        matrix_entry(goal, k, i, j, number)
    sizes = _domains(found, "CON")
    rows = [Sum() for _ in range(sum(size for _, size in sizes))]
    for (row, j), number in _entries(found, "ACOORD"):
        rows[row].add(j, number)
    for (row, k, i, j), number in _entries(found, "FCOORD"):
        matrix_entry(rows[row], k, i, j, number)
    for (row,), number in _entries(found, "BCOORD"):
        rows[row].constant += number
    _add_cones(program, "x", domains, [Sum({}, {j: 1.0}) for j in range(n)])
    _add_cones(program, "row", sizes, rows)
    for k, (start, size) in enumerate(zip(starts, orders, strict=True)):
        entries = [Sum({}, {start + e: 1.0}) for e in range(size * (size + 1) // 2)]
        program.matrices.append(Matrix(f"X{k}_semidefinite", entries))
    program.matrices += _matrix_rows(found)
    return program


def _matrix_rows(found: Mapping[str, Lines]) -> Iterator[Matrix]:
    triangles = [[Sum() for _ in lower_pairs(int(words[0]))] for words in found.get("PSDCON", [])]
    for (k, j, row, column), number in _entries(found, "HCOORD"):
        _triangle(triangles[k], row, column).add(j, number)
    for (k, row, column), number in _entries(found, "DCOORD"):
        _triangle(triangles[k], row, column).constant += number
    for k, entries in enumerate(triangles):
        yield Matrix(f"semidefinite[{k}]", entries)


def _triangle(entries: list[Sum], i: int, j: int) -> Sum:
    i, j = max(i, j), min(i, j)
    return entries[i * (i + 1) // 2 + j]


def _add_cones(
    program: Program, name: str, domains: list[tuple[str, int]], rows: list[Sum]
) -> None:
    """Linear domains first: the bounds they state make signs of cones needless."""
    starts = [sum(size for _, size in domains[:k]) for k in range(len(domains))]
    cones = [
        (kind, range(start, start + size))
        for start, (kind, size) in zip(starts, domains, strict=True)
    ]
    for kind, places in cones:
        if kind in ("L=", "L+", "L-"):
            for k in places:
                side = -rows[k].constant
                low = side if kind != "L-" else -math.inf
                high = side if kind != "L+" else math.inf
                program.add_row(Row(f"{name}[{k}]", Sum({}, rows[k].linear), low, high))
    for kind, places in cones:
        entries = [rows[k] for k in places]
        if kind == "Q":
            program.add_second_order(f"{name}[{places.start}]", entries)
        elif kind == "QR":
            program.add_rotated(f"{name}[{places.start}]", entries)


def _names(text: str, n: int) -> list[str]:
    names = [""] * n
    for line in text.splitlines():
        if line.startswith(COLUMN):
            place, _, name = line.removeprefix(COLUMN).strip().partition(" ")
            if place.isdigit() and int(place) < n:
                names[int(place)] = name
    return names


def _sections(text: str) -> dict[str, Lines]:
    """Lines of every section without the one that counts them."""
    found: dict[str, Lines] = {}
    name = ""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if len(words) == 1 and words[0].isalpha() and words[0].isupper() and name != "OBJSENSE":
            name = words[0]
            if name not in (*_SINGLE, *_LISTS, *_PLACES):
                raise ValueError(f"the section {name} of a CBF file is not read here")
            found[name] = []
        elif words:
            if name not in found:
                raise ValueError("a CBF file begins with VER")
            found[name].append(words)
            name = "" if name == "OBJSENSE" else name
    if not {"VER", "OBJSENSE"} <= set(found):
        raise ValueError("a CBF file has the sections VER and OBJSENSE")
    return {name: _uncounted(name, lines) for name, lines in found.items()}


def _uncounted(name: str, lines: Lines) -> Lines:
    if name in _SINGLE:
        return lines
    if not lines:
        raise ValueError(f"the section {name} of the CBF file is empty")
    count = int(lines[0][-1] if name in ("VAR", "CON") else lines[0][0])
    if len(lines) != count + 1:
        raise ValueError(
            f"the section {name} of the CBF file has {len(lines) - 1} lines and says {count}"
        )
    if name in ("VAR", "CON") and sum(int(words[-1]) for words in lines[1:]) != int(lines[0][0]):
        raise ValueError(f"the section {name} of the CBF file has not the size that it says")
    return lines[1:]


def _domains(found: Mapping[str, Lines], section: str) -> list[tuple[str, int]]:
    domains = [(words[0], int(words[1])) for words in found.get(section, [])]
    other = next((kind for kind, _ in domains if kind not in _CONES), "")
    if other:
        raise ValueError(
            f"the cone {other} of the CBF file is not read here: {', '.join(_CONES)} are"
        )
    return domains


def _place(word: str) -> int:
    if int(word) < 0:
        raise ValueError(f"INT of the CBF file has the negative place {word}")
    return int(word)


def _entries(found: Mapping[str, Lines], section: str) -> Iterator[tuple[tuple[int, ...], float]]:
    for words in found.get(section, []):
        if len(words) != _PLACES[section] + 1:
            raise ValueError(f"{section} of the CBF file has the line {' '.join(words)!r}")
        places = tuple(map(int, words[:-1]))
        if min(places, default=0) < 0:
            raise ValueError(f"{section} of the CBF file has the negative place {min(places)}")
        yield places, float(words[-1])
