"""A file of another program as a Pyomo model."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from tightmargin.formulations.modeling.cones import lower_pairs, order, psd
from tightmargin.solvers.engines.mosek import COLUMN, EPIGRAPH
from tightmargin.solvers.errors import SolverNotInstalledError
from tightmargin.solvers.files.lp_format import read_lp
from tightmargin.solvers.files.program import (
    INFINITE,
    ONE,
    Matrix,
    Program,
    Row,
    Sum,
    far_is_infinite,
    negated,
    read_integer,
    read_number,
    read_sum,
)
from tightmargin.solvers.files.sdpa import SUFFIX, read_sdpa
from tightmargin.solvers.model.conic import ROOT2
from tightmargin.solvers.model.convexity import Shape, read_rows
from tightmargin.solvers.model.reader import standard_form

# --- MOSEK's own files, through MOSEK, which needs no licence for that ---------------------------


FORMATS = (".task", ".jtask", ".ptf")


def read_mosek(path: Path, lifted: frozenset[str] = frozenset()) -> Program:
    """Read a .task, .jtask or .ptf file.

    Raises ValueError: a file that MOSEK does not read, or cones of another kind than second-order,
        rotated and semidefinite ones.
    Raises SolverNotInstalledError: without MOSEK.
    """
    try:
        import mosek
    except ImportError as error:
        raise SolverNotInstalledError(
            f"{path.suffix} files are read through mosek, which is not installed "
            "(pip install mosek)"
        ) from error
    with mosek.Env() as env, env.Task() as task:
        try:
            task.readdata(str(path))
        except mosek.Error as error:
            line = str(error.msg).strip().partition("\n")[0]
            raise ValueError(f"mosek does not read {path.name}: {line}") from error
        return _MosekReader(task, mosek, lifted).program()


class _MosekReader:
    def __init__(self, task: Any, mosek: Any, lifted: frozenset[str]) -> None:
        self.task, self.mosek = task, mosek
        self.n = task.getnumvar()
        self.orders = [task.getdimbarvarj(j) for j in range(task.getnumbarvar())]
        sizes = [size * (size + 1) // 2 for size in self.orders]
        self.starts = [self.n + sum(sizes[:k]) for k in range(len(sizes))]
        names = [task.getvarname(j) for j in range(self.n)]
        for k, size in enumerate(self.orders):
            names += [f"X{k}[{i},{j}]" for i, j in lower_pairs(size)]
        self.found = Program.free(names, lifted)
        self.found.has_bounds = True

    def program(self) -> Program:
        """All of it."""
        task, found = self.task, self.found
        if task.getnumdjc() or task.getnumcone():
            raise ValueError(
                "disjunctions, and cones over columns instead of affine functions, are not read "
                "from files of MOSEK"
            )
        for j in range(self.n):
            found.lower[j], found.upper[j] = self._ends(task.getvarbound(j))
            found.integer[j] = task.getvartype(j) == self.mosek.variabletype.type_int
        self._objective()
        self._rows()
        self._cones()
        for k, size in enumerate(self.orders):
            entries = [Sum({}, {self.starts[k] + e: 1.0}) for e in range(size * (size + 1) // 2)]
            found.matrices.append(Matrix(f"X{k}_semidefinite", entries))
        return found

    def _ends(self, bound: tuple[Any, float, float]) -> tuple[float, float]:
        key, low, high = bound
        keys = self.mosek.boundkey
        return (
            -math.inf if key in (keys.fr, keys.up) else far_is_infinite(low, INFINITE),
            math.inf if key in (keys.fr, keys.lo) else far_is_infinite(high, INFINITE),
        )

    def _objective(self) -> None:
        task, goal = self.task, self.found.objective
        self.found.maximise = task.getobjsense() == self.mosek.objsense.maximize
        goal.linear = {j: price for j, price in enumerate(task.getc()) if price}
        goal.constant = task.getcfix()
        _add_triangle(goal, task.getqobj())
        for k, i, j, number in zip(*task.getbarcblocktriplet()[1:], strict=True):
            self._add_entry(goal, k, i, j, number)

    def _rows(self) -> None:
        task = self.task
        bodies = [Sum() for _ in range(task.getnumcon())]
        for i, body in enumerate(bodies):
            _, columns, numbers = task.getarow(i)
            body.linear = dict(zip(columns, numbers, strict=True))
            _add_triangle(body, task.getqconk(i))
        for row, k, i, j, number in zip(*task.getbarablocktriplet()[1:], strict=True):
            self._add_entry(bodies[row], k, i, j, number)
        for i, body in enumerate(bodies):
            ends = self._ends(task.getconbound(i))
            self.found.add_row(Row(task.getconname(i) or f"row[{i}]", body, *ends))

    def _cones(self) -> None:
        task, kinds = self.task, self.mosek.domaintype
        functions = [Sum() for _ in range(task.getnumafe())]
        for k, function in enumerate(functions):
            _, columns, numbers = task.getafefrow(k)
            function.linear = dict(zip(columns, numbers, strict=True))
            function.constant = task.getafeg(k)
        for row, k, i, j, number in zip(*task.getafebarfblocktriplet()[1:], strict=True):
            self._add_entry(functions[row], k, i, j, number)
        add: dict[Any, Callable[[str, list[Sum]], None]] = {
            kinds.quadratic_cone: self.found.add_second_order,
            kinds.rquadratic_cone: self.found.add_rotated,
            kinds.svec_psd_cone: self._add_matrix,
            kinds.rzero: lambda name, entries: self._add_linear(name, entries, 0.0, 0.0),
            kinds.rplus: lambda name, entries: self._add_linear(name, entries, 0.0, math.inf),
            kinds.rminus: lambda name, entries: self._add_linear(name, entries, -math.inf, 0.0),
            kinds.r: lambda name, entries: None,
        }
        for k in range(task.getnumacc()):
            kind = task.getdomaintype(task.getaccdomain(k))
            if kind not in add:
                raise ValueError(f"the cone {kind!r} is not read from files of MOSEK")
            entries = [
                Sum({}, dict(functions[at].linear), functions[at].constant - shift)
                for at, shift in zip(task.getaccafeidxlist(k), task.getaccb(k), strict=True)
            ]
            add[kind](task.getaccname(k) or f"cone[{k}]", entries)

    def _add_linear(self, name: str, entries: list[Sum], low: float, high: float) -> None:
        for k, entry in enumerate(entries):
            body, shift = Sum({}, entry.linear), entry.constant
            self.found.add_row(Row(f"{name}[{k}]", body, low - shift, high - shift))

    def _add_matrix(self, name: str, entries: list[Sum]) -> None:
        """MOSEK has the lower triangle column by column, off-diagonal entries times sqrt(2)."""
        size = order(len(entries))
        by_column = sorted(lower_pairs(size), key=lambda pair: pair[::-1])
        at = dict(zip(by_column, entries, strict=True))
        scaled = [_scaled(at[i, j], 1.0 if i == j else ROOT2) for i, j in lower_pairs(size)]
        self.found.matrices.append(Matrix(name, scaled))

    def _add_entry(self, into: Sum, matrix: int, i: int, j: int, number: float) -> None:
        into.add(self.starts[matrix] + i * (i + 1) // 2 + j, number * (1.0 if i == j else 2.0))


def _add_triangle(
    into: Sum, found: tuple[int, Iterable[int], Iterable[int], Iterable[float]]
) -> None:
    """Add 1/2 x'Q x for the lower triangle of Q."""
    for i, j, number in zip(*found[1:], strict=True):
        into.add_product(i, j, number * (0.5 if i == j else 1.0))


