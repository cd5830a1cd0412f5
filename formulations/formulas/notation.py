"""How an expression is written: as text in the words of docstrings, as HTML, and as LaTeX.

The structure, what binds how tightly and where parentheses are needed, is that of all three. How
the parts look is one table; what is no pattern is a method of the notation.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Mapping, Sequence

ADD, MULTIPLY, POWER, ATOM = range(4)
# How many arguments each function has, how tightly it binds, and how tightly they must.
FUNCTIONS = {
    "norm2": (1, POWER, ADD), "inner": (2, ATOM, ADD), "tr": (1, MULTIPLY, ATOM),
    "t": (1, POWER, ATOM), "outer": (1, MULTIPLY, ATOM), "eye": (1, ATOM, ADD),
    "delta": (2, ATOM, ADD), "pair": (2, ATOM, ADD),
}  # fmt: skip
# Each part as text, HTML and LaTeX.
PATTERNS = {
    "norm2": ("||{0}||^2", "‖{0}‖<sup>2</sup>", r"\lVert {0}\rVert^2"),
    "inner": ("<{0}, {1}>", "⟨{0}, {1}⟩", r"\langle {0}, {1}\rangle"),
    "tr": ("tr {0}", "tr {0}", r"\operatorname{{tr}} {0}"),
    "t": ("{0}'", "{0}<sup>⊤</sup>", r"{0}^\top"),
    "outer": ("{0} {0}'", "{0} {0}<sup>⊤</sup>", r"{0} {0}^\top"),
    "eye": ("I", "I", "I"),
    "delta": ("[{0} = {1}]", "[{0} = {1}]", "[{0} = {1}]"),
    "pair": ("({0}, {1})", "({0}, {1})", "({0}, {1})"),
    "psd": ("{0} is semidefinite", "{0} ⪰ 0", r"{0} \succeq 0"),
    "unary": ("{0}({1})", "{0}({1})", r"\operatorname{{{0}}}\left({1}\right)"),
    "sum": ("sum_{0} {1}", "Σ<sub>{0}</sub> {1}", r"\sum_{{{0}}} {1}"),
    "such that": ("{0}: {1}", "{0}: {1}", r"{0}\,:\,{1}"),
    "parentheses": ("({0})", "({0})", r"\left({0}\right)"),
    "set": ("{{{0}}}", "{{{0}}}", r"\{{{0}\}}"),
    "row": ("[{0}]", "[{0}]", "{0}"),
    "between cells": (", ", ", ", " & "),
    "between rows": (", ", ", ", r"\\ "),
    "matrix": ("[{0}]", "[{0}]", r"\begin{{pmatrix}} {0}\end{{pmatrix}}"),
    "product": ("{0} {1}", "{0} {1}", r"{0}\,{1}"),
    "times a number": ("{0} * {1}", "{0} · {1}", r"{0}\cdot {1}"),
    "power": ("{0}^{1}", "{0}<sup>{1}</sup>", "{0}^{{{1}}}"),
    "GtE": (">=", "≥", r"\ge"),
    "LtE": ("<=", "≤", r"\le"),
    "Eq": ("=", "=", "="),
    "NotEq": ("!=", "≠", r"\ne"),
    "In": ("in", "∈", r"\in"),
    "...": ("...", "…", r"\cdots"),
}
# Of hyperparameters the letter of the paper in LaTeX; the page says which word it stands for.
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
    "v1": "v_1", "norm_multiplier": r"\lambda",
}  # fmt: skip
_GREEK = {
    "xi": "ξ", "alpha": "α", "beta": "β", "gamma": "γ", "rho": "ρ", "nu": "ν", "tau": "τ",
    "pi": "π", "wt": "w&#771;", "xt": "x&#771;", "last": "b",
}  # fmt: skip
_SIGNS_OF_LATEX = re.compile(r"[{}\\]")
_SHORT = re.compile(r"\w+(\[[^]]*\])?")  # stands in a quotient without parentheses


def letter(name: str) -> str:
    """LaTeX of a name: the paper's letter, where it has one."""
    return _NAMES.get(name, name)


def latex(text: str, templates: Mapping[str, str] | None = None) -> str:
    """LaTeX of an expression or comparison; ValueError where the language has no word for it."""
    return Latex(templates).of(text)


