"""MPS files in free format, read number by number; see `lp_format` for why not through a solver.

NAME, OBJSENSE, ROWS, COLUMNS (with markers of integers), RHS, RANGES, BOUNDS,
QUADOBJ (one triangle) and QMATRIX (both) of 1/2 x'Q x, QCMATRIX (both) of x'Q x in a row

Second sets of RHS, RANGES and BOUNDS, and entries and bounds that come twice, are read differently
by solvers (the first, the last, their sum): they are refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

from tightmargin.solvers.files.program import (
    INFINITE,
    Program,
    Row,
    Sum,
    far_is_infinite,
    negated,
    read_number,
    read_sum,
)

_SECTIONS = (
    "NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "QUADOBJ", "QMATRIX",
    "QCMATRIX", "ENDATA",
)  # fmt: skip
_HERE = "the MPS file"
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

    Raises
    ------
    ValueError
        What is no MPS file in free format, or is read differently by different solvers.
    """
    reader = _Reader()
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
                raise ValueError(f"{_HERE} has {' '.join(heading)!r} beside {section}")
            yield section, heading, []
        elif not section:
            raise ValueError("an MPS file begins with NAME or ROWS")
        else:
            yield section, heading, words
    raise ValueError("the MPS file has no ENDATA: a part of it is missing")


class _Reader:
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
                f"{_HERE} has two sets of {section}, {names}, which solvers merge or of which they "
                "take the first: leave one of them"
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
            linear[column] = read_number(word, _HERE)

    def _sum(self, name: str) -> Sum:
        if name not in self.sums:
            raise ValueError(f"the MPS file has no row {name!r}: names with spaces are not read")
        return self.sums[name]

    def _numbers(self, section: str, words: list[str], into: dict[str, str]) -> None:
        self._set(section, words[0] if len(words) % 2 else "")
        for name, word in _pairs(words[len(words) % 2 :]):
            self._sum(name)
            read_number(word, _HERE)
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
        stated = read_number(numbers[0], _HERE) if numbers else 0.0
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
        i, j, value = self._at(words[0]), self._at(words[1]), read_number(words[2], _HERE)
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
        program.objective.constant = 0.0 - read_number(self.sides.get(self.goal, "0"), _HERE)
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
        own = far_is_infinite(read_number(side, _HERE), INFINITE)
        if width is None:
            return (-math.inf if kind == "L" else own, math.inf if kind == "G" else own)
        size = read_number(width, _HERE)
        down = kind == "L" or (kind == "E" and size < 0)
        far = math.copysign(math.inf, -1 if down else 1)
        if abs(size) < INFINITE and math.isfinite(own):
            away = width if (size < 0) == down else negated(width)
            far = read_sum([side, away], _HERE)
        return (far, own) if down else (own, far)


def _pairs(words: list[str]) -> list[tuple[str, str]]:
    if len(words) not in (2, 4):
        raise ValueError(f"a line of the MPS file ends in {' '.join(words)!r}")
    return list(pairwise(words))[::2]