def _scaled(entry: Sum, divisor: float) -> Sum:
    return Sum({}, {j: v / divisor for j, v in entry.linear.items()}, entry.constant / divisor)


# --- Conic Benchmark Format, versions 1 to 4, without exponential and power cones ----------------
# Entries of a matrix variable PSDVAR become columns, those of one half. Names, which the format
# lacks, stand in comments `# column 3 w[0]` where our export wrote the file.


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

    lifted: names of cones whose entries get columns of their own.
    Raises ValueError: what is no CBF file, or has cones of another kind.
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


# --- Columns that a writer adds to a model: the constant 1, the one above an objective, slacks ---


def without_helper_columns(program: Program, *, conic: bool = True) -> Program:
    """The program without the columns that a writer adds, where there are any.

    conic: whether the format asks for a column above a quadratic objective; others hold the
        objective.
    """
    gone = {j for j in range(len(program.names)) if _is_put_away(program, j, conic)}
    return _without(program, gone) if gone else program


def _is_put_away(program: Program, column: int, conic: bool) -> bool:
    name, named = program.names[column], any(program.names)
    fixed = program.lower[column] == program.upper[column] == 1.0 and not program.integer[column]
    if fixed and (name == ONE or (name in ("", "1.0") and named)):
        _replace_by_one(program, column)
        return True
    if conic and name.startswith(EPIGRAPH):
        return _put_below(program, column)
    return not name and named and _put_between(program, column)


