"""tm.show: a model as mathematics, its data in a line, every edit marked."""

from __future__ import annotations

import ast
import html
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr import numeric_expr as ne
from pyomo.core.expr.relational_expr import (
    EqualityExpression,
    InequalityExpression,
    RangedExpression,
)
from pyomo.gdp import Disjunction

from tightmargin.formulations.catalogue import CATALOGUE, Origin, origin_now
from tightmargin.formulations.data.class_labels import legend
from tightmargin.formulations.data.point_weights import is_weighted
from tightmargin.formulations.formulas.formula import Formula, Row, at_mode, formulas
from tightmargin.formulations.formulas.notation import SYMBOLS, Html, Latex, Text, letter
from tightmargin.formulations.modeling.affine_rows import LazyRows, lazy_terms
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.cones import order, psd_entries
from tightmargin.formulations.modeling.mathematics import between_text
from tightmargin.number_words import count_text, number_text
from tightmargin.printing import NUMBERS, Page, Printed, value_text
from tightmargin.solvers.edits.diff import Change, diff
from tightmargin.solvers.model.columns import row_name
from tightmargin.solvers.model.reader import refuse_other_objects

# --- Pyomo expressions in the language of formulas, long sums cut short --------------------------


# Pyomo's own LaTeX printer stops at constants such as 3 * 2, refuses single rows, escapes no name.
_BINARY: dict[type, Callable[[], ast.operator]] = {
    ne.ProductExpression: ast.Mult,
    ne.DivisionExpression: ast.Div,
    ne.PowExpression: ast.Pow,
}
_RELATIONS: dict[type, Callable[[], ast.cmpop]] = {
    EqualityExpression: ast.Eq,
    InequalityExpression: ast.LtE,
    RangedExpression: ast.LtE,
}


def relation_node(row: Any) -> ast.expr:
    """Node of a constraint as it was written, its constant side on the right."""
    relation = row.expr
    sides = [expression_node(side) for side in relation.args]
    op = _RELATIONS[type(relation)]
    if isinstance(relation, RangedExpression):
        return ast.Compare(sides[0], [op(), op()], sides[1:])
    entries = psd_entries(relation.args[1])
    if entries is not None:
        name = ast.Name(f"matrix of order {order(len(entries))}")
        return ast.Call(ast.Name("psd"), [name], [])
    if isinstance(relation, InequalityExpression) and _is_number(relation.args[0]):
        return ast.Compare(sides[1], [ast.GtE()], [sides[0]])
    return ast.Compare(sides[0], [op()], [sides[1]])


def expression_node(expression: Any) -> ast.expr:
    """Node of an expression."""
    if _is_number(expression):
        return number_node(float(pyo.value(expression)))
    if not expression.is_expression_type():
        return name_node(expression)
    if expression.is_named_expression_type():
        return expression_node(expression.expr)
    if isinstance(expression, ne.SumExpression):  # of which LinearExpression is one
        return _sum(expression)
    op = next((op for kind, op in _BINARY.items() if isinstance(expression, kind)), None)
    if op is not None:
        left, right = (expression_node(arg) for arg in expression.args)
        return _product(left, right) if op is ast.Mult else ast.BinOp(left, op(), right)
    if isinstance(expression, ne.NegationExpression):
        return ast.UnaryOp(ast.USub(), expression_node(expression.args[0]))
    if isinstance(expression, ne.UnaryFunctionExpression):
        return _function(expression.getname(), expression_node(expression.args[0]))
    if isinstance(expression, ne.AbsExpression):
        return _function("abs", expression_node(expression.args[0]))
    return ast.Name(f"{type(expression).__name__}(...)")


def name_node(component: Any) -> ast.expr:
    """Node of a variable or Param, its index as one."""
    return _element_node(component.parent_component(), component.index())


def _element_node(owner: Any, index: Any) -> ast.expr:
    if index is None:
        return ast.Name(str(owner.name))
    keys = index if isinstance(index, tuple) else (index,)
    shown: list[ast.expr] = [ast.Name(str(key)) for key in keys]
    return ast.Subscript(ast.Name(str(owner.name)), ast.Tuple(shown))


def number_node(value: float) -> ast.expr:
    """Node of a number to six digits."""
    rounded = float(f"{value:.6g}")
    whole = int(rounded) if rounded.is_integer() and abs(rounded) < 1e6 else rounded
    return ast.UnaryOp(ast.USub(), ast.Constant(-whole)) if rounded < 0 else ast.Constant(whole)