def ends_in_sum(node: ast.expr) -> bool:
    """Whether what follows would be read as part of a sum."""
    match node:
        case ast.Call(func=ast.Name(id="sum")):
            return True
        case ast.BinOp(op=ast.Mult(), right=right):
            return ends_in_sum(right)
    return False


class Text:
    """As a docstring has it. `show` gives a node together with how tightly it binds.

    templates: how names with indices are written that are functions in the paper: "f_{k}(x_{i})".
    """

    column = 0

    def __init__(self, templates: Mapping[str, str] | None = None) -> None:
        self.templates = templates or {}

    def symbol(self, name: str) -> str:
        """The name as Python has it, w with its intercept as w~."""
        return {"wt": "w~", "xt": "x~", "last": "b"}.get(name, name)

    def number(self, value: object) -> str:
        """A constant."""
        return str(value)

    def below(self, whole: str, indices: Sequence[str]) -> str:
        """A name with indices: letters below, numbers as Python has them."""
        if all(len(each) == 1 and each.isalpha() for each in indices):
            return f"{whole}_{''.join(indices)}"
        if all(re.fullmatch(r"\w+", each) and not each.isdigit() for each in indices):
            return f"{whole}_{{{','.join(indices)}}}"
        return f"{whole}[{','.join(indices)}]"

    def templated(self, template: str, indices: Sequence[str]) -> str:
        """A template with its indices: what is left without the signs of LaTeX."""
        return _SIGNS_OF_LATEX.sub("", template.format(*indices))

    def fraction(self, left: str, right: str, *, small: bool) -> str:
        """A quotient on one line."""
        return "/".join(text if _SHORT.fullmatch(text) else f"({text})" for text in (left, right))

    def exponent(self, text: str) -> str:
        """An exponent, in parentheses unless it is a word."""
        return text if text.isalnum() else f"({text})"

    def range(self, text: str) -> str:
        """What a sum runs over, in braces unless it is a word."""
        return text if text.isalnum() else f"{{{text}}}"

    def of(self, text: str) -> str:
        """An expression or comparison in the language of formula.py.

        Raises ValueError: something the language has no word for.
        """
        return self.text(ast.parse(text, mode="eval").body)

    def text(self, node: ast.expr, least: int = ADD) -> str:
        """A node, in parentheses unless it binds at least that tightly."""
        shown, binding = self.show(node)
        return shown if binding >= least else self.part("parentheses", shown)

    def part(self, name: str, *texts: str) -> str:
        """A part of the table with its texts."""
        return PATTERNS[name][self.column].format(*texts)

    def show(self, node: ast.expr) -> tuple[str, int]:
        """A node and how tightly it binds."""
        match node:
            case ast.Constant(value=value):
                return (self.part("...") if value is ... else self.number(value)), ATOM
            case ast.Name(id=name):
                return self.symbol(name), ATOM
            case ast.Set(elts=members):
                return self.part("set", ", ".join(self.text(x) for x in members)), ATOM
            case ast.Compare(left=left, ops=ops, comparators=right):
                shown = [self.text(left)]
                for op, side in zip(ops, right, strict=True):
                    shown += [self.part(type(op).__name__), self.text(side)]
                return " ".join(shown), ADD
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"-{self.text(operand, MULTIPLY)}", ADD
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                return self._entry(name, index), ATOM
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(left, op, right)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(name, args)
        raise ValueError(f"no word for {ast.dump(node)}")

    def _entry(self, name: str, index: ast.expr) -> str:
        indices = [self.text(x) for x in (index.elts if isinstance(index, ast.Tuple) else [index])]
        if name in self.templates:
            return self.templated(self.templates[name], indices)
        return self.below(self.symbol(name), indices)

    def _operation(self, left: ast.expr, op: ast.operator, right: ast.expr) -> tuple[str, int]:
        match op:
            case ast.Add():
                return f"{self.text(left)} + {self.text(right)}", ADD
            case ast.Sub():
                return f"{self.text(left)} - {self.text(right, MULTIPLY)}", ADD
            case ast.Mult() if isinstance(left, ast.UnaryOp):  # -a b, not (-a) b
                return f"-{self.text(ast.BinOp(left.operand, ast.Mult(), right))}", ADD
            case ast.Mult():
                first = self.text(left, ATOM if ends_in_sum(left) else MULTIPLY)
                second = self.text(right, MULTIPLY)
                kind = "times a number" if second[:1].isdigit() else "product"
                return self.part(kind, first, second), MULTIPLY
            case ast.Div():
                small = isinstance(left, ast.Constant)
                return self.fraction(self.text(left), self.text(right), small=small), POWER
            case ast.Pow():
                exponent = self.exponent(self.text(right))
                return self.part("power", self.text(left, ATOM), exponent), POWER
        raise ValueError(f"no word for {ast.dump(op)}")

    def _call(self, name: str, args: list[ast.expr]) -> tuple[str, int]:
        match name, args:
            case "sum", [ast.Name(id=index), body, *condition]:
                below = self.text(condition[0]) if condition else index
                if condition and not below.startswith(f"{index} "):
                    below = self.part("such that", index, below)
                return self.part("sum", self.range(below), self.text(body, MULTIPLY)), MULTIPLY
            case "psd", [matrix]:
                return self.part("psd", self._matrix(matrix)), ADD
            case "priced", [body]:
                return self.show(body)
            case "unary", [ast.Constant(value=word), body]:
                return self.part("unary", str(word), self.text(body)), ATOM
        if name not in FUNCTIONS or len(args) != FUNCTIONS[name][0]:
            raise ValueError(f"no word for {name} with {len(args)} arguments")
        _, binding, least = FUNCTIONS[name]
        return self.part(name, *(self.text(each, least) for each in args)), binding

    def _matrix(self, node: ast.expr) -> str:
        if not isinstance(node, ast.List):
            return self.text(node)
        rows = [[self.text(x) for x in row.elts] for row in node.elts if isinstance(row, ast.List)]
        cells = [self.part("row", self.part("between cells").join(row)) for row in rows]
        return self.part("matrix", self.part("between rows").join(cells))