def _sums(program: Program) -> Iterable[Sum]:
    yield program.objective
    yield from (row.body for row in program.rows)
    yield from (sign.body for _, sign in program.signs)
    yield from (entry for matrix in program.matrices for entry in matrix.entries)


def _replace_by_one(program: Program, column: int) -> None:
    for each in _sums(program):
        each.constant += each.linear.pop(column, 0.0)
        for i, j in [pair for pair in each.products if column in pair]:
            number = each.products.pop((i, j))
            if i == j:
                each.constant += number
            else:
                each.add(j if i == column else i, number)
    rows, program.rows = program.rows, []
    for row in (*rows, *(sign for _, sign in program.signs)):
        low, high = (_less(side, row.body.constant) for side in (row.lower, row.upper))
        if low is not None and high is not None:  # else the constant stays where it is
            row.lower, row.upper, row.body.constant = low, high, 0.0
    for row in rows:
        program.add_row(row)


def _less(side: float, constant: float) -> float | None:
    """The side without a constant, where that is a double."""
    found = side - constant
    if not math.isfinite(found):
        return found
    return found if Fraction(found) == Fraction(side) - Fraction(constant) else None


def _put_below(program: Program, column: int) -> bool:
    """Whether a column that bounds a convex function could be replaced by it."""
    at = [row for row in program.rows if column in row.body.columns()]
    price = program.objective.linear.get(column, 0.0) * (-1 if program.maximise else 1)
    signs = [sign for row, sign in program.signs if column in sign.body.linear and row not in at]
    inside = bool(signs) or any(
        column in entry.linear for matrix in program.matrices for entry in matrix.entries
    )
    held = math.isfinite(program.lower[column]) or math.isfinite(program.upper[column])
    if len(at) != 1 or price <= 0 or inside or held or program.integer[column]:
        return False
    (row,) = at
    share = row.body.linear.get(column, 0.0)
    quadratic = any(column in pair for pair in row.body.products)
    if quadratic or share >= 0 or row.lower > -math.inf or row.upper == math.inf:
        return False
    # body - share t <= upper with a negative share: t >= (body - upper) / -share
    factor = program.objective.linear.pop(column) / -share
    for pair, number in row.body.products.items():
        program.objective.add_product(*pair, factor * number)
    for j, number in row.body.linear.items():
        if j != column:
            program.objective.add(j, factor * number)
    program.objective.constant += factor * (row.body.constant - row.upper)
    program.rows = [other for other in program.rows if other is not row]
    # The column is in the first entry a of its cone, and a^2 - b^2 = (a - b)(a + b) has it without
    # a square: a - b is a positive number, and the row itself keeps a + b, so a, from below 0.
    program.signs = [pair for pair in program.signs if pair[0] is not row]
    return True


def _put_between(program: Program, column: int) -> bool:
    """Whether a slack of an equation could be replaced by sides of it."""
    at = [row for row in program.rows if column in row.body.columns()]
    elsewhere = sum(column in each.columns() for each in _sums(program)) - len(at)
    if elsewhere or len(at) != 1 or program.integer[column]:
        return False
    (row,) = at
    if row.lower != row.upper or any(column in pair for pair in row.body.products):
        return False
    share = row.body.linear[column]
    ends = [float(share * end) for end in (program.lower[column], program.upper[column])]
    low, high = _less(row.lower, max(ends)), _less(row.upper, min(ends))
    exact = all(
        math.isinf(end) or Fraction(share) * Fraction(float(end)) == Fraction(moved)
        for end, moved in zip((program.lower[column], program.upper[column]), ends, strict=True)
    )
    if low is None or high is None or not exact:
        return False
    del row.body.linear[column]
    row.lower, row.upper = low, high
    program.rows = [other for other in program.rows if other is not row]
    program.add_row(row)
    return True