def sum_node(terms: Sequence[ast.expr], count: int) -> ast.expr:
    """Node of a sum, of which the first terms are given."""
    if not terms:
        return ast.Constant(0)
    found = terms[0]
    for term in terms[1:]:
        minus = _without_sign(term)
        op = ast.Add() if minus is None else ast.Sub()
        found = ast.BinOp(found, op, term if minus is None else minus)
    if count > len(terms):
        found = ast.BinOp(found, ast.Add(), ast.Constant(...))
    return found


def _sum(expression: Any) -> ast.expr:
    lazy = lazy_terms(expression) if isinstance(expression, ne.LinearExpression) else None
    if lazy is not None:  # arrays, of which no term is made here
        keys = [key for key, _ in zip(lazy.variable.keys(), range(NUMBERS), strict=False)]
        named = [_element_node(lazy.variable, key) for key in keys]
        terms = [
            _product(number_node(float(a)), name)
            for a, name in zip(lazy.numbers.values[:NUMBERS], named, strict=True)
        ]
        return sum_node(terms, len(lazy))
    args = expression.args
    return sum_node([expression_node(arg) for arg in args[:NUMBERS]], len(args))


def _product(left: ast.expr, right: ast.expr) -> ast.expr:
    match left:
        case ast.Constant(value=1):
            return right
        case ast.UnaryOp(operand=ast.Constant(value=1)):
            return ast.UnaryOp(ast.USub(), right)
    if isinstance(right, ast.Constant) and not isinstance(left, ast.Constant):
        left, right = right, left
    return ast.BinOp(left, ast.Mult(), right)


def _function(name: str, argument: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("unary"), [ast.Constant(name), argument], [])


def _without_sign(node: ast.expr) -> ast.expr | None:
    """What a negative term takes away; None where it is not negative."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return operand
        case ast.BinOp(left=ast.UnaryOp(op=ast.USub(), operand=left), op=ast.Mult(), right=right):
            return ast.BinOp(left, ast.Mult(), right)
    return None


def _is_number(expression: Any) -> bool:
    """Whether it is a plain number, and no Param, whose name says more."""
    return isinstance(expression, int | float) or expression.__class__ in ne.native_numeric_types


# --- One line of a model as mathematics, in text, LaTeX and HTML ---------------------------------


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

    name: of the rows, or "min", "bounds", "where", "data".
    text, latex, html: the same three times.
    where: for which indices, or how many more there are.
    mark: of an edit: "+" added, "-" removed, "~" changed; empty for what is as it was built.
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


# --- Any Pyomo model by its components: the first row of each family, and how many there are -----


def component_statements(model: pyo.ConcreteModel, rows: int = 0) -> Iterator[Statement]:
    """Objective, families of rows by one row at least, variables and Params."""
    for goal in model.component_data_objects(pyo.Objective, active=True, descend_into=True):
        yield of_nodes("min" if goal.is_minimizing() else "max", expression_node(goal.expr))
    for family in families(model):
        yield from first_rows(family, max(rows, 1))
    for family in model.component_objects(Disjunction, active=True, descend_into=True):
        yield in_words(str(family.name), count_text(len(family), "disjunction"))
    for variable in model.component_objects(pyo.Var, descend_into=True):
        if len(variable):
            yield _variable(variable)
    params = [
        f"{param.name} = {value_text(pyo.value(param, exception=False)) or 'no value'}"
        if not param.is_indexed()
        else f"{param.name} with {count_text(len(param), 'value')}"
        for param in model.component_objects(pyo.Param, descend_into=True)
    ]
    if params:
        left = len(params) - NUMBERS
        yield in_words("data", "; ".join(params[:NUMBERS]) + (f"; {left} more" if left > 0 else ""))


def families(model: pyo.ConcreteModel) -> list[Any]:
    """Constraints of a model with at least one active row."""
    return [
        family
        for family in model.component_objects(pyo.Constraint, active=True, descend_into=True)
        if len(family)
    ]


def first_rows(family: Any, count: int) -> Iterator[Statement]:
    """The first rows of a family with their numbers, the last of them with how many are left."""
    left = len(family) - count
    kept = [key for key, _ in zip(family.keys(), range(count), strict=False)]
    for k, key in enumerate(kept):
        more = f"and {left} more" if left > 0 and k == len(kept) - 1 else ""
        yield _row(family, key, more)


def _row(family: Any, key: Any, more: str) -> Statement:
    name = row_name(family, key)
    if isinstance(family, LazyRows):
        text = family.text_of(key)
        if text:
            return of_text(name, text, more)
    return of_nodes(name, relation_node(family[key]), where=more)


def _variable(variable: Any) -> Statement:
    count, first = len(variable), next(iter(variable.keys()))
    name = row_name(variable, first)
    low, high, domain = _bounds(variable, first)
    text = f"{between_text(low, name, high)}, in {domain}"
    return in_words(str(variable.name), text, f"and {count - 1} more" if count > 1 else "")


def _bounds(variable: Any, first: Any) -> tuple[float, float, str]:
    if isinstance(variable, ArrayVar):
        return variable.limits_of(first)
    element = variable[first]
    low, high = (element.value, element.value) if element.fixed else element.bounds
    return -np.inf if low is None else low, np.inf if high is None else high, str(element.domain)


# --- A model of the catalogue as its paper states it, at its own mode of the intercept -----------


_WRITTEN = re.compile(r"[A-Za-z_]\w*")


def formula_statements(model: pyo.ConcreteModel, formula: Formula) -> Iterator[Statement]:
    """Objective, rows, bounds and abbreviations."""
    mode = str(model.origin.parameters.get("intercept", "free"))
    goal = formula.minimise_free if mode == "free" and formula.minimise_free else formula.minimise
    yield of_nodes("min", at_mode(goal, mode), templates=formula.templates)
    for row in formula.rows:
        if mode in row.modes and model.component(row.name) is not None:
            yield of_nodes(
                _name(row),
                at_mode(row.text, mode),
                where=_for_all(model, formula, row),
                templates=formula.templates,
            )
    bounds = [at_mode(text, mode) for text in formula.domain]
    if bounds:
        yield of_nodes("bounds", *bounds, templates=formula.templates)
    if not formula.rows_latex:  # which speak of bounds too
        yield from _unbounded(model, formula)
    for row in formula.where:
        index = f"[{','.join(row.indices)}]" if row.indices else ""
        text = f"{row.name}{index} == {row.text}"
        yield of_nodes("where", at_mode(text, mode), templates=formula.templates)


def docstring_statements(model: pyo.ConcreteModel) -> Iterator[Statement]:
    """The block of mathematics that a builder's docstring begins with, line by line."""
    text = inspect.getdoc(CATALOGUE[model.origin.entry].build) or ""
    block = text.partition("\n\n")[2].partition("\n\n")[0]
    if block.split(maxsplit=1)[:1] not in (["min"], ["max"]):
        return
    for line in block.splitlines():
        name, _, rest = line.strip().partition("  ")
        yield of_text(name, " ".join(rest.split()))


