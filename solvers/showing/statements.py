"""One line of a model as mathematics, in text, LaTeX and HTML."""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tightmargin.formulations.formulas.latex import SYMBOLS, Latex, letter
from tightmargin.formulations.formulas.plain import Html, Text
from tightmargin.printing import Printed

ADDED, REMOVED, CHANGED = "+", "-", "~"
MARKS = {"added": ADDED, "removed": REMOVED, "changed": CHANGED}

WORDS = SYMBOLS.keys() - {"tau", "nu", "beta", "pi", "C"}  # of which these are letters
_NAME = re.compile(r"([A-Za-z_][\w.]*)\[([^\[\]]*)\]")
_WORDS = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")
_LATEX_SIGNS = {"<=": r"\le", ">=": r"\ge", "...": r"\cdots"}
_HTML_SIGNS = {"<=": "≤", ">=": "≥", "...": "…"}


class InWords(Latex):
    """LaTeX in which a hyperparameter is called what the data line and Python call it."""

    def symbol(self, name: str) -> str:
        """A letter where the name is one, else the name."""
        known = letter(name)
        return upright(name) if name in WORDS or (known == name and len(name) > 1) else known


@dataclass(frozen=True, repr=False)
class Statement(Printed):
    """A line.

    Attributes
    ----------
    name : str
        Of the rows, or "min", "bounds", "where", "data".
    text, latex, html : str
        The same three times.
    where : str
        For which indices, or how many more there are.
    mark : str
        Of an edit: "+" added, "-" removed, "~" changed; empty for what is as it was built.
    """

    name: str
    text: str
    latex: str
    html: str
    where: str = ""
    mark: str = ""

    def _title(self) -> str:
        return f"{self.mark} {self.name}".strip()


def of_nodes(
    name: str,
    *nodes: ast.expr,
    where: str = "",
    mark: str = "",
    templates: Mapping[str, str] | None = None,
) -> Statement:
    """A line of expressions, one beside the other."""
    text, latex, shown = Text(templates), InWords(templates), Html(templates)
    return Statement(
        name,
        "; ".join(text.text(node) for node in nodes),
        r",\quad ".join(latex.text(node) for node in nodes),
        "; ".join(shown.text(node) for node in nodes),
        where,
        mark,
    )


def of_text(name: str, text: str, where: str = "", mark: str = "") -> Statement:
    """A line of mathematics that is text already, or of words."""
    return Statement(name, text, _latex(text), _html(text), where, mark)


def in_words(name: str, text: str, where: str = "") -> Statement:
    """A line without mathematics."""
    return Statement(name, text, upright(text), html.escape(text), where)


def upright(text: str) -> str:
    """LaTeX of words."""
    escaped = re.sub(r"([_#$%&{}])", r"\\\1", text.replace("\\", "/"))
    return rf"\text{{{escaped.replace('~', '-').replace('^', ' ')}}}" if text else ""


def _latex(text: str) -> str:
    if _WORDS.search(text):
        return upright(text)
    found = _NAME.sub(lambda m: f"{_symbol(m[1])}_{{{m[2]}}}", text)
    found = re.sub(r"\^(\w+)", r"^{\1}", found)
    for sign, shown in _LATEX_SIGNS.items():
        found = found.replace(sign, shown)
    return found


def _symbol(name: str) -> str:
    return InWords().symbol(name)


def _html(text: str) -> str:
    found = text
    for sign, shown in _HTML_SIGNS.items():
        found = found.replace(sign, shown)
    found = _NAME.sub(lambda m: f"{Html().symbol(m[1])}<sub>{m[2]}</sub>", html.escape(found))
    return re.sub(r"\^(\w+)", r"<sup>\1</sup>", found)