def _without(program: Program, gone: set[int]) -> Program:
    kept = [j for j in range(len(program.names)) if j not in gone]
    place = {j: k for k, j in enumerate(kept)}
    return Program(
        [program.names[j] for j in kept],
        program.lower[kept],
        program.upper[kept],
        program.integer[kept],
        _moved(program.objective, place),
        program.maximise,
        [_row_moved(row, place) for row in program.rows],
        [Matrix(m.name, [_moved(entry, place) for entry in m.entries]) for m in program.matrices],
        [(row, _row_moved(sign, place)) for row, sign in program.signs],
        program.lifted,
        program.has_bounds,
    )


def _row_moved(row: Row, place: Mapping[int, int]) -> Row:
    return replace(row, body=_moved(row.body, place))


def _moved(each: Sum, place: Mapping[int, int]) -> Sum:
    return Sum(
        {(place[i], place[j]): v for (i, j), v in each.products.items()},
        {place[j]: v for j, v in each.linear.items()},
        each.constant,
    )


# --- MPS files in free format, read number by number; see `lp_format` for why not through a solver
# NAME, OBJSENSE, ROWS, COLUMNS (with markers of integers), RHS, RANGES, BOUNDS, QUADOBJ (one
# triangle) and QMATRIX (both) of 1/2 x'Q x, QCMATRIX (both) of x'Q x in a row
# Second sets of RHS, RANGES and BOUNDS, and entries and bounds that come twice, are read
# differently by solvers (the first, the last, their sum): they are refused by name.


_SECTIONS = (
    "NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "QUADOBJ", "QMATRIX",
    "QCMATRIX", "ENDATA",
)  # fmt: skip
_MPS_PLACE = "the MPS file"
# Of each kind of bound the ends that it states; None is the number beside it.
_BOUNDS: dict[str, dict[str, float | None]] = {
    "UP": {"upper": None}, "UI": {"upper": None}, "LO": {"lower": None}, "LI": {"lower": None},
    "FX": {"lower": None, "upper": None}, "FR": {"lower": -math.inf, "upper": math.inf},
    "MI": {"lower": -math.inf}, "PL": {"upper": math.inf}, "BV": {"lower": 0.0, "upper": 1.0},
}  # fmt: skip
_SENSES = {
    f"{word}{end}": word == "MAX"
    for word in ("MIN", "MAX")
    for end in ("", "IMIZE", "IMISE", "IMUM")
}


def read_mps(text: str) -> Program:
    """Read the text of an MPS file.

    Raises ValueError: what is no MPS file in free format, or is read differently by different
        solvers.
    """
    reader = _MpsReader()
    for section, heading, words in _lines(text):
        reader.take(section, heading, words)
    return reader.program()