def data_statement(origin: Origin) -> Statement:
    """The data in a line, with every hyperparameter."""
    told = ((word, value_text(value)) for word, value in origin.parameters.items())
    settings = "".join(f"; {word} = {text}" for word, text in told if text)
    counted = ""
    if is_weighted(origin.data):
        counted = (
            f" (each counts as often as it weighs, n = {number_text(origin.data.total_weight)})"
        )
    names = getattr(origin.data, "feature_names", ())
    named = f"; {legend(names)}" if names else ""
    return in_words("data", f"{value_text(origin.data)}{counted}{named}{settings}")


def _name(row: Row) -> str:
    return row.name + (f"[{','.join(row.indices)}]" if row.indices else "")


def _for_all(model: pyo.ConcreteModel, formula: Formula, row: Row) -> str:
    if row.which:
        return f"for {row.which}"
    component = model.component(row.name)
    if not row.indices or component is None:
        return ""
    sets = [formula.ranges.get(letter, letter.upper()) for letter in row.indices]
    pairs = [f"{letter} in {name}" for letter, name in zip(row.indices, sets, strict=True)]
    return f"for {', '.join(pairs)} ({len(component)})"


def _unbounded(model: pyo.ConcreteModel, formula: Formula) -> Iterator[Statement]:
    """Variables that the formula gives no bounds."""
    named = {word for text in formula.domain for word in _WRITTEN.findall(text)}
    found = [
        str(component.local_name)
        for component in model.component_objects(pyo.Var, descend_into=False)
        if component.local_name not in named
    ]
    free = [name for name in found if name not in formula.boxed]
    boxed = [name for name in found if name in formula.boxed]
    if free:
        yield in_words("free", ", ".join(free))
    if boxed:
        yield in_words("boxed", f"{', '.join(boxed)}, by proven bounds that some optimum meets")


CELL = 64  # characters of a formula in a console
SIGNS = {"": "", ADDED: "+", REMOVED: "-", CHANGED: r"\sim"}


