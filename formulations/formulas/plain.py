"""Formulas as text, in the words of docstrings, and as HTML without anything that is loaded."""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from tightmargin.formulations.formulas.notation import Notation

_LATEX = re.compile(r"[{}\\]")
_SHORT = re.compile(r"\w+(\[[^]]*\])?")  # stands in a quotient without parentheses
_GREEK = {
    "xi": "ξ", "alpha": "α", "beta": "β", "gamma": "γ", "rho": "ρ", "nu": "ν", "tau": "τ",
    "pi": "π", "wt": "w&#771;", "xt": "x&#771;", "last": "b",
}  # fmt: skip


class Text(Notation):
    """As a docstring has it."""

    comparisons: ClassVar[Mapping[type, str]] = {
        ast.GtE: ">=",
        ast.LtE: "<=",
        ast.Eq: "=",
        ast.NotEq: "!=",
        ast.In: "in",
    }
    patterns: ClassVar[Mapping[str, str]] = {
        "norm2": "||{0}||^2",
        "inner": "<{0}, {1}>",
        "tr": "tr {0}",
        "t": "{0}'",
        "outer": "{0} {0}'",
        "eye": "I",
        "delta": "[{0} = {1}]",
        "pair": "({0}, {1})",
    }
    left_out = "..."

    def symbol(self, name: str) -> str:
        """The name as Python has it, w with its intercept as w~."""
        return {"wt": "w~", "xt": "x~", "last": "b"}.get(name, name)

    def below(self, whole: str, indices: Sequence[str]) -> str:
        """Letters below, numbers as Python has them."""
        if all(len(each) == 1 and each.isalpha() for each in indices):
            return f"{whole}_{''.join(indices)}"
        if all(re.fullmatch(r"\w+", each) and not each.isdigit() for each in indices):
            return f"{whole}_{{{','.join(indices)}}}"
        return f"{whole}[{','.join(indices)}]"

    def parentheses(self, text: str) -> str:
        """Plain ones."""
        return f"({text})"

    def members(self, texts: Sequence[str]) -> str:
        """A set."""
        return f"{{{', '.join(texts)}}}"

    def product(self, first: str, second: str) -> str:
        """Side by side, but for numbers."""
        return f"{first} * {second}" if second[:1].isdigit() else f"{first} {second}"

    def fraction(self, left: str, right: str, *, small: bool) -> str:
        """On one line."""
        return "/".join(text if _SHORT.fullmatch(text) else f"({text})" for text in (left, right))

    def power(self, base: str, exponent: str) -> str:
        """With a roof."""
        return f"{base}^{exponent if exponent.isalnum() else f'({exponent})'}"

    def total(self, below: str, body: str) -> str:
        """A sum."""
        return f"sum_{below if below.isalnum() else f'{{{below}}}'} {body}"

    def such_that(self, index: str, condition: str) -> str:
        """An index and its condition."""
        return f"{index}: {condition}"

    def matrix(self, rows: Sequence[Sequence[str]]) -> str:
        """As lists."""
        return f"[{', '.join('[' + ', '.join(row) + ']' for row in rows)}]"

    def semidefinite(self, matrix: str) -> str:
        """In words."""
        return f"{matrix} is semidefinite"

    def function(self, name: str, argument: str) -> str:
        """As Python has it."""
        return f"{name}({argument})"

    def templated(self, template: str, indices: Sequence[str]) -> str:
        """What is left without the signs of LaTeX."""
        return _LATEX.sub("", template.format(*indices))


class Html(Text):
    """As a notebook shows it, in letters alone."""

    comparisons: ClassVar[Mapping[type, str]] = {
        ast.GtE: "≥",
        ast.LtE: "≤",
        ast.Eq: "=",
        ast.NotEq: "≠",
        ast.In: "∈",
    }
    patterns: ClassVar[Mapping[str, str]] = {
        "norm2": "‖{0}‖<sup>2</sup>",
        "inner": "⟨{0}, {1}⟩",
        "tr": "tr {0}",
        "t": "{0}<sup>⊤</sup>",
        "outer": "{0} {0}<sup>⊤</sup>",
        "eye": "I",
        "delta": "[{0} = {1}]",
        "pair": "({0}, {1})",
    }
    left_out = "…"

    def symbol(self, name: str) -> str:
        """Greek letters as such."""
        return _GREEK.get(name) or html.escape(name)

    def below(self, whole: str, indices: Sequence[str]) -> str:
        """An index below."""
        separator = "" if all(len(each) == 1 and each.isalpha() for each in indices) else ","
        return f"{whole}<sub>{separator.join(indices)}</sub>"

    def product(self, first: str, second: str) -> str:
        """Side by side, but for numbers."""
        return f"{first} · {second}" if second[:1].isdigit() else f"{first} {second}"

    def fraction(self, left: str, right: str, *, small: bool) -> str:
        """On one line, a half as one letter."""
        return "½" if (left, right) == ("1", "2") else super().fraction(left, right, small=small)

    def power(self, base: str, exponent: str) -> str:
        """An exponent."""
        return f"{base}<sup>{exponent}</sup>"

    def total(self, below: str, body: str) -> str:
        """A sum."""
        return f"Σ<sub>{below}</sub> {body}"

    def semidefinite(self, matrix: str) -> str:
        """The sign for it."""
        return f"{matrix} ⪰ 0"

    def function(self, name: str, argument: str) -> str:
        """As Python has it."""
        return f"{html.escape(name)}({argument})"

    def templated(self, template: str, indices: Sequence[str]) -> str:
        """Indices below, where the template has braces."""
        shown = re.sub(r"_\{([^{}]*)\}", r"<sub>\1</sub>", template.format(*indices))
        return _LATEX.sub("", shown)
