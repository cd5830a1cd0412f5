"""LaTeX of the expressions in formula.py."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import ClassVar

from tightmargin.formulations.formulas.notation import Notation

# Of hyperparameters the letter of the paper; the page says which word it stands for.
SYMBOLS = {
    "ridge": r"\lambda", "penalty": r"\lambda", "norm_bound": "H", "hull_bound": "D",
    "big_m": "M", "budget": r"\kappa", "truncation": "s", "rank": "r", "tau": r"\tau",
    "nu": r"\nu", "beta": r"\beta", "pi": r"\pi", "C": "C", "intercept_bound": "B",
    "w_ref": r"w_{\mathrm{ref}}", "value_at_risk": "a", "exponent": r"\eta",
}  # fmt: skip
_NAMES = SYMBOLS | {
    "xi": r"\xi", "alpha": r"\alpha", "gamma": r"\gamma", "rho": r"\rho", "wt": r"\tilde w",
    "xt": r"\tilde x", "v_b": "v_b", "W1": "W_1", "W2": "W_2", "lo": r"\ell", "up": r"u^{\max}",
    "norm_limit": "N", "b_low": r"b_{\mathrm{low}}", "b_high": r"b_{\mathrm{high}}", "last": "b",
    "v1": "v_1",
}  # fmt: skip


def latex(text: str, templates: Mapping[str, str] | None = None) -> str:
    """LaTeX of an expression or comparison.

    Raises ValueError: something the language of formula.py has no word for.
    """
    return Latex(templates).of(text)


def letter(name: str) -> str:
    """Symbol of a name."""
    return _NAMES.get(name, name)


class Latex(Notation):
    """As papers print it."""

    comparisons: ClassVar[Mapping[type, str]] = {
        ast.GtE: r"\ge", ast.LtE: r"\le", ast.Eq: "=", ast.NotEq: r"\ne", ast.In: r"\in",
    }  # fmt: skip
    patterns: ClassVar[Mapping[str, str]] = {
        "norm2": r"\lVert {0}\rVert^2",
        "inner": r"\langle {0}, {1}\rangle",
        "tr": r"\operatorname{{tr}} {0}",
        "t": r"{0}^\top",
        "outer": r"{0} {0}^\top",
        "eye": "I",
        "delta": "[{0} = {1}]",
        "pair": "({0}, {1})",
    }
    left_out = r"\cdots"

    def symbol(self, name: str) -> str:
        """The paper's letter, where it has one."""
        return letter(name)

    def number(self, value: object) -> str:
        """With a power of ten where there is one."""
        mantissa, _, exponent = str(value).partition("e")
        return rf"{mantissa}\cdot 10^{{{int(exponent)}}}" if exponent else mantissa

    def below(self, whole: str, indices: Sequence[str]) -> str:
        """An index below."""
        separator = "," if any(len(each) > 1 or each.isdigit() for each in indices) else ""
        below = separator.join(indices)
        # A symbol with an index of its own stands in parentheses.
        return rf"({whole})_{{{below}}}" if "_" in whole else rf"{whole}_{{{below}}}"

    def parentheses(self, text: str) -> str:
        """Of the size of what they hold."""
        return rf"\left({text}\right)"

    def members(self, texts: Sequence[str]) -> str:
        """A set."""
        return rf"\{{{', '.join(texts)}\}}"

    def product(self, first: str, second: str) -> str:
        """With a dot before a number."""
        dot = r"\cdot " if second[:1].isdigit() else r"\,"
        return f"{first}{dot}{second}"

    def fraction(self, left: str, right: str, *, small: bool) -> str:
        """A fraction."""
        return rf"\{'tfrac' if small else 'frac'}{{{left}}}{{{right}}}"

    def power(self, base: str, exponent: str) -> str:
        """An exponent."""
        return f"{base}^{{{exponent}}}"

    def total(self, below: str, body: str) -> str:
        """A sum."""
        return rf"\sum_{{{below}}} {body}"

    def such_that(self, index: str, condition: str) -> str:
        """An index and its condition."""
        return rf"{index}\,:\,{condition}"

    def matrix(self, rows: Sequence[Sequence[str]]) -> str:
        """Blocks in round brackets."""
        shown = r"\\ ".join(" & ".join(row) for row in rows)
        return rf"\begin{{pmatrix}} {shown}\end{{pmatrix}}"

    def semidefinite(self, matrix: str) -> str:
        """The sign for it."""
        return rf"{matrix} \succeq 0"

    def function(self, name: str, argument: str) -> str:
        """A function's name, upright."""
        return rf"\operatorname{{{name}}}\left({argument}\right)"

    def templated(self, template: str, indices: Sequence[str]) -> str:
        """Filled in."""
        return template.format(*indices)