@dataclass(frozen=True, eq=False, repr=False)
class Mathematics(Printed):
    """A model as mathematics: text by print(), HTML in a notebook, LaTeX by `to_latex`.

    statements: objective, rows, bounds, abbreviations and data, then what was edited.
    """

    title: str
    statements: tuple[Statement, ...]

    @property
    def edits(self) -> tuple[Statement, ...]:
        """What is not as it was built."""
        return tuple(line for line in self.statements if line.mark)

    def _page(self) -> Page:
        first = 0 if self.edits else 1  # no column for marks that nothing has
        rows = [(line.mark, line.name, line.text, line.where) for line in self.statements]
        marked = [
            (
                f"<strong>{line.mark}</strong>",
                html.escape(line.name),
                line.html,
                html.escape(line.where),
            )
            for line in self.statements
        ]
        return Page(
            self.title,
            rows=[row[first:] for row in rows],
            marked=[row[first:] for row in marked],
            cell=CELL,
        )

    def to_latex(self) -> str:
        """One array, a line for each statement."""
        lines = [
            (
                SIGNS[line.mark],
                upright(line.name),
                rf"\displaystyle {line.latex}",
                upright(line.where),
            )
            for line in self.statements
        ]
        body = " \\\\\n".join(" & ".join(cells) for cells in lines)
        return f"\\begin{{array}}{{llll}}\n{body}\n\\end{{array}}"

    def _repr_latex_(self) -> str:
        return f"${self.to_latex()}$"


def show(model: pyo.ConcreteModel, rows: int = 0) -> Mathematics:
    """A model as mathematics.

    Parameters
    ----------
    model : ConcreteModel
        Of the catalogue: its formula at its own mode of the intercept, and what was edited since,
        as `tightmargin.diff` finds it (which also decides what an edit does). Any other: its
        components, each by its first row.
    rows : int
        How many rows of each family to write out with their numbers.

    Returns
    -------
    Mathematics
        Short as it prints itself, whole by print(); HTML in a notebook; `to_latex()`.

    Raises
    ------
    TypeError
        Something that is no constructed Pyomo model.
    ValueError
        A negative number of rows; a variable of another model in one of the catalogue's.

    Examples
    --------
    >>> import tightmargin as tm
    >>> print(tm.show(tm.c_svc(tm.TrainingData([[0.0], [1.0]], [-1, 1]), C=2.0)))
    c_svc (QP): C-SVC, the soft margin with a cost on every slack.
        min        1/2 ||w||^2 + C sum_i s_i xi_i
        margin[i]  y_i (<w, x_i> + b) + xi_i >= 1               for i in I (2)
        bounds     xi_i >= 0
        free       w, b
        data       TrainingData: 2 points, 1 feature; C = 2; intercept = free
    """
    refuse_other_objects("show", model)
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 0:
        raise ValueError(f"rows must be a whole number of at least 0, got {rows!r}")
    known = isinstance(getattr(model, "origin", None), Origin)
    if not known:
        return Mathematics(_title(model, known=False), tuple(component_statements(model, rows)))
    edits = list(_edits(model))
    new = {line.name.partition("[")[0] for line in edits if line.mark == ADDED}
    built = [family for family in families(model) if str(family.name) not in new]
    stated = _stated(model, built)
    expanded = [line for family in built if rows for line in first_rows(family, rows)]
    return Mathematics(_title(model, known=True), (*stated, *expanded, *edits))


def _title(model: pyo.ConcreteModel, *, known: bool) -> str:
    if known:
        entry = CATALOGUE[model.origin.entry]
        return f"{entry.name} ({entry.problem_class}): {entry.title}"
    variables = sum(len(part) for part in model.component_objects(pyo.Var, descend_into=True))
    found = sum(len(family) for family in families(model))
    return f"{model.name}: {count_text(variables, 'variable')}, {count_text(found, 'row')}"


def _stated(model: pyo.ConcreteModel, built: list[Any]) -> list[Statement]:
    """What the paper says, and the families of rows that it does not name."""
    formula = formulas().get(model.origin.entry)
    if formula is not None and formula.minimise:
        named = {row.name for row in formula.rows}
        lines = list(formula_statements(model, formula))
        for family in built:
            if family.local_name not in named:
                lines += first_rows(family, 1)
    else:
        lines = list(docstring_statements(model)) or list(component_statements(model))
    return [*lines, data_statement(origin_now(model))]


# --- edits ---------------------------------------------------------------------------------------


def _edits(model: pyo.ConcreteModel) -> Iterator[Statement]:
    """What was changed, families of rows together; what it does is not asked here."""
    for _, group in groupby(diff(model, time_limit=0.0).changes, key=_family):
        changes = list(group)
        first = _edit(changes[0])
        left = len(changes) - 1
        yield replace(first, where=f"and {left} more") if left else first


def _family(change: Change) -> tuple[str, str, str]:
    return change.kind, change.action, re.split(r"[\[ ]", change.name)[0]


def _edit(change: Change) -> Statement:
    was = f"was {change.before}" if change.action == "changed" else ""
    name = change.name or change.kind
    return of_text(name, change.after or change.before, was, MARKS[change.action])
