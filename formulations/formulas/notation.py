"""How an expression is written, whatever it is written in: LaTeX, plain text or HTML.

The structure is here: what binds how tightly, and where parentheses are needed. What the parts look
like is each notation's own.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

ADD, MULTIPLY, POWER, ATOM = range(4)
# How tightly each function binds, and how tightly its arguments must.
FUNCTIONS = {
    "norm2": (1, POWER, ADD),
    "inner": (2, ATOM, ADD),
    "tr": (1, MULTIPLY, ATOM),
    "t": (1, POWER, ATOM),
    "outer": (1, MULTIPLY, ATOM),
    "eye": (1, ATOM, ADD),
    "delta": (2, ATOM, ADD),
    "pair": (2, ATOM, ADD),
}


def ends_in_sum(node: ast.expr) -> bool:
    """Whether what follows would be read as part of a sum."""
    match node:
        case ast.Call(func=ast.Name(id="sum")):
            return True
        case ast.BinOp(op=ast.Mult(), right=right):
            return ends_in_sum(right)
    return False


class Notation(ABC):
    """Shows a node, together with how tightly it binds.

    templates: how names with indices are written that are functions in the paper: "f_{k}(x_{i})".
    comparisons: of Python's comparisons, and `open` for what is left out.
    patterns: of the functions.
    """

    comparisons: ClassVar[Mapping[type, str]]
    patterns: ClassVar[Mapping[str, str]]
    left_out: ClassVar[str]

    def __init__(self, templates: Mapping[str, str] | None = None) -> None:
        self.templates = templates or {}

    @abstractmethod
    def symbol(self, name: str) -> str:
        """A name."""

    def number(self, value: object) -> str:
        """A constant."""
        return str(value)

    @abstractmethod
    def below(self, whole: str, indices: Sequence[str]) -> str:
        """A name with indices."""

    @abstractmethod
    def parentheses(self, text: str) -> str:
        """A text in parentheses."""

    @abstractmethod
    def members(self, texts: Sequence[str]) -> str:
        """A set."""

    @abstractmethod
    def product(self, first: str, second: str) -> str:
        """Two factors."""

    @abstractmethod
    def fraction(self, left: str, right: str, *, small: bool) -> str:
        """A quotient."""

    @abstractmethod
    def power(self, base: str, exponent: str) -> str:
        """A power."""

    @abstractmethod
    def total(self, below: str, body: str) -> str:
        """A sum."""

    @abstractmethod
    def matrix(self, rows: Sequence[Sequence[str]]) -> str:
        """A matrix of blocks."""

    @abstractmethod
    def semidefinite(self, matrix: str) -> str:
        """That a matrix is semidefinite."""

    @abstractmethod
    def function(self, name: str, argument: str) -> str:
        """A function of a solver's, such as exp."""

    @abstractmethod
    def templated(self, template: str, indices: Sequence[str]) -> str:
        """A template with its indices."""

    def of(self, text: str) -> str:
        """An expression or comparison in the language of formula.py.

        Raises ValueError: something the language has no word for.
        """
        return self.text(ast.parse(text, mode="eval").body)

    def text(self, node: ast.expr, least: int = ADD) -> str:
        """A node, in parentheses unless it binds at least that tightly."""
        shown, binding = self.show(node)
        return shown if binding >= least else self.parentheses(shown)

    def show(self, node: ast.expr) -> tuple[str, int]:
        """A node and how tightly it binds."""
        match node:
            case ast.Constant(value=value):
                return (self.left_out if value is ... else self.number(value)), ATOM
            case ast.Name(id=name):
                return self.symbol(name), ATOM
            case ast.Set(elts=members):
                return self.members([self.text(x) for x in members]), ATOM
            case ast.Compare(left=left, ops=ops, comparators=right):
                shown = [self.text(left)]
                for op, side in zip(ops, right, strict=True):
                    shown += [self.comparisons[type(op)], self.text(side)]
                return " ".join(shown), ADD
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"-{self.text(operand, MULTIPLY)}", ADD
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                return self._entry(name, index), ATOM
            case ast.BinOp():
                return self._operation(node)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(name, args)
        raise ValueError(f"no word for {ast.dump(node)}")

    def _entry(self, name: str, index: ast.expr) -> str:
        indices = index.elts if isinstance(index, ast.Tuple) else [index]
        shown = [self.text(each) for each in indices]
        if name in self.templates:
            return self.templated(self.templates[name], shown)
        return self.below(self.symbol(name), shown)

    def _operation(self, node: ast.BinOp) -> tuple[str, int]:
        left, right = node.left, node.right
        match node.op:
            case ast.Add():
                return f"{self.text(left)} + {self.text(right)}", ADD
            case ast.Sub():
                return f"{self.text(left)} - {self.text(right, MULTIPLY)}", ADD
            case ast.Mult():
                if isinstance(left, ast.UnaryOp):  # -a b, not (-a) b
                    return f"-{self.text(ast.BinOp(left.operand, ast.Mult(), right))}", ADD
                first = self.text(left, ATOM if ends_in_sum(left) else MULTIPLY)
                return self.product(first, self.text(right, MULTIPLY)), MULTIPLY
            case ast.Div():
                return self._quotient(left, right), POWER
            case ast.Pow():
                return self.power(self.text(left, ATOM), self.text(right)), POWER
        raise ValueError(f"no word for {ast.dump(node)}")

    def _quotient(self, left: ast.expr, right: ast.expr) -> str:
        small = isinstance(left, ast.Constant)
        return self.fraction(self.text(left), self.text(right), small=small)

    def _call(self, name: str, args: list[ast.expr]) -> tuple[str, int]:
        match name, args:
            case "sum", [ast.Name(id=index), body, *condition]:
                below = self._condition(index, condition)
                return self.total(below, self.text(body, MULTIPLY)), MULTIPLY
            case "psd", [matrix]:
                return self.semidefinite(self._matrix(matrix)), ADD
            case "priced", [body]:
                return self.show(body)
            case "unary", [ast.Constant(value=word), body]:
                return self.function(str(word), self.text(body)), ATOM
        if name not in FUNCTIONS or len(args) != FUNCTIONS[name][0]:
            raise ValueError(f"no word for {name} with {len(args)} arguments")
        _, binding, least = FUNCTIONS[name]
        return self.patterns[name].format(*(self.text(each, least) for each in args)), binding

    def _condition(self, index: str, condition: list[ast.expr]) -> str:
        if not condition:
            return index
        below = self.text(condition[0])
        return below if below.startswith(f"{index} ") else self.such_that(index, below)

    @abstractmethod
    def such_that(self, index: str, condition: str) -> str:
        """An index with a condition on it."""

    def _matrix(self, node: ast.expr) -> str:
        if not isinstance(node, ast.List):
            return self.text(node)
        rows = [row.elts for row in node.elts if isinstance(row, ast.List)]
        return self.matrix([[self.text(entry) for entry in row] for row in rows])