class Html(Text):
    """As a notebook shows it, in letters alone."""

    column = 1

    def symbol(self, name: str) -> str:
        """Greek letters as such."""
        return _GREEK.get(name) or html.escape(name)

    def below(self, whole: str, indices: Sequence[str]) -> str:
        """An index below."""
        separator = "" if all(len(each) == 1 and each.isalpha() for each in indices) else ","
        return f"{whole}<sub>{separator.join(indices)}</sub>"

    def templated(self, template: str, indices: Sequence[str]) -> str:
        """Indices below, where the template has braces."""
        shown = re.sub(r"_\{([^{}]*)\}", r"<sub>\1</sub>", template.format(*indices))
        return _SIGNS_OF_LATEX.sub("", shown)

    def fraction(self, left: str, right: str, *, small: bool) -> str:
        """On one line, a half as one letter."""
        return "½" if (left, right) == ("1", "2") else super().fraction(left, right, small=small)

    def exponent(self, text: str) -> str:
        """Above, as it is."""
        return text

    range = exponent


class Latex(Text):
    """As papers print it."""

    column = 2

    def symbol(self, name: str) -> str:
        """The paper's letter, where it has one."""
        return letter(name)

    def number(self, value: object) -> str:
        """With a power of ten where there is one."""
        mantissa, _, exponent = str(value).partition("e")
        return rf"{mantissa}\cdot 10^{{{int(exponent)}}}" if exponent else mantissa

    def below(self, whole: str, indices: Sequence[str]) -> str:
        """An index below; a symbol with an index of its own stands in parentheses."""
        separator = "," if any(len(each) > 1 or each.isdigit() for each in indices) else ""
        below = separator.join(indices)
        return rf"({whole})_{{{below}}}" if "_" in whole else rf"{whole}_{{{below}}}"

    def templated(self, template: str, indices: Sequence[str]) -> str:
        """Filled in."""
        return template.format(*indices)

    def fraction(self, left: str, right: str, *, small: bool) -> str:
        """A fraction."""
        return rf"\{'tfrac' if small else 'frac'}{{{left}}}{{{right}}}"

    def exponent(self, text: str) -> str:
        """Above, as it is."""
        return text

    range = exponent
