r"""LP files, number by number.

Solvers that read them drop small coefficients and constants left of a row without a word, and few
take quadratic rows; here every number is the double nearest to what is written, a side less the
constant left of it too, and what is not understood, or read differently by solvers, is refused.

    \ a comment
    minimize  obj: 2 x + [ x^2 + 2 x * y ] / 2
    subject to  c1: x + y >= 1    c2: -1 <= x - y <= 2    q: x + [ x^2 ] <= 3
    bounds  x free   y <= 4       (the lower bound is 0 otherwise)
    generals  y   binaries  z   end
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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

_SECTION = re.compile(
    r"(maximi[sz]e|maximum|max|minimi[sz]e|minimum|min|subject\s+to|such\s+that|s\.t\.|st\.?|"
    r"bounds?|general\s+constraints|generals?|gen|integers?|int|binary|binaries|bin|end|"
    r"semi-continuous|semis?|sos\d?|user\s+cuts|lazy\s+constraints)(?=\s|$)",
    re.IGNORECASE,
)
_KNOWN = (
    (("max",), "max"), (("min",), "min"), (("su", "s.t", "st"), "rows"), (("bou",), "bounds"),
    (("int",), "integers"), (("bin",), "binaries"), (("end",), "end"),
)  # fmt: skip
# A number that runs into _ or ends within its exponent is none: 1_000, 2e+.
_NAME = r"(?!!=)[^\s0-9.\-+*^:<>=\[\]/](?:(?!!=)[^\s\-+*^:<>=\[\]/])*"
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)(?!_|[eE][-+]))"
    r"|(?P<sense><=|>=|=<|=>|<|>|=)|(?P<sign>[-+*^:\[\]/])"
    rf"|(?P<name>{_NAME}))"
)
_INFINITE = ("inf", "infinity")
_TURNED = {"<": ">", ">": "<", "=": "="}
_HERE = "an LP file"


def read_lp(text: str) -> Program:
    """Read the text of an LP file.

    Raises ValueError: what is no LP file, or has a section that no model here has a place for.
    """
    parts = _sections(text)
    reader = _Reader()
    maximise = "max" in parts
    objective = _Tokens(parts.get("max", parts.get("min", "")))
    objective.skip_label()
    goal = reader.terms(objective, half=True).sum(half=True)
    objective.expect_end("the objective")
    rows = list(reader.rows(_Tokens(parts.get("rows", ""))))
    lower, upper = reader.bounds(_Tokens(parts.get("bounds", "")))
    late = [kind for kind in parts if kind in ("bounds", "binaries")] == ["binaries", "bounds"]
    integers, binaries = (list(_names(parts.get(kind, ""))) for kind in ("integers", "binaries"))
    for name in (*integers, *binaries):
        reader.column(name)
    program = Program.free(reader.columns)
    program.has_bounds = True
    program.objective, program.maximise = goal, maximise
    program.lower[:] = 0.0
    for column, low in lower.items():
        program.lower[column] = low
    for column, high in upper.items():
        program.upper[column] = high
    for name in binaries:
        column = reader.columns[name]
        if late and not 0 <= lower.get(column, 0.0) <= upper.get(column, 1.0) <= 1:
            raise ValueError(
                f"{name} is binary, and has bounds beyond 0 and 1 that are stated after that, "
                "which solvers read as one or the other: state bounds before binaries"
            )
        program.lower[column] = max(program.lower[column], 0.0)
        program.upper[column] = min(program.upper[column], 1.0)
    for name in (*integers, *binaries):
        program.integer[reader.columns[name]] = True
    for column, name in enumerate(reader.columns):
        if program.upper[column] < 0 and column not in lower:
            raise ValueError(
                f"{name} has an upper bound below 0 and no lower bound, which solvers read as 0 "
                "or as none: state it"
            )
    for row in rows:
        program.add_row(row)
    return program


def _names(text: str) -> Iterator[str]:
    for word in text.split():
        if not re.fullmatch(_NAME, word) or word.lower() in _INFINITE:
            raise ValueError(f"{_HERE} has {word!r} where the name of an integer belongs")
        yield word


def _sections(text: str) -> dict[str, str]:
    lines: dict[str, list[str]] = {}
    kind = ""
    for line in text.splitlines():
        words = line.partition("\\")[0].strip()
        if not words:
            continue
        match = None if kind == "end" else _SECTION.match(words)
        if match:
            kind, words = _kind(match.group(1).lower()), words[match.end() :]
            if kind in ("min", "max") and {"min", "max"} & set(lines):
                raise ValueError(f"{_HERE} has one objective, and this one a second {kind}imise")
        elif not kind:
            raise ValueError(f"an LP file begins with minimize or maximize, not with {words!r}")
        lines.setdefault(kind, []).append(words)
    found = {kind: "\n".join(words) for kind, words in lines.items()}
    for kind in found.keys() - {known for _, known in _KNOWN}:
        if found[kind].strip():
            raise ValueError(f"the section {kind!r} of an LP file is not read here")
    if found.get("end", "").strip():
        raise ValueError(
            f"{_HERE} has {found['end'].split()[0]!r} after its end, which solvers read or pass "
            "over: leave it out"
        )
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


@dataclass
class _Terms:
    """Decimal numbers of each product, of each column, and of the constant, which has no key."""

    found: dict[tuple[int, ...], list[str]] = field(default_factory=dict)

    def add(self, word: str, *columns: int) -> None:
        self.found.setdefault(tuple(sorted(columns)), []).append(word)

    def sum(self, *, half: bool = False) -> Sum:
        """Every number rounded once; products halved as they are in objectives."""
        body = Sum()
        for key, words in self.found.items():
            value = read_sum(words, _HERE)
            if len(key) == 2:
                body.products[key[0], key[1]] = value / (2.0 if half else 1.0)
            elif key:
                body.linear[key[0]] = value
            else:
                body.constant = value
        return body

    def side(self, words: Sequence[str]) -> float:
        """A side, which is a sum, without the constant of this one; a far side is none."""
        if abs(read_sum(words, _HERE)) >= INFINITE:
            return far_is_infinite(read_sum(words, _HERE), INFINITE)
        return read_sum([*words, *map(negated, self.found.get((), ()))], _HERE)


class _Tokens:
    """Words of a section, one after another."""

    def __init__(self, text: str) -> None:
        self.found: list[tuple[str, str]] = []
        self.lines: list[int] = []
        at, line, text = 0, 0, text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                words = text[at:].split()
                raise ValueError(f"{words[0][:20]!r} is no part of an LP file")
            kind = match.lastgroup or ""
            line += text.count("\n", at, match.end())
            self.found.append((kind, match.group(kind)))
            self.lines.append(line)
            at = match.end()
        self.at = 0

    def kind(self, ahead: int = 0) -> str:
        """Kind of a token to come: number, sense, sign, name, or "" at the end."""
        k = self.at + ahead
        return self.found[k][0] if k < len(self.found) else ""

    def word(self, ahead: int = 0) -> str:
        k = self.at + ahead
        return self.found[k][1] if k < len(self.found) else ""

    def next(self) -> str:
        """The word to come, for a refusal."""
        return repr(self.word() or "its end")

    def take(self) -> str:
        self.at += 1
        return self.found[self.at - 1][1]

    def name(self) -> str:
        """The name that comes next."""
        if self.word().lower() in _INFINITE:
            raise ValueError(f"{_HERE} has {self.word()!r}, a number, where a variable belongs")
        return self.take()

    def skip_label(self) -> str:
        """The name before a colon, if there is one."""
        if self.is_label():
            label = self.take()
            self.take()
            return label
        return ""

    def is_label(self) -> bool:
        """Whether a name and a colon come next."""
        return self.kind() in ("name", "number") and self.word(1) == ":"

    def expect(self, word: str) -> None:
        if self.word() != word:
            raise ValueError(f"{_HERE} has {self.next()} where {word!r} belongs")
        self.at += 1

    def expect_end(self, where: str) -> None:
        if self.kind():
            raise ValueError(f"{where} of an LP file has {self.word()!r} in an unknown place")

    def expect_row(self) -> None:
        """Refuse what goes on behind a side as if it were a part of that."""
        same = self.kind() and self.lines[self.at] == self.lines[self.at - 1]
        if same and self.kind() in ("sign", "number") and not self.is_label():
            raise ValueError(
                f"{_HERE} has {self.word()!r} behind the side of a row, which is one number: "
                "begin another row on a line of its own"
            )

    def sense(self) -> str:
        if self.kind() != "sense":
            raise ValueError(f"{_HERE} has {self.next()} where <= belongs")
        word = self.take()
        return "<" if "<" in word else ">" if ">" in word else "="

    def signs(self) -> str:
        """All the signs that come next as a minus or nothing."""
        minuses = 0
        while self.word() in ("+", "-"):
            minuses += self.take() == "-"
        return "-" * (minuses % 2)

    def number(self) -> str:
        """A number with its signs, which may be infinite."""
        sign = self.signs()
        if self.kind() == "number" or self.word().lower() in _INFINITE:
            return sign + self.take()
        raise ValueError(f"{_HERE} has {self.next()} where a number belongs")


class _Reader:
    """Sums, rows and bounds over columns that are numbered as they come."""

    def __init__(self) -> None:
        self.columns: dict[str, int] = {}

    def column(self, name: str) -> int:
        return self.columns.setdefault(name, len(self.columns))

    def terms(self, tokens: _Tokens, half: bool = False) -> _Terms:
        """Terms of a sum; `half` where squares stand in brackets that are halved, in objectives."""
        found, begun = _Terms(), False
        while tokens.word() in ("+", "-", "[") or tokens.kind() in ("number", "name"):
            if tokens.is_label():
                break
            if begun and tokens.word() not in ("+", "-"):
                raise ValueError(f"{_HERE} has {tokens.word()!r} where a sign belongs")
            begun = True
            sign = tokens.signs()
            if tokens.word() == "[":
                self._brackets(tokens, found, sign, half)
                continue
            stated = tokens.kind() == "number"
            word = sign + (tokens.take() if stated else "1")
            if tokens.kind() == "name" and not tokens.is_label():
                found.add(word, self.column(tokens.name()))
            elif stated:
                found.add(word)
            else:
                raise ValueError(f"{_HERE} has {tokens.next()} where a term belongs")
        if not begun and not half:
            raise ValueError(f"{_HERE} has {tokens.next()} where a term belongs")
        return found

    def _brackets(self, tokens: _Tokens, into: _Terms, sign: str, half: bool) -> None:
        tokens.expect("[")
        terms: list[tuple[str, int, int]] = []
        while tokens.word() != "]":
            if terms and tokens.word() not in ("+", "-"):
                raise ValueError(f"{_HERE} has {tokens.next()} where a sign belongs")
            word = tokens.signs() + (tokens.take() if tokens.kind() == "number" else "1")
            if tokens.kind() != "name":
                raise ValueError(f"brackets of an LP file hold products, not {tokens.next()}")
            i = j = self.column(tokens.name())
            if tokens.word() == "*":
                tokens.take()
                if tokens.kind() != "name":
                    raise ValueError("brackets of an LP file hold products of two variables")
                j = self.column(tokens.name())
            else:
                tokens.expect("^")
                tokens.expect("2")
            terms.append((word, i, j))
        tokens.expect("]")
        if half:
            tokens.expect("/")
            tokens.expect("2")
        for word, i, j in terms:
            into.add(negated(word) if sign else word, i, j)

    def rows(self, tokens: _Tokens) -> Iterator[Row]:
        while tokens.kind():
            name, begin = tokens.skip_label(), tokens.at
            body = self.terms(tokens)
            sense = tokens.sense()
            if any(body.found):
                sides = [(sense, [tokens.number()])]
                yield self._row(name, body, sides)
                tokens.expect_row()
                continue
            sides = [(_TURNED[sense], body.found[()])]
            body = self.terms(tokens)
            if tokens.kind() == "sense":
                if not name and tokens.lines[tokens.at] != tokens.lines[begin]:
                    raise ValueError(
                        f"{_HERE} has a row without a name that begins with {sides[0][1][0]} and "
                        "goes on over several lines, which may be two rows: give it a name"
                    )
                sides.append((_one_way(sense, tokens), [tokens.number()]))
            yield self._row(name, body, sides)
            tokens.expect_row()

    def _row(self, name: str, body: _Terms, sides: Sequence[tuple[str, list[str]]]) -> Row:
        row = Row(name, body.sum())
        row.body.constant = 0.0
        for sense, words in sides:
            side = body.side(words)
            if sense in ">=":
                row.lower = side
            if sense in "<=":
                row.upper = side
        return row

    def bounds(self, tokens: _Tokens) -> tuple[dict[int, float], dict[int, float]]:
        """Lower and upper bounds that are stated, by column; of two the last one."""
        lower: dict[int, float] = {}
        upper: dict[int, float] = {}
        while tokens.kind():
            for column, sense, bound in self._bound(tokens, upper):
                if sense in ">=":
                    lower[column] = bound
                if sense in "<=":
                    upper[column] = bound
        return lower, upper

    def _bound(
        self, tokens: _Tokens, upper: Mapping[int, float]
    ) -> Iterator[tuple[int, str, float]]:
        """Column, sense and number of each side of one line."""
        first = ""
        if tokens.kind() != "name" or tokens.word().lower() in _INFINITE:
            first, turned = tokens.number(), tokens.sense()
        if tokens.kind() != "name":
            raise ValueError(f"bounds of an LP file have {tokens.next()} for a variable")
        name = tokens.name()
        column = self.column(name)
        if first:
            yield column, _TURNED[turned], far_is_infinite(read_number(first, _HERE))
            if tokens.kind() == "sense":
                sense = _one_way(turned, tokens)
                yield column, sense, far_is_infinite(read_number(tokens.number(), _HERE))
        elif tokens.word().lower() == "free":
            tokens.take()
            if upper.get(column, math.inf) < math.inf:
                raise ValueError(
                    f"{name} has an upper bound and is free after that, which solvers read as "
                    "bounded or not: state one of the two"
                )
            yield column, ">", -math.inf
            yield column, "<", math.inf
        elif tokens.kind() == "sense":
            yield column, tokens.sense(), far_is_infinite(read_number(tokens.number(), _HERE))
        else:
            raise ValueError(
                f"bounds of an LP file have {tokens.next()} behind {name}, where free or <= belongs"
            )


def _one_way(first: str, tokens: _Tokens) -> str:
    """The second sense of a <= x <= b, which is the first one again."""
    sense = tokens.sense()
    if sense != first or sense == "=":
        raise ValueError(f"{_HERE} has two sides of a row or bound that are not a <= x <= b")
    return sense
