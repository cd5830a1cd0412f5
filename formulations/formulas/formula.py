"""Formulas of the catalogue as they stand in this folder, one file a paper.

A formula is written once, in Python's syntax, and read twice: notation.py prints it on the page of
its paper, and a test evaluates it at random points beside the built model. `tm.show` prints it too.

    x[i], B[k,j]         entries; an index runs over the set of its letter in capitals, or `ranges`
    sum(i, f), sum(i, f, condition)                     over all i, or those with the condition
    norm2(w)             squared length, b included when the intercept is penalised
    inner(a, b), tr(A), t(A), outer(a), eye(A)          <a, b>, trace, transpose, a a', identity
    psd([[A, B], [C, D]])                               the matrix is semidefinite
    delta(k, l)          1 if k = l, else 0
    priced(f)            f, plus b^2 when the intercept is penalised

A row is "name[indices] (modes of the intercept that have it): comparison | which indices".
"""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

# --- Formulas of the catalogue as they stand in this folder, one file a paper --------------------

FOLDER = Path(__file__).resolve().parent
MODES = ("free", "penalised", "none")
_ROW = re.compile(
    r"(?P<name>\w+)(\[(?P<indices>[^]]*)\])?( \((?P<modes>[^)]*)\))?: (?P<text>[^|]*)"
    r"(\| (?P<which>.*))?"
)
_DEFINITION = re.compile(r"(?P<name>\w+)(\[(?P<indices>[^]]*)\])? = (?P<text>.*)")


@dataclass(frozen=True)
class Row:
    """One family of rows.

    indices: letters that the keys of the component are bound to.
    modes: modes of the intercept in which the model has it.
    text: the comparison.
    which: what an index runs over, where it is not its whole set.
    """

    name: str
    indices: tuple[str, ...]
    text: str
    modes: tuple[str, ...] = MODES
    which: str = ""


@dataclass(frozen=True)
class Formula:
    """The mathematics of one entry.

    paper: file it stands in, and page it is shown on.
    minimise, minimise_free: the objective; the second one for a free intercept where it differs.
    where: abbreviations, as rows whose text is an expression.
    domain: bounds of variables; whatever is not named here or in `boxed` is free.
    boxed: variables with bounds that some optimum satisfies, proven and not part of the formula.
    rows_latex (names, LaTeX): rows that are shown but not evaluated.
    """

    name: str
    paper: str
    source: str
    note: str
    minimise: str = ""
    minimise_free: str = ""
    minimise_latex: str = ""
    rows: tuple[Row, ...] = ()
    rows_latex: tuple[tuple[str, str], ...] = ()
    where: tuple[Row, ...] = ()
    domain: tuple[str, ...] = ()
    boxed: tuple[str, ...] = ()
    symmetric: tuple[str, ...] = ()
    ranges: dict[str, str] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)


def _row(pattern: re.Pattern[str], text: str) -> Row:
    found = pattern.fullmatch(text)
    if found is None:
        raise ValueError(f"not a row: {text!r}")
    parts = found.groupdict()
    indices = tuple(word.strip() for word in (parts["indices"] or "").split(",") if word)
    given = parts.get("modes")
    modes = tuple(word.strip() for word in given.split(",")) if given else MODES
    if not set(modes) <= set(MODES):
        raise ValueError(f"unknown mode of the intercept in {text!r}")
    return Row(parts["name"], indices, parts["text"].strip(), modes, parts.get("which") or "")


def parsed(name: str, paper: str, table: dict[str, object]) -> Formula:
    """Formula from its table in a file.

    Raises ValueError: a row that cannot be read.
    Raises TypeError: a key that does not exist, or one that is missing.
    """
    words: dict[str, object] = {
        key: tuple(tuple(v) if isinstance(v, list) else v for v in value)
        if isinstance(value, list)
        else value
        for key, value in table.items()
    }
    for key, pattern in (("rows", _ROW), ("where", _DEFINITION)):
        words[key] = tuple(_row(pattern, str(text)) for text in words.get(key, ()))  # type: ignore[attr-defined]
    return Formula(name=name, paper=paper, **words)  # type: ignore[arg-type]


@cache
def formulas() -> dict[str, Formula]:
    """All formulas by name of their entry.

    Raises ValueError: an entry that stands in two files.
    """
    found: dict[str, Formula] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if name in found:
                raise ValueError(f"{name} is in {path.stem} and in {found[name].paper}")
            found[name] = parsed(name, path.stem, table)
    return found


# --- A formula at one mode of the intercept: what is squared, and whether there is an intercept

_SQUARED = {"w": "b", "v": "v_b"}  # a vector, and the intercept that is squared with it


def at_mode(text: str, mode: str) -> ast.expr:
    """Node of an expression with a free, a penalised or no intercept."""
    return _Mode(mode).visit(ast.parse(text, mode="eval").body)


class _Mode(ast.NodeTransformer):
    def __init__(self, mode: str) -> None:
        self.mode = mode

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = getattr(node.func, "id", "")
        if name == "priced":
            return self._priced(node.args[0])
        if name == "norm2" and self.mode == "penalised":
            return self._norm(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if self.mode == "none" and isinstance(node.op, ast.Add) and _is_intercept(node.right):
            return node.left
        return node

    def _norm(self, node: ast.Call) -> ast.expr:
        match node.args[0]:
            case ast.Name(id="wt"):
                return node
            case ast.Name(id=vector) if vector in _SQUARED:
                pair = _call("pair", node.args[0], ast.Name(_SQUARED[vector]))
                return _call("norm2", pair)
            case ast.Subscript(slice=index):
                pair = _call("pair", node.args[0], ast.Subscript(ast.Name("b"), index))
                return _call("norm2", pair)
        return self._priced(node)

    def _priced(self, node: ast.expr) -> ast.expr:
        if self.mode != "penalised":
            return node
        square = ast.BinOp(ast.Name("b"), ast.Pow(), ast.Constant(2))
        return ast.BinOp(node, ast.Add(), square)


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name), list(args), [])


def _is_intercept(node: ast.expr) -> bool:
    match node:
        case ast.Name(id="b") | ast.Subscript(value=ast.Name(id="b")):
            return True
    return False
