"""MPS files in free format, read number by number; see `lp_format` for why not through a solver.

NAME, OBJSENSE, ROWS, COLUMNS (with markers of integers), RHS, RANGES, BOUNDS,
QUADOBJ (one triangle) and QMATRIX (both) of 1/2 x'Q x, QCMATRIX (both) of x'Q x in a row
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

from tightmargin.solvers.files.program import Program, Row, Sum, far_is_infinite

_SECTIONS = (
    "NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "QUADOBJ", "QMATRIX",
    "QCMATRIX", "ENDATA",
)  # fmt: skip
_BOUNDS = ("UP", "LO", "FX", "FR", "MI", "PL", "BV", "LI", "UI")


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
            yield section, heading, []
        elif not section:
            raise ValueError("an MPS file begins with NAME or ROWS")
        else:
            yield section, heading, words
    raise ValueError("the MPS file has no ENDATA: a part of it is missing")


class _Reader:
    def __init__(self) -> None:
        self.maximise = False
        self.goal = ""
        self.kinds: dict[str, str] = {}
        self.sums: dict[str, Sum] = {}
        self.sides: dict[str, float] = {}
        self.ranges: dict[str, float] = {}
        self.columns: dict[str, int] = {}
        self.integer: set[int] = set()
        self.lower: dict[int, float] = {}
        self.upper: dict[int, float] = {}
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
                "RHS": lambda: self._numbers(words, self.sides),
                "RANGES": lambda: self._numbers(words, self.ranges),
                "BOUNDS": lambda: self._bound(words),
                "QUADOBJ": lambda: self._product(self.goal, words, 0.5, both=False),
                "QMATRIX": lambda: self._product(self.goal, words, 0.5, both=True),
                "QCMATRIX": lambda: self._product(" ".join(heading), words, 1.0, both=True),
            }
            steps[section]()

    def _sense(self, words: list[str]) -> None:
        if words:
            self.maximise = words[0].upper().startswith("MAX")

    def _row(self, words: list[str]) -> None:
        if len(words) != 2 or words[0].upper() not in "NLGE":
            raise ValueError(f"a row of an MPS file reads {' '.join(words)!r}")
        kind, name = words[0].upper(), words[1]
        if name in self.kinds:
            raise ValueError(f"row {name} of the MPS file comes twice")
        if kind == "N" and not self.goal:
            self.goal = name
        self.kinds[name], self.sums[name] = kind, Sum()

    def _column(self, words: list[str]) -> None:
        if len(words) == 3 and words[1].strip("'") == "MARKER":
            self.in_integers = words[2].strip("'") == "INTORG"
            return
        column = self.columns.setdefault(words[0], len(self.columns))
        if self.in_integers:
            self.integer.add(column)
        for name, number in _pairs(words[1:]):
            self._sum(name).add(column, number)

    def _sum(self, name: str) -> Sum:
        if name not in self.sums:
            raise ValueError(f"the MPS file has no row {name!r}: names with spaces are not read")
        return self.sums[name]

    def _numbers(self, words: list[str], into: dict[str, float]) -> None:
        for name, number in _pairs(words[len(words) % 2 :]):
            self._sum(name)
            into[name] = number

    def _at(self, name: str) -> int:
        if name not in self.columns:
            raise ValueError(f"the MPS file has no column {name!r}")
        return self.columns[name]

    def _bound(self, words: list[str]) -> None:
        kind = words[0].upper()
        if kind not in _BOUNDS:
            raise ValueError(f"bounds of the kind {words[0]!r} in MPS files are not read here")
        without = kind in ("FR", "MI", "PL", "BV")
        rest = words[1:]
        if len(rest) == (2 if without else 3):
            rest = rest[1:]  # the name of the set of bounds, which may be missing
        if len(rest) < (1 if without else 2):
            raise ValueError(f"a bound of the MPS file reads {' '.join(words)!r}")
        column = self._at(rest[0])
        number = 0.0 if without else far_is_infinite(_number(rest[1]))
        if kind in ("LI", "UI", "BV"):
            self.integer.add(column)
        if kind in ("LO", "LI", "FX"):
            self.lower[column] = number
        if kind in ("UP", "UI", "FX"):
            self.upper[column] = number
        if kind in ("FR", "MI"):
            self.lower[column] = -math.inf
        if kind in ("FR", "PL"):
            self.upper[column] = math.inf
        if kind == "BV":
            self.lower[column], self.upper[column] = 0.0, 1.0

    def _product(self, row: str, words: list[str], factor: float, *, both: bool) -> None:
        if len(words) != 3:
            raise ValueError(f"an entry of a matrix in the MPS file reads {' '.join(words)!r}")
        i, j, number = self._at(words[0]), self._at(words[1]), _number(words[2])
        twice = 2.0 if i != j and not both else 1.0
        self._sum(row).add_product(i, j, factor * twice * number)

    def program(self) -> Program:
        """All of it."""
        if not self.goal:
            raise ValueError("the MPS file has no row of kind N for the objective")
        program = Program.free(self.columns)
        program.has_bounds = True
        program.lower[:] = 0.0
        for column, name in enumerate(self.columns):
            low, high = self.lower.get(column), self.upper.get(column)
            self._refuse_two_readings(column, name, low, high)
            program.lower[column] = 0.0 if low is None else low
            program.upper[column] = math.inf if high is None else high
            program.integer[column] = column in self.integer
        program.maximise = self.maximise
        program.objective = self.sums[self.goal]
        program.objective.constant -= self.sides.get(self.goal, 0.0)
        for name, kind in self.kinds.items():
            if kind != "N":
                program.add_row(Row(name, self.sums[name], *self._ends(name, kind)))
        return program

    def _refuse_two_readings(
        self, column: int, name: str, low: float | None, high: float | None
    ) -> None:
        if low is None and high is not None and high < 0:
            raise ValueError(
                f"{name} has an upper bound below 0 and no lower bound, which solvers read as 0 "
                "or as none: state it"
            )
        if column in self.integer and low is None and high is None:
            raise ValueError(
                f"{name} is an integer without bounds, which solvers read as at most 1 or as free "
                "above: state its bounds"
            )

    def _ends(self, name: str, kind: str) -> tuple[float, float]:
        side = self.sides.get(name, 0.0)
        width = self.ranges.get(name)
        if kind == "E":
            return (side, side) if width is None else (side + min(width, 0), side + max(width, 0))
        size = math.inf if width is None else abs(width)
        return (side, side + size) if kind == "G" else (side - size, side)


def _pairs(words: list[str]) -> list[tuple[str, float]]:
    if len(words) not in (2, 4):
        raise ValueError(f"a line of the MPS file ends in {' '.join(words)!r}")
    found = list(pairwise(words))[::2]
    return [(name, _number(number)) for name, number in found]


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"the MPS file has {word!r} where a number belongs") from None
