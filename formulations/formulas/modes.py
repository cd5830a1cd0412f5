"""A formula at one mode of the intercept: what is squared, and whether there is an intercept."""

from __future__ import annotations

import ast

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
