r"""LP files, number by number.

Solvers that read them drop small coefficients and far bounds without a word, and few take
quadratic rows; here every number is the nearest double, and what is not understood is refused.

    \ a comment
    minimize  obj: 2 x + [ x^2 + 2 x * y ] / 2
    subject to  c1: x + y >= 1    c2: -1 <= x - y <= 2    q: x + [ x^2 ] <= 3
    bounds  x free   y <= 4       (the lower bound is 0 otherwise)
    generals  y   binaries  z   end
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from tightmargin.solvers.files.program import Program, Row, Sum, far_is_infinite

_SECTION = re.compile(
    r"(maximi[sz]e|maximum|max|minimi[sz]e|minimum|min|subject\s+to|such\s+that|s\.t\.|st\.?|"
    r"bounds?|generals?|gen|integers?|int|binary|binaries|bin|end|"
    r"semi-continuous|semis?|sos\d?|user\s+cuts|lazy\s+constraints|general\s+constraints)(?=\s|$)",
    re.IGNORECASE,
)
_KNOWN = (
    (("max",), "max"), (("min",), "min"), (("su", "s.t", "st"), "rows"), (("bou",), "bounds"),
    (("int",), "integers"), (("bin",), "binaries"), (("end",), "end"),
)  # fmt: skip
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<sense><=|>=|=<|=>|<|>|=)|(?P<sign>[-+*^:\[\]/])"
    r"|(?P<name>[^\s\d.\-+*^:<>=\[\]/][^\s\-+*^:<>=\[\]/]*))"
)
_INFINITE = ("inf", "infinity")


def read_lp(text: str) -> Program:
    """Read the text of an LP file.

    Raises
    ------
    ValueError
        What is no LP file, or has a section that no model here has a place for.
    """
    parts = _sections(text)
    reader = _Reader()
    maximise = "max" in parts
    objective = _Tokens(parts.get("max", parts.get("min", "")))
    objective.skip_label()
    goal = reader.sum_of(objective, half=True)
    objective.expect_end("the objective")
    rows = list(reader.rows(_Tokens(parts.get("rows", ""))))
    bounds = list(reader.bounds(_Tokens(parts.get("bounds", ""))))
    whole = {kind: parts.get(kind, "").split() for kind in ("integers", "binaries")}
    for name in (*whole["integers"], *whole["binaries"]):
        reader.column(name)
    program = Program.free(reader.columns)
    program.has_bounds = True
    program.objective, program.maximise = goal, maximise
    program.lower[:] = 0.0
    for column, low, high in bounds:
        if low is not None:
            program.lower[column] = far_is_infinite(low)
        if high is not None:
            program.upper[column] = far_is_infinite(high)
    for name in whole["binaries"]:
        program.lower[reader.columns[name]] = 0.0
        program.upper[reader.columns[name]] = 1.0
    for name in (*whole["integers"], *whole["binaries"]):
        program.integer[reader.columns[name]] = True
    stated = {column for column, low, _ in bounds if low is not None}
    for column, name in enumerate(reader.columns):
        if program.upper[column] < 0 and column not in stated:
            raise ValueError(
                f"{name} has an upper bound below 0 and no lower bound, which solvers read as 0 "
                "or as none: state it"
            )
    for row in rows:
        program.add_row(row)
    return program


def _sections(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    kind = ""
    for line in text.splitlines():
        words = line.partition("\\")[0].strip()
        if kind == "end" or not words:
            continue
        match = _SECTION.match(words)
        if match:
            kind, words = _kind(match.group(1).lower()), words[match.end() :]
        elif not kind:
            raise ValueError(f"an LP file begins with minimize or maximize, not with {words!r}")
        found[kind] = f"{found.get(kind, '')}\n{words}"
    for kind in found.keys() - {known for _, known in _KNOWN}:
        if found[kind].strip():
            raise ValueError(f"the section {kind!r} of an LP file is not read here")
    if not {"min", "max"} & set(found):
        raise ValueError("the file has no objective: an LP file begins with minimize or maximize")
    return found


def begins_section(name: str) -> bool:
    """Whether a line of this name alone would begin a section: integers have such lines."""
    return _SECTION.fullmatch(name) is not None


def _kind(word: str) -> str:
    if word in ("gen", "general", "generals"):
        return "integers"
    for starts, kind in _KNOWN:
        if word.startswith(starts):
            return kind
    return word  # refused unless it is empty


class _Tokens:
    """Words of a section, one after another."""

    def __init__(self, text: str) -> None:
        self.found: list[tuple[str, str]] = []
        at, text = 0, text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"{text[at : at + 20].strip()!r} is no part of an LP file")
            kind = match.lastgroup or ""
            self.found.append((kind, match.group(kind)))
            at = match.end()
        self.at = 0

    def kind(self, ahead: int = 0) -> str:
        """Kind of a token to come: number, sense, sign, name, or "" at the end."""
        k = self.at + ahead
        return self.found[k][0] if k < len(self.found) else ""

    def word(self, ahead: int = 0) -> str:
        k = self.at + ahead
        return self.found[k][1] if k < len(self.found) else ""

    def take(self) -> str:
        self.at += 1
        return self.found[self.at - 1][1]

    def skip_label(self) -> str:
        """The name before a colon, if there is one."""
        if self.kind() in ("name", "number") and self.word(1) == ":":
            label = self.take()
            self.take()
            return label
        return ""

    def expect(self, word: str) -> None:
        if self.word() != word:
            raise ValueError(f"an LP file has {self.word() or 'its end'!r} where {word!r} belongs")
        self.at += 1

    def expect_end(self, where: str) -> None:
        if self.kind():
            raise ValueError(f"{where} of an LP file has {self.word()!r} in an unknown place")

    def signs(self) -> float:
        """Product of the signs that come next."""
        sign = 1.0
        while self.word() in ("+", "-"):
            sign *= -1.0 if self.take() == "-" else 1.0
        return sign

    def number(self) -> float:
        """A number with its signs, which may be infinite."""
        sign = self.signs()
        if self.kind() == "number" or self.word().lower() in _INFINITE:
            word = self.take()
            return sign * (math.inf if word.lower() in _INFINITE else float(word))
        raise ValueError(f"an LP file has {self.word() or 'its end'!r} where a number belongs")


class _Reader:
    """Sums, rows and bounds over columns that are numbered as they come."""

    def __init__(self) -> None:
        self.columns: dict[str, int] = {}

    def column(self, name: str) -> int:
        return self.columns.setdefault(name, len(self.columns))

    def sum_of(self, tokens: _Tokens, half: bool) -> Sum:
        """A sum of terms; `half` where squares stand in brackets that are halved, in objectives."""
        found, begun = Sum(), False
        while tokens.word() in ("+", "-", "[") or tokens.kind() in ("number", "name"):
            if tokens.kind() == "name" and tokens.word(1) == ":":
                break
            if begun and tokens.word() not in ("+", "-"):
                raise ValueError(f"an LP file has {tokens.word()!r} where a sign belongs")
            begun = True
            sign = tokens.signs()
            if tokens.word() == "[":
                self._brackets(tokens, found, sign, half)
                continue
            stated = tokens.kind() == "number"
            number = float(tokens.take()) if stated else 1.0
            if tokens.kind() == "name" and tokens.word(1) != ":":
                found.add(self.column(tokens.take()), sign * number)
            elif stated:
                found.constant += sign * number
            else:
                raise ValueError(
                    f"an LP file has {tokens.word() or 'its end'!r} where a term belongs"
                )
        return found

    def _brackets(self, tokens: _Tokens, into: Sum, sign: float, half: bool) -> None:
        tokens.expect("[")
        terms: list[tuple[int, int, float]] = []
        while tokens.word() != "]":
            number = tokens.signs()
            if tokens.kind() == "number":
                number *= float(tokens.take())
            if tokens.kind() != "name":
                raise ValueError(f"brackets of an LP file hold products, not {tokens.word()!r}")
            i = j = self.column(tokens.take())
            if tokens.word() == "*":
                tokens.take()
                if tokens.kind() != "name":
                    raise ValueError("brackets of an LP file hold products of two variables")
                j = self.column(tokens.take())
            else:
                tokens.expect("^")
                tokens.expect("2")
            terms.append((i, j, number))
        tokens.expect("]")
        if half:
            tokens.expect("/")
            tokens.expect("2")
        for i, j, number in terms:
            into.add_product(i, j, sign * number / (2.0 if half else 1.0))

    def rows(self, tokens: _Tokens) -> Iterator[Row]:
        while tokens.kind():
            name = tokens.skip_label()
            first = self.sum_of(tokens, half=False)
            sense = self._sense(tokens)
            if first.columns():
                yield self._row(name, first, [(sense, tokens.number())])
                continue
            body = self.sum_of(tokens, half=False)
            sides = [({"<": ">", ">": "<", "=": "="}[sense], first.constant)]
            if tokens.kind() == "sense":
                sides.append((self._sense(tokens), tokens.number()))
            yield self._row(name, body, sides)

    def _sense(self, tokens: _Tokens) -> str:
        if tokens.kind() != "sense":
            raise ValueError(f"an LP file has {tokens.word() or 'its end'!r} where <= belongs")
        word = tokens.take()
        return "<" if "<" in word else ">" if ">" in word else "="

    def _row(self, name: str, body: Sum, sides: list[tuple[str, float]]) -> Row:
        row = Row(name, Sum(body.products, body.linear))
        for sense, side in sides:
            if sense in ">=":
                row.lower = side - body.constant
            if sense in "<=":
                row.upper = side - body.constant
        return row

    def bounds(self, tokens: _Tokens) -> Iterator[tuple[int, float | None, float | None]]:
        """Column, lower and upper bound, None for one that is not stated."""
        while tokens.kind():
            low: float | None = None
            high: float | None = None
            if tokens.kind() != "name" or tokens.word().lower() in _INFINITE:
                side, sense = tokens.number(), self._sense(tokens)
                low, high = _ends({"<": ">", ">": "<", "=": "="}[sense], side, low, high)
            if tokens.kind() != "name":
                raise ValueError(f"bounds of an LP file have {tokens.word()!r} for a variable")
            column = self.column(tokens.take())
            if tokens.word().lower() == "free":
                tokens.take()
                low, high = -math.inf, math.inf
            elif tokens.kind() == "sense":
                sense = self._sense(tokens)
                low, high = _ends(sense, tokens.number(), low, high)
            yield column, low, high


def _ends(
    sense: str, side: float, low: float | None, high: float | None
) -> tuple[float | None, float | None]:
    return (side if sense in ">=" else low, side if sense in "<=" else high)
