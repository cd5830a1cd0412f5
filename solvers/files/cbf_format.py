"""Conic Benchmark Format, versions 1 to 4, without exponential and power cones.

Entries of a matrix variable PSDVAR become columns, those of one half. Names, which the format
lacks, stand in comments `# column 3 w[0]` where our export wrote the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from tightmargin.formulations.modeling.semidefinite import lower_pairs
from tightmargin.solvers.backends.mosek import COLUMN
from tightmargin.solvers.files.program import Matrix, Program, Row, Sum, read_integer, read_number

# Number of integers before the value of a line.
_PLACES = {
    "OBJFCOORD": 3, "OBJACOORD": 1, "FCOORD": 4, "ACOORD": 2, "BCOORD": 1, "HCOORD": 4, "DCOORD": 3,
}  # fmt: skip
_SINGLE = ("VER", "OBJSENSE", "OBJBCOORD")
_LISTS = ("PSDVAR", "VAR", "PSDCON", "CON", "INT")
_CONES = ("F", "L=", "L+", "L-", "Q", "QR")
_HERE = "the CBF file"

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
    orders = _orders(found, "PSDVAR")
    domains = _domains(found, "VAR")
    n = sum(size for _, size in domains)
    names = _names(text, n)
    starts, at = [], n
    for k, size in enumerate(orders):
        starts.append(at)
        names += [f"X{k}[{i},{j}]" for i, j in lower_pairs(size)]
        at += size * (size + 1) // 2
    program = Program.free(names, lifted)
    program.maximise = _only(found, "OBJSENSE", ("MIN", "MAX")) == "MAX"
    _only(found, "VER", ("1", "2", "3", "4"))
    for words in found.get("INT", []):
        program.integer[_places("INT", [" ".join(words)], [n])[0]] = True

    def matrix_entry(into: Sum, matrix: int, i: int, j: int, value: float) -> None:
        into.add(starts[matrix] + i * (i + 1) // 2 + j, value * (1.0 if i == j else 2.0))

    goal = program.objective
    goal.constant = read_number(_only(found, "OBJBCOORD"), _HERE) if "OBJBCOORD" in found else 0.0
    for (j,), value in _entries(found, "OBJACOORD", n):
        goal.add(j, value)
    for (k, i, j), value in _entries(found, "OBJFCOORD", orders):
        matrix_entry(goal, k, i, j, value)
    sizes = _domains(found, "CON")
    rows = [Sum() for _ in range(sum(size for _, size in sizes))]
    for (row, j), value in _entries(found, "ACOORD", len(rows), n):
        rows[row].add(j, value)
    for (row, k, i, j), value in _entries(found, "FCOORD", len(rows), orders):
        matrix_entry(rows[row], k, i, j, value)
    for (row,), value in _entries(found, "BCOORD", len(rows)):
        rows[row].constant = value
    _add_cones(program, "x", domains, [Sum({}, {j: 1.0}) for j in range(n)])
    _add_cones(program, "row", sizes, rows)
    for k, (start, size) in enumerate(zip(starts, orders, strict=True)):
        entries = [Sum({}, {start + e: 1.0}) for e in range(size * (size + 1) // 2)]
        program.matrices.append(Matrix(f"X{k}_semidefinite", entries))
    program.matrices += _matrix_rows(found, n)
    return program


def _matrix_rows(found: Mapping[str, Lines], n: int) -> Iterator[Matrix]:
    orders = _orders(found, "PSDCON")
    triangles = [[Sum() for _ in lower_pairs(size)] for size in orders]
    # The column stands between a matrix and the place in it.
    for (k, j, row, column), value in _entries(found, "HCOORD", orders, n):
        triangles[k][row * (row + 1) // 2 + column].add(j, value)
    for (k, row, column), value in _entries(found, "DCOORD", orders):
        triangles[k][row * (row + 1) // 2 + column].constant = value
    for k, entries in enumerate(triangles):
        yield Matrix(f"semidefinite[{k}]", entries)


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
        # Of the lines of a section only the sense is a word by itself.
        if (
            len(words) == 1
            and words[0][0].isalpha()
            and not (name == "OBJSENSE" and not found[name])
        ):
            name = words[0]
            if name not in (*_SINGLE, *_LISTS, *_PLACES):
                raise ValueError(f"the section {name} of a CBF file is not read here")
            if name in found:
                raise ValueError(f"{_HERE} has the section {name} twice")
            found[name] = []
        elif words:
            if name not in found:
                raise ValueError("a CBF file begins with VER")
            found[name].append(words)
    if not {"VER", "OBJSENSE"} <= set(found):
        raise ValueError("a CBF file has the sections VER and OBJSENSE")
    return {name: _uncounted(name, lines) for name, lines in found.items()}


def _uncounted(name: str, lines: Lines) -> Lines:
    if name in _SINGLE:
        return lines
    if not lines:
        raise ValueError(f"the section {name} of the CBF file is empty")
    if len(lines[0]) != (2 if name in ("VAR", "CON") else 1):
        raise ValueError(f"the section {name} of the CBF file begins {' '.join(lines[0])!r}")
    count = read_integer(lines[0][-1], _HERE)
    if len(lines) != count + 1:
        raise ValueError(
            f"the section {name} of the CBF file has {len(lines) - 1} lines and says {count}"
        )
    if name in ("VAR", "CON"):
        size = sum(read_integer(words[-1], _HERE) for words in lines[1:])
        if size != read_integer(lines[0][0], _HERE):
            raise ValueError(f"the section {name} of the CBF file has not the size that it says")
    return lines[1:]


def _only(found: Mapping[str, Lines], name: str, known: tuple[str, ...] = ()) -> str:
    """The one word of a section."""
    words = [word for line in found[name] for word in line]
    if len(words) != 1 or (known and words[0].upper() not in known):
        wanted = f", one of {', '.join(known)}" if known else ""
        raise ValueError(f"{name} of the CBF file is one word{wanted}; got {' '.join(words)!r}")
    return words[0].upper()


def _orders(found: Mapping[str, Lines], section: str) -> list[int]:
    """Orders of matrices, one a line."""
    orders = [read_integer(" ".join(words), _HERE) for words in found.get(section, [])]
    if min(orders, default=1) < 1:
        raise ValueError(f"{section} of the CBF file has a matrix of order {min(orders)}")
    return orders


def _domains(found: Mapping[str, Lines], section: str) -> list[tuple[str, int]]:
    domains = []
    for words in found.get(section, []):
        if len(words) != 2 or read_integer(words[1], _HERE) < (words[0] in ("Q", "QR")):
            raise ValueError(f"{section} of the CBF file has the line {' '.join(words)!r}")
        if words[0] not in _CONES:
            raise ValueError(
                f"the cone {words[0]} of the CBF file is not read here: {', '.join(_CONES)} are"
            )
        domains.append((words[0], int(words[1])))
    return domains


def _places(section: str, words: list[str], ends: Sequence[int | Sequence[int]]) -> tuple[int, ...]:
    """Places of an entry below the ends of each.

    Orders of matrices stand for the number of a matrix and, as the last of all, row and column of
    an entry of it: of the lower triangle, whichever of the two is stated.
    """
    places = [read_integer(word, _HERE) for word in words]
    limits: list[int] = []
    inside: list[int] = []
    for place, end in zip(places, ends, strict=False):
        if isinstance(end, int):
            limits.append(end)
        else:
            limits.append(len(end))
            inside = [end[place] if 0 <= place < len(end) else 0] * 2
    for place, limit in zip(places, limits + inside, strict=True):
        if place < 0:
            raise ValueError(f"{section} of the CBF file has the negative place {place}")
        if place >= limit:
            raise ValueError(
                f"{section} of the CBF file has the place {place} outside of its own sizes"
            )
    if inside:
        places[-2:] = sorted(places[-2:], reverse=True)
    return tuple(places)


def _entries(
    found: Mapping[str, Lines], section: str, *ends: int | Sequence[int]
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Places and value of each line; `ends` as for `_places`."""
    seen: set[tuple[int, ...]] = set()
    for words in found.get(section, []):
        if len(words) != _PLACES[section] + 1:
            raise ValueError(f"{section} of the CBF file has the line {' '.join(words)!r}")
        places = _places(section, words[:-1], ends)
        if places in seen:
            raise ValueError(
                f"{section} of the CBF file has the entry {' '.join(map(str, places))} twice: "
                "leave one"
            )
        seen.add(places)
        yield places, read_number(words[-1], _HERE)
