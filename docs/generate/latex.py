"""LaTeX of the expressions in docs/formulas."""

from __future__ import annotations

import ast
from collections.abc import Mapping

# Of hyperparameters the letter of the paper; the page says which word it stands for.
SYMBOLS = {
    "ridge": r"\lambda", "penalty": r"\lambda", "norm_bound": "H", "hull_bound": "D",
    "big_m": "M", "budget": r"\kappa", "truncation": "s", "rank": "r", "tau": r"\tau",
    "nu": r"\nu", "beta": r"\beta", "pi": r"\pi", "C": "C", "intercept_bound": "B",
    "w_ref": r"w_{\mathrm{ref}}", "value_at_risk": "a",
}  # fmt: skip
_NAMES = SYMBOLS | {
    "xi": r"\xi", "alpha": r"\alpha", "gamma": r"\gamma", "rho": r"\rho", "wt": r"\tilde w",
    "xt": r"\tilde x", "v_b": "v_b", "W1": "W_1", "W2": "W_2", "lo": r"\ell", "up": r"u^{\max}",
    "norm_limit": "N", "b_low": r"b_{\mathrm{low}}", "b_high": r"b_{\mathrm{high}}", "last": "b",
}  # fmt: skip
_COMPARISONS = {ast.GtE: r"\ge", ast.LtE: r"\le", ast.Eq: "=", ast.NotEq: r"\ne", ast.In: r"\in"}
_ADD, _MULTIPLY, _POWER, _ATOM = range(4)
# Number of arguments, LaTeX, how tightly it binds, and how tightly its arguments must.
_FUNCTIONS = {
    "norm2": (1, r"\lVert {0}\rVert^2", _POWER, _ADD),
    "inner": (2, r"\langle {0}, {1}\rangle", _ATOM, _ADD),
    "tr": (1, r"\operatorname{{tr}} {0}", _MULTIPLY, _ATOM),
    "t": (1, r"{0}^\top", _POWER, _ATOM),
    "outer": (1, r"{0} {0}^\top", _MULTIPLY, _ATOM),
    "eye": (1, "I", _ATOM, _ADD),
    "delta": (2, "[{0} = {1}]", _ATOM, _ADD),
}


def latex(text: str, templates: Mapping[str, str] | None = None) -> str:
    """LaTeX of an expression or comparison.

    Raises
    ------
    ValueError
        Something the language of formula.py has no word for.
    """
    return _Printer(templates or {}).show(ast.parse(text, mode="eval").body)[0]


def letter(name: str) -> str:
    """Symbol of a name."""
    return _NAMES.get(name, name)


def _ends_in_sum(node: ast.expr) -> bool:
    """Whether what follows would be read as part of a sum."""
    match node:
        case ast.Call(func=ast.Name(id="sum")):
            return True
        case ast.BinOp(op=ast.Mult(), right=right):
            return _ends_in_sum(right)
    return False


class _Printer:
    """Shows a node as LaTeX, together with how tightly it binds."""

    def __init__(self, templates: Mapping[str, str]) -> None:
        self.templates = templates

    def show(self, node: ast.expr) -> tuple[str, int]:
        match node:
            case ast.Constant(value=value):
                return f"{value}", _ATOM
            case ast.Name(id=name):
                return letter(name), _ATOM
            case ast.Set(elts=members):
                return rf"\{{{', '.join(self.text(x) for x in members)}\}}", _ATOM
            case ast.Compare(left=left, ops=ops, comparators=right):
                shown = [self.text(left)]
                for op, side in zip(ops, right, strict=True):
                    shown += [_COMPARISONS[type(op)], self.text(side)]
                return " ".join(shown), _ADD
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"-{self.text(operand, _MULTIPLY)}", _ADD
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                return self._entry(name, index), _ATOM
            case ast.BinOp():
                return self._operation(node)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(name, args)
        raise ValueError(f"no word for {ast.dump(node)}")

    def text(self, node: ast.expr, least: int = _ADD) -> str:
        """LaTeX in parentheses unless it binds at least that tightly."""
        shown, binding = self.show(node)
        return shown if binding >= least else rf"\left({shown}\right)"

    def _entry(self, name: str, index: ast.expr) -> str:
        indices = index.elts if isinstance(index, ast.Tuple) else [index]
        shown = [self.text(each) for each in indices]
        if name in self.templates:
            return self.templates[name].format(*shown)
        separator = "," if any(len(each) > 1 for each in shown) else ""
        whole = letter(name)
        below = separator.join(shown)
        if "_" in whole:  # a symbol with an index of its own
            return rf"({whole})_{{{below}}}"
        return rf"{whole}_{{{below}}}"

    def _operation(self, node: ast.BinOp) -> tuple[str, int]:
        left, right = node.left, node.right
        match node.op:
            case ast.Add():
                return f"{self.text(left)} + {self.text(right)}", _ADD
            case ast.Sub():
                return f"{self.text(left)} - {self.text(right, _MULTIPLY)}", _ADD
            case ast.Mult():
                if isinstance(left, ast.UnaryOp):  # -a b, not (-a) b
                    return f"-{self.text(ast.BinOp(left.operand, ast.Mult(), right))}", _ADD
                first = self.text(left, _ATOM if _ends_in_sum(left) else _MULTIPLY)
                second = self.text(right, _MULTIPLY)
                dot = r"\cdot " if second[:1].isdigit() else r"\,"
                return f"{first}{dot}{second}", _MULTIPLY
            case ast.Div():
                size = "tfrac" if isinstance(left, ast.Constant) else "frac"
                return rf"\{size}{{{self.text(left)}}}{{{self.text(right)}}}", _POWER
            case ast.Pow():
                return f"{self.text(left, _ATOM)}^{{{self.text(right)}}}", _POWER
        raise ValueError(f"no word for {ast.dump(node)}")

    def _call(self, name: str, args: list[ast.expr]) -> tuple[str, int]:
        match name, args:
            case "sum", [ast.Name(id=index), body, *condition]:
                return self._sum(index, body, condition), _MULTIPLY
            case "psd", [matrix]:
                return rf"{self._matrix(matrix)} \succeq 0", _ADD
            case "priced", [body]:
                return self.show(body)
        if name not in _FUNCTIONS or len(args) != _FUNCTIONS[name][0]:
            raise ValueError(f"no word for {name} with {len(args)} arguments")
        _, pattern, binding, least = _FUNCTIONS[name]
        return pattern.format(*(self.text(each, least) for each in args)), binding

    def _sum(self, index: str, body: ast.expr, condition: list[ast.expr]) -> str:
        below = self.text(condition[0]) if condition else index
        if condition and not below.startswith(f"{index} "):
            below = rf"{index}\,:\,{below}"
        return rf"\sum_{{{below}}} {self.text(body, _MULTIPLY)}"

    def _matrix(self, node: ast.expr) -> str:
        if not isinstance(node, ast.List):
            return self.text(node)
        rows = [row.elts for row in node.elts if isinstance(row, ast.List)]
        shown = r"\\ ".join(" & ".join(self.text(entry) for entry in row) for row in rows)
        return rf"\begin{{pmatrix}} {shown}\end{{pmatrix}}"