def _lines(text: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Section, the words beside its name, and the words of a line; none for the heading itself."""
    section, heading = "", [""]
    for line in text.splitlines():
        if not line.strip() or line.startswith("*"):
            continue
        words = line.split()
        if not line[0].isspace():
            section, heading = words[0].upper(), words[1:]
            if section not in _SECTIONS:
                raise ValueError(f"the section {words[0]!r} of an MPS file is not read here")
            if section == "ENDATA":
                return
            if heading and section not in ("NAME", "OBJSENSE", "QCMATRIX"):
                raise ValueError(f"{_MPS_PLACE} has {' '.join(heading)!r} beside {section}")
            yield section, heading, []
        elif not section:
            raise ValueError("an MPS file begins with NAME or ROWS")
        else:
            yield section, heading, words
    raise ValueError("the MPS file has no ENDATA: a part of it is missing")


class _MpsReader:
    def __init__(self) -> None:
        self.sense = ""
        self.goal = ""
        self.kinds: dict[str, str] = {}
        self.sums: dict[str, Sum] = {}
        self.sets: dict[str, str] = {}
        self.sides: dict[str, str] = {}
        self.ranges: dict[str, str] = {}
        self.columns: dict[str, int] = {}
        self.integer: dict[int, bool] = {}
        self.bounds: dict[tuple[int, str], tuple[str, float]] = {}
        self.matrices: dict[tuple[str, int, int], float] = {}
        self.in_integers = False

    def take(self, section: str, heading: list[str], words: list[str]) -> None:
        """Take in one line."""
        if section == "NAME":
            return
        if section == "OBJSENSE":
            self._sense(words or heading)
        elif words:
            steps: dict[str, Callable[[], None]] = {
                "ROWS": lambda: self._row(words),
                "COLUMNS": lambda: self._column(words),
                "RHS": lambda: self._numbers(section, words, self.sides),
                "RANGES": lambda: self._numbers(section, words, self.ranges),
                "BOUNDS": lambda: self._bound(words),
                "QUADOBJ": lambda: self._entry("", words, both=False),
                "QMATRIX": lambda: self._entry("", words, both=True),
                "QCMATRIX": lambda: self._entry(" ".join(heading), words, both=True),
            }
            steps[section]()

    def _sense(self, words: list[str]) -> None:
        if not words:
            return
        if self.sense or len(words) > 1 or words[0].upper() not in _SENSES:
            raise ValueError(
                f"OBJSENSE of the MPS file is MIN or MAX, once, and reads {' '.join(words)!r}"
            )
        self.sense = words[0].upper()

    def _set(self, section: str, name: str) -> None:
        """Refuse a second set of right-hand sides, ranges or bounds."""
        first = self.sets.setdefault(section, name)
        if name != first:
            names = " and ".join(each or "one without a name" for each in (first, name))
            raise ValueError(
                f"{_MPS_PLACE} has two sets of {section}, {names}, which solvers merge or of "
                "which they take the first: leave one of them"
            )

    def _row(self, words: list[str]) -> None:
        if len(words) != 2 or words[0].upper() not in ("N", "L", "G", "E"):
            raise ValueError(f"a row of an MPS file reads {' '.join(words)!r}")
        kind, name = words[0].upper(), words[1]
        if name in self.kinds:
            raise ValueError(f"row {name} of the MPS file comes twice")
        if kind == "N" and not self.goal:
            self.goal = name
        self.kinds[name], self.sums[name] = kind, Sum()

    def _column(self, words: list[str]) -> None:
        if len(words) == 3 and words[1].strip("'") == "MARKER":
            kind = words[2].strip("'")
            if kind not in ("INTORG", "INTEND"):
                raise ValueError(f"the marker {kind} of an MPS file is not read here")
            self.in_integers = kind == "INTORG"
            return
        name = words[0]
        column = self.columns.setdefault(name, len(self.columns))
        if self.integer.setdefault(column, self.in_integers) != self.in_integers:
            raise ValueError(f"column {name} of the MPS file is inside of INTORG and outside of it")
        for row, word in _pairs(words[1:]):
            linear = self._sum(row).linear
            if column in linear:
                raise ValueError(
                    f"column {name} of the MPS file has two entries in row {row}, of which solvers "
                    "take the last or the sum: leave one"
                )
            linear[column] = read_number(word, _MPS_PLACE)

    def _sum(self, name: str) -> Sum:
        if name not in self.sums:
            raise ValueError(f"the MPS file has no row {name!r}: names with spaces are not read")
        return self.sums[name]

    def _numbers(self, section: str, words: list[str], into: dict[str, str]) -> None:
        self._set(section, words[0] if len(words) % 2 else "")
        for name, word in _pairs(words[len(words) % 2 :]):
            self._sum(name)
            read_number(word, _MPS_PLACE)
            if name in into:
                raise ValueError(f"{section} of the MPS file has row {name} twice: leave one")
            into[name] = word

    def _at(self, name: str) -> int:
        if name not in self.columns:
            raise ValueError(f"the MPS file has no column {name!r}")
        return self.columns[name]

    def _bound(self, words: list[str]) -> None:
        kind = words[0].upper()
        if kind not in _BOUNDS:
            raise ValueError(f"bounds of the kind {words[0]!r} in MPS files are not read here")
        numbered = None in _BOUNDS[kind].values()
        least, rest = 2 if numbered else 1, words[1:]
        # The name of the set may be missing. Writers add a number to bounds that need none.
        if not least <= len(rest) <= 3:
            raise ValueError(f"a bound of the MPS file reads {' '.join(words)!r}")
        named = len(rest) > least
        self._set("BOUNDS", rest[0] if named else "")
        name, *numbers = rest[1:] if named else rest
        column = self._at(name)
        stated = read_number(numbers[0], _MPS_PLACE) if numbers else 0.0
        if kind in ("LI", "UI", "BV"):
            self.integer[column] = True
        for end, fixed in _BOUNDS[kind].items():
            bound = far_is_infinite(stated) if fixed is None else fixed
            if self.bounds.setdefault((column, end), (kind, bound)) != (kind, bound):
                raise ValueError(
                    f"the {end} bound of {name} in the MPS file comes twice, and solvers take the "
                    "first or the last: leave one"
                )

    def _entry(self, row: str, words: list[str], *, both: bool) -> None:
        """An entry of a matrix: of the objective, where no row is named."""
        if len(words) != 3:
            raise ValueError(f"an entry of a matrix in the MPS file reads {' '.join(words)!r}")
        i, j, value = self._at(words[0]), self._at(words[1]), read_number(words[2], _MPS_PLACE)
        if row and self.kinds.get(row, "N") == "N":
            raise ValueError(f"the MPS file has QCMATRIX {row}, which is no row with a side")
        if (row, i, j) in self.matrices or (not both and (row, j, i) in self.matrices):
            raise ValueError(
                f"a matrix of the MPS file has the entry {words[0]}, {words[1]} twice: leave one"
            )
        self.matrices[row, i, j] = value
        if not both and i != j:
            self.matrices[row, j, i] = value

    def _add_products(self) -> None:
        """Of 1/2 x'Q x in the objective, of x'Q x in rows."""
        names = list(self.columns)
        for (row, i, j), value in self.matrices.items():
            if self.matrices.get((row, j, i)) != value:
                raise ValueError(
                    f"a matrix of the MPS file has {value:g} for {names[i]}, {names[j]}, and not "
                    f"for {names[j]}, {names[i]}: both triangles are stated alike"
                )
            if i <= j:
                factor = (1.0 if i == j else 2.0) * (1.0 if row else 0.5)
                self.sums[row or self.goal].products[i, j] = factor * value

    def program(self) -> Program:
        """All of it."""
        if not self.goal:
            raise ValueError("the MPS file has no row of kind N for the objective")
        program = Program.free(self.columns)
        program.has_bounds = True
        program.lower[:] = 0.0
        for column, name in enumerate(self.columns):
            low, high = (self.bounds.get((column, end)) for end in ("lower", "upper"))
            program.integer[column] = self.integer[column]
            self._refuse_two_readings(column, name, low, high)
            program.lower[column] = 0.0 if low is None else low[1]
            program.upper[column] = math.inf if high is None else high[1]
        program.maximise = _SENSES.get(self.sense, False)
        self._add_products()
        program.objective = self.sums[self.goal]
        program.objective.constant = 0.0 - read_number(self.sides.get(self.goal, "0"), _MPS_PLACE)
        for name, kind in self.kinds.items():
            if kind != "N":
                program.add_row(Row(name, self.sums[name], *self._ends(name, kind)))
        return program

    def _refuse_two_readings(
        self, column: int, name: str, low: tuple[str, float] | None, high: tuple[str, float] | None
    ) -> None:
        if low is None and high is not None and high[1] < 0:
            raise ValueError(
                f"{name} has an upper bound below 0 and no lower bound, which solvers read as 0 "
                "or as none: state it"
            )
        if self.integer[column] and low is None and high is None:
            raise ValueError(
                f"{name} is an integer without bounds, which solvers read as at most 1 or as free "
                "above: state its bounds"
            )

    def _ends(self, name: str, kind: str) -> tuple[float, float]:
        """Sides of a row; a range is added to what is written, not to its double."""
        side, width = self.sides.get(name, "0"), self.ranges.get(name)
        own = far_is_infinite(read_number(side, _MPS_PLACE), INFINITE)
        if width is None:
            return (-math.inf if kind == "L" else own, math.inf if kind == "G" else own)
        size = read_number(width, _MPS_PLACE)
        down = kind == "L" or (kind == "E" and size < 0)
        far = math.copysign(math.inf, -1 if down else 1)
        if abs(size) < INFINITE and math.isfinite(own):
            away = width if (size < 0) == down else negated(width)
            far = read_sum([side, away], _MPS_PLACE)
        return (far, own) if down else (own, far)


def _pairs(words: list[str]) -> list[tuple[str, str]]:
    if len(words) not in (2, 4):
        raise ValueError(f"a line of the MPS file ends in {' '.join(words)!r}")
    return list(pairwise(words))[::2]


# --- A Pyomo model of what a file says, with indexed components where names have indices ---------
# w[0], w(0)       m.w[0] W[0,1], W(0_1)   m.W[0, 1]         Pyomo's LP and MPS files have the
# second spelling c_l_margin(3)_   m.margin[3]       of a row a.b, 2nd         m.a_b,
# m.column["2nd"]


Place = tuple[str, Any]  # component, and index or None

_INDEXED = re.compile(r"(.*[^\[\]()])(?:\[([^\[\]]*)\]|\(([^()]*)\))$")
_ROW = re.compile(r"[cr]_[leu]_(.*)_$")
_ODD = re.compile(r"\W+")


def program_model(program: Program, name: str) -> tuple[pyo.ConcreteModel, list[Any]]:
    """The model, its parts named as in the file as far as Pyomo can, and its rows in order."""
    model = pyo.ConcreteModel(name)
    taken = set(dir(model)) | {"objective"}
    variables = _variables(model, program, taken)
    rows = [_ROW.sub(r"\1", row.name) for row in program.rows]
    places = list(_component_places(rows, "row", taken))
    for component in dict.fromkeys(component for component, _ in places):
        keys = [key for other, key in places if other == component]
        if keys != [None]:
            model.add_component(component, pyo.Constraint(pyo.Any))
    constraints: list[Any] = []
    for row, (component, key) in zip(program.rows, places, strict=True):
        if not row.body.linear and not row.body.products:
            expression: Any = _never(variables, row.name)
        else:
            body = _expression(row.body, variables)
            if row.lower == row.upper:
                expression = body == row.upper
            else:
                expression = pyo.inequality(_end(row.lower), body, _end(row.upper))
        if row.lower == -math.inf and row.upper == math.inf:
            expression = pyo.Constraint.Feasible
        if key is None:
            model.add_component(component, pyo.Constraint(expr=expression))
        else:
            model.component(component)[key] = expression
        found = model.component(component)
        constraints.append(found if key is None else found[key])
    for matrix in program.matrices:
        component = _free(_ODD.sub("_", matrix.name).strip("_"), taken)
        taken.add(f"{component}_smallest_eigenvalue")
        entries = iter([_expression(entry, variables) for entry in matrix.entries])
        size = math.isqrt(2 * len(matrix.entries))
        psd(model, component, [[next(entries) for _ in range(i + 1)] for i in range(size)])
    model.objective = pyo.Objective(
        expr=_expression(program.objective, variables),
        sense=pyo.maximize if program.maximise else pyo.minimize,
    )
    return model, constraints


def _never(variables: list[Any], name: str) -> Any:
    """0 >= 1, which Pyomo states with a variable alone."""
    if not variables:
        raise ValueError(f"row {name} of a file without variables can never hold")
    return LinearExpression(linear_coefs=[0.0], linear_vars=variables[:1]) >= 1


def _variables(model: pyo.ConcreteModel, program: Program, taken: set[str]) -> list[Any]:
    places = list(_component_places(program.names, "column", taken))
    keys: dict[str, list[Any]] = {}
    for component, key in places:
        keys.setdefault(component, []).append(key)
    for component, found in keys.items():
        model.add_component(component, pyo.Var() if found == [None] else pyo.Var(found))
    variables = [
        model.component(component) if key is None else model.component(component)[key]
        for component, key in places
    ]
    for variable, low, high, integer in zip(
        variables, program.lower, program.upper, program.integer, strict=True
    ):
        variable.setlb(_end(low))
        variable.setub(_end(high))
        if integer:
            variable.domain = pyo.Binary if (low, high) == (0.0, 1.0) else pyo.Integers
    return variables


def _end(side: float) -> float | None:
    return float(side) if math.isfinite(side) else None


def _expression(body: Sum, variables: list[Any]) -> Any:
    linear = LinearExpression(
        constant=body.constant,
        linear_coefs=list(body.linear.values()),
        linear_vars=[variables[j] for j in body.linear],
    )
    products = (v * variables[i] * variables[j] for (i, j), v in body.products.items())
    return linear + sum(products) if body.products else linear


# --- names ----------------------------------------------------------------------------------------


def _component_places(names: list[str], other: str, taken: set[str]) -> Iterator[Place]:
    """Where each name goes; into the component `other` where it can have none of its own."""
    parsed = [_parsed(name) for name in names]
    found: dict[str, list[Any]] = {}
    for place in parsed:
        if place is not None:
            found.setdefault(place[0], []).append(place[1])
    clear = {component for component, keys in found.items() if _are_one_index(keys)}
    called = {component: _free(component, taken) for component in found if component in clear}
    rest = _free(other, taken)
    used: set[str] = set()
    for k, (name, place) in enumerate(zip(names, parsed, strict=True)):
        if place is not None and place[0] in called:
            yield called[place[0]], place[1]
        else:
            key = k if not name or name in used else name
            used.add(name)
            yield rest, key


def _parsed(name: str) -> Place | None:
    """Component and index of a name; None for one that Pyomo cannot have."""
    match = _INDEXED.match(name)
    stem, key = (match.group(1), match.group(2) or match.group(3)) if match else (name, None)
    stem = _ODD.sub("_", stem).strip("_")
    if not stem.isidentifier() or keyword.iskeyword(stem):
        return None
    if key is None:
        return stem, None
    parts = re.split(r"," if match is not None and match.group(2) else r"[_,]", key)
    if all(re.fullmatch(r"-?\d+", part) for part in parts):
        numbers = tuple(map(int, parts))
        return stem, numbers if len(numbers) > 1 else numbers[0]
    return stem, key


def _are_one_index(keys: list[Any]) -> bool:
    """Whether keys are those of one component: all different and of one kind, or none at all."""
    if None in keys:
        return keys == [None]
    kinds = {len(key) if isinstance(key, tuple) else type(key) for key in keys}
    return len(kinds) == 1 and len(set(keys)) == len(keys)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


_LINEAR: dict[str, Callable[[str], Program]] = {".lp": read_lp, ".mps": read_mps}
_CONIC: dict[str, Callable[[str, frozenset[str]], Program]] = {
    ".cbf": read_cbf, SUFFIX: read_sdpa,
}  # fmt: skip
READ = (*_LINEAR, *_CONIC, *FORMATS)


def read_model(file: str | Path) -> pyo.ConcreteModel:
    """Read an lp, mps, cbf, dat-s, task, jtask or ptf file into a Pyomo model.

    Every number is the double nearest to what is written, a sum of several (a side less a constant
    left of the row, a side and its range) as well. Sides of rows from 1e30 on are none, and bounds
    from 1e20 on in lp and mps files. What solvers read differently is refused: in mps files second
    sets of RHS, RANGES or BOUNDS, entries and bounds that come twice; in lp files `x free` after an
    upper bound, bounds of binaries beyond 0 and 1 that come after them. Second-order cones become
    quadratic rows, of columns of their own (`..._entry`) where nothing else shows the cone,
    semidefinite ones `tm.psd` rows, rows of one variable bounds where the format has no others, and
    the column above a quadratic objective that conic formats need becomes the objective again.

    Parameters
    ----------
    file : str or path
        Its suffix is the format. MOSEK reads task, jtask and ptf files and needs no licence.

    Returns
    -------
    ConcreteModel
        Foreign, without origin. `w[0]` and `w(0)` are `model.w[0]`; formats without names give
        `model.column[0]` and so on, unless our export left the names in comments.

    Raises
    ------
    ValueError
        Another suffix, or a part of the file that is not read; nothing is passed over.
    FileNotFoundError
        There is no such file.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> model = tm.conic_sdp(data, penalty=1.0)
    >>> bool(tm.same_model(model, tm.read_model(tm.export(model, "conic_sdp.cbf"))))
    True
    """
    path = Path(file)
    suffix = path.suffix.lower()
    if suffix not in READ:
        raise ValueError(f"the file must end in {', '.join(READ)}; got {str(file)!r}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    lifted: frozenset[str] = frozenset()
    while True:
        program = _program(path, suffix, lifted)
        program.refuse_odd_numbers()
        program = without_helper_columns(program, conic=suffix not in _LINEAR)
        program.state_signs()
        model, rows = program_model(program, path.stem)
        bent = _bent_cones(model, program, rows)
        if bent <= lifted:
            return model
        lifted |= bent


def _program(path: Path, suffix: str, lifted: frozenset[str]) -> Program:
    if suffix in FORMATS:
        return read_mosek(path, lifted)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is no text in UTF-8: {error.reason}") from error
    return _LINEAR[suffix](text) if suffix in _LINEAR else _CONIC[suffix](text, lifted)


def _bent_cones(model: pyo.ConcreteModel, program: Program, rows: list[Any]) -> frozenset[str]:
    """Cones whose quadratic rows are not seen to be convex."""
    if not any(row.is_cone for row in program.rows):
        return frozenset()
    form = standard_form(model)
    readings = zip(form.quadratic, read_rows(form), strict=True)
    bent = {id(row.data) for row, reading in readings if reading.shape is not Shape.CONVEX}
    return frozenset(
        row.name
        for row, constraint in zip(program.rows, rows, strict=True)
        if row.is_cone and id(constraint) in bent
    )
