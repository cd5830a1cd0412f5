"""Formulas of formulations/formulas evaluated with numpy at the values of a built model."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tests.inside.formulations import Formula, SlackBounds

OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "tr": lambda matrix: float(np.trace(matrix)),
    "t": lambda matrix: matrix.T,
    "outer": lambda vector: np.outer(vector, vector),
    "eye": lambda matrix: np.eye(len(matrix)),
    "delta": lambda first, second: float(first == second),
    "psd": lambda matrix: [(">=", float(np.linalg.eigvalsh(matrix)[0]))],
}


def array_of(component: Any, symmetric: bool) -> Any:
    """Values of a Var or Param: a number, or an array with nan where there is no entry."""
    if not component.is_indexed():
        return float(pyo.value(component))
    keys = [key if isinstance(key, tuple) else (key,) for key in component]
    shape = tuple(max(key[axis] for key in keys) + 1 for axis in range(len(keys[0])))
    array = np.full(shape, np.nan)
    for key, entry in zip(keys, component.values(), strict=True):
        array[key] = pyo.value(entry)
        if symmetric:
            array[key[::-1]] = pyo.value(entry)
    return array


class Values:
    """Names of a formula with their numbers.

    `extra` are names that are neither components of the model nor its data.
    """

    def __init__(self, formula: Formula, model: Any, extra: Mapping[str, Any]) -> None:
        self.formula, self.model = formula, model
        origin = model.origin
        self.mode, data = origin.parameters["intercept"], origin.data
        names: dict[str, Any] = {"n": data.n, "d": data.d, "y": data.y, "x": data.X, "f": data.X}
        names |= {
            word: value
            for word, value in origin.parameters.items()
            if isinstance(value, int | float | np.ndarray)
        }
        for component in model.component_objects((pyo.Var, pyo.Param), descend_into=False):
            square = component.local_name in (*formula.symmetric, "W")
            if len(component) or not component.is_indexed():
                names[component.local_name] = array_of(component, square)
        names.setdefault("b", np.zeros(99) if "B" in names else 0.0)  # 0 without an intercept
        ones = {"none": 0, "free": 1, "penalised": 1}[self.mode]
        names["xt"] = np.hstack([data.X, np.ones((data.n, 1))[:, :ones]])
        if names.get("w") is not None:
            names["wt"] = np.append(names["w"], [names["b"]][:ones])
        if "shape" in origin.parameters:
            rows, columns = (int(side) for side in origin.parameters["shape"].split("x"))
            names.setdefault("B", names["w"].reshape(rows, columns))
        D = np.eye(names["xt"].shape[1])
        if self.mode == "free":  # 0, or the variable that conic_sdp_dual has in its place
            D[-1, -1] = names["beta"] if "tau" in names and "beta" in names else 0.0
        names |= {"D": D, "last": data.d}
        self.names = names | dict(extra)

    def of(self, text: str, **indices: Any) -> Any:
        """Value of an expression; of a comparison the slacks of its parts."""
        return self._value(ast.parse(text, mode="eval").body, indices)

    def _value(self, node: ast.expr, at: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return at[name] if name in at else self._named(name, ())
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand, at)
            case ast.BinOp(left=left, op=op, right=right):
                return OPERATIONS[type(op)](self._value(left, at), self._value(right, at))
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                return self._named(name, tuple(self._value(part, at) for part in parts))
            case ast.Compare():
                return self._slacks(node, at)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(name, args, at)
        raise ValueError(ast.dump(node))

    def _named(self, name: str, key: tuple[Any, ...]) -> Any:
        for definition in self.formula.where:
            if definition.name == name:
                return self.of(definition.text, **dict(zip(definition.indices, key, strict=True)))
        value = self.names[name]
        if isinstance(value, tuple):
            return value[key[0]]
        return value[key] if key else value

    def _slacks(self, node: ast.Compare, at: Mapping[str, Any]) -> list[tuple[str, float]]:
        sides = [self._value(side, at) for side in (node.left, *node.comparators)]
        found = []
        for op, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True):
            match op:
                case ast.GtE():
                    found.append((">=", left - right))
                case ast.LtE():
                    found.append((">=", right - left))
                case ast.Eq():
                    found.append(("==", left - right))
                case _:
                    raise ValueError(ast.dump(op))
        return found

    def holds(self, node: ast.expr, at: Mapping[str, Any]) -> bool:
        """Whether the condition of a sum holds."""
        assert isinstance(node, ast.Compare)
        left, right = self._value(node.left, at), self._value(node.comparators[0], at)
        return bool(left in right if isinstance(node.ops[0], ast.In) else left == right)

    def _call(self, name: str, args: list[ast.expr], at: Mapping[str, Any]) -> Any:
        if name == "unary":
            assert isinstance(args[0], ast.Constant)
            return {"exp": np.exp, "log": np.log}[args[0].value](self._value(args[1], at))
        if name == "sum":
            index, body, *condition = args
            assert isinstance(index, ast.Name)
            letters = self.formula.ranges.get(index.id, index.id.upper())
            keys = [{**at, index.id: key} for key in getattr(self.model, letters)]
            kept = [key for key in keys if not condition or self.holds(condition[0], key)]
            return sum(self._value(body, key) for key in kept)
        if name == "psd" and isinstance(args[0], ast.List):
            rows = [[self._block(x, at) for x in row.elts] for row in args[0].elts]
            return [(">=", float(np.linalg.eigvalsh(np.block(rows))[0]))]
        values = [self._value(arg, at) for arg in args]
        if name == "norm2":
            return float(np.sum(values[0] ** 2)) + self._price(args[0], at)
        if name == "inner":
            return self._inner(*values)
        if name == "priced":
            return values[0] + (self.names["b"] ** 2 if self.mode == "penalised" else 0)
        return FUNCTIONS[name](*values)

    def _inner(self, first: np.ndarray, second: np.ndarray) -> float:
        """<first, second>; a weight has its penalised intercept where the other has an entry."""
        if self.mode == "penalised" and np.size(first) == np.size(second) + 1:
            second = np.append(second, self.names["b"])
        assert np.shape(first) == np.shape(second)
        return float(np.sum(first * second))

    def _price(self, node: ast.expr, at: Mapping[str, Any]) -> float:
        """b^2 of a penalised intercept, unless the vector holds it already."""
        if self.mode != "penalised" or (isinstance(node, ast.Name) and node.id == "wt"):
            return 0.0
        if isinstance(node, ast.Subscript):
            return float(self._value(ast.parse("b[k]", mode="eval").body, at) ** 2)
        return float(self.names.get("v_b", self.names["b"]) ** 2)

    def _block(self, node: ast.expr, at: Mapping[str, Any]) -> np.ndarray:
        value = np.asarray(self._value(node, at), dtype=float)
        if value.ndim == 1:
            turned = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "t"
            return value[None, :] if turned else value[:, None]
        return value if value.ndim == 2 else value.reshape(1, 1)


def bounds_of(text: str) -> tuple[str, str | None, str | None, bool]:
    """Variable of a domain with the texts of its bounds, and whether it is 0 or 1."""
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Compare)
    sides = [node.left, *node.comparators]

    def name(side: ast.expr) -> str:
        inner = side.value if isinstance(side, ast.Subscript) else side
        return inner.id if isinstance(inner, ast.Name) else ""

    match node.ops:
        case [ast.In()]:
            return name(sides[0]), "0", "1", True
        case [ast.GtE()]:
            return name(sides[0]), ast.unparse(sides[1]), None, False
        case [ast.LtE(), ast.LtE()]:
            return name(sides[1]), ast.unparse(sides[0]), ast.unparse(sides[2]), False
    raise ValueError(text)


def slack_bound_names(bounds: SlackBounds, room: float) -> dict[str, Any]:
    """Names of the strengthened SDP."""
    return {
        "lo": bounds.lower, "up": bounds.upper, "norm_limit": bounds.norm2, "S": bounds.conflicts,
        "U": np.maximum(bounds.upper, room), "L": np.maximum(-bounds.lower, room),
        "b_low": bounds.intercept[0], "b_high": bounds.intercept[1],
    }  # fmt: skip
