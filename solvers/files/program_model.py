"""A Pyomo model of what a file says, with indexed components where names have indices.

w[0], w(0)       m.w[0]
W[0,1], W(0_1)   m.W[0, 1]         Pyomo's LP and MPS files have the second spelling
c_l_margin(3)_   m.margin[3]       of a row
a.b, 2nd         m.a_b, m.column["2nd"]
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterator
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from tightmargin.formulations.modeling.semidefinite import psd
from tightmargin.solvers.files.program import Program, Sum

Place = tuple[str, Any]  # component, and index or None

_INDEXED = re.compile(r"(.*[^\[\]()])(?:\[([^\[\]]*)\]|\(([^()]*)\))$")
_ROW = re.compile(r"[cr]_[leu]_(.*)_$")
_ODD = re.compile(r"\W+")


def program_model(program: Program, name: str) -> tuple[pyo.ConcreteModel, list[Any]]:
    """The model, its parts named as in the file as far as Pyomo can, and its rows in order."""
    model = pyo.ConcreteModel(name)
    taken = set(dir(model)) | {"objective"}
    variables = _variables(model, program, taken)
    rows = [_ROW.sub(r"\1", row.name) for row in program.rows]
    places = list(_places(rows, "row", taken))
    for component in dict.fromkeys(component for component, _ in places):
        keys = [key for other, key in places if other == component]
        if keys != [None]:
            model.add_component(component, pyo.Constraint(pyo.Any))
    constraints: list[Any] = []
    for row, (component, key) in zip(program.rows, places, strict=True):
        if not row.body.linear and not row.body.products:
            expression: Any = _never(variables, row.name)
        else:
            body = _expression(row.body, variables)
            if row.lower == row.upper:
                expression = body == row.upper
            else:
                expression = pyo.inequality(_end(row.lower), body, _end(row.upper))
        if row.lower == -math.inf and row.upper == math.inf:
            expression = pyo.Constraint.Feasible
        if key is None:
            model.add_component(component, pyo.Constraint(expr=expression))
        else:
            model.component(component)[key] = expression
        found = model.component(component)
        constraints.append(found if key is None else found[key])
    for matrix in program.matrices:
        component = _free(_ODD.sub("_", matrix.name).strip("_"), taken)
        taken.add(f"{component}_smallest_eigenvalue")
        entries = iter([_expression(entry, variables) for entry in matrix.entries])
        size = math.isqrt(2 * len(matrix.entries))
        psd(model, component, [[next(entries) for _ in range(i + 1)] for i in range(size)])
    model.objective = pyo.Objective(
        expr=_expression(program.objective, variables),
        sense=pyo.maximize if program.maximise else pyo.minimize,
    )
    return model, constraints


def _never(variables: list[Any], name: str) -> Any:
    """0 >= 1, which Pyomo states with a variable alone."""
    if not variables:
        raise ValueError(f"row {name} of a file without variables can never hold")
    return LinearExpression(linear_coefs=[0.0], linear_vars=variables[:1]) >= 1


def _variables(model: pyo.ConcreteModel, program: Program, taken: set[str]) -> list[Any]:
    places = list(_places(program.names, "column", taken))
    keys: dict[str, list[Any]] = {}
    for component, key in places:
        keys.setdefault(component, []).append(key)
    for component, found in keys.items():
        model.add_component(component, pyo.Var() if found == [None] else pyo.Var(found))
    variables = [
        model.component(component) if key is None else model.component(component)[key]
        for component, key in places
    ]
    for variable, low, high, integer in zip(
        variables, program.lower, program.upper, program.integer, strict=True
    ):
        variable.setlb(_end(low))
        variable.setub(_end(high))
        if integer:
            variable.domain = pyo.Binary if (low, high) == (0.0, 1.0) else pyo.Integers
    return variables


def _end(side: float) -> float | None:
    return float(side) if math.isfinite(side) else None


def _expression(body: Sum, variables: list[Any]) -> Any:
    linear = LinearExpression(
        constant=body.constant,
        linear_coefs=list(body.linear.values()),
        linear_vars=[variables[j] for j in body.linear],
    )
    products = (v * variables[i] * variables[j] for (i, j), v in body.products.items())
    return linear + sum(products) if body.products else linear


# --- names ----------------------------------------------------------------------------------------


def _places(names: list[str], other: str, taken: set[str]) -> Iterator[Place]:
    """Where each name goes; into the component `other` where it can have none of its own."""
    parsed = [_parsed(name) for name in names]
    found: dict[str, list[Any]] = {}
    for place in parsed:
        if place is not None:
            found.setdefault(place[0], []).append(place[1])
    clear = {component for component, keys in found.items() if _are_one_index(keys)}
    called = {component: _free(component, taken) for component in found if component in clear}
    rest = _free(other, taken)
    used: set[str] = set()
    for k, (name, place) in enumerate(zip(names, parsed, strict=True)):
        if place is not None and place[0] in called:
            yield called[place[0]], place[1]
        else:
            key = k if not name or name in used else name
            used.add(name)
            yield rest, key


def _parsed(name: str) -> Place | None:
    """Component and index of a name; None for one that Pyomo cannot have."""
    match = _INDEXED.match(name)
    stem, key = (match.group(1), match.group(2) or match.group(3)) if match else (name, None)
    stem = _ODD.sub("_", stem).strip("_")
    if not stem.isidentifier() or keyword.iskeyword(stem):
        return None
    if key is None:
        return stem, None
    parts = re.split(r"," if match is not None and match.group(2) else r"[_,]", key)
    if all(re.fullmatch(r"-?\d+", part) for part in parts):
        numbers = tuple(map(int, parts))
        return stem, numbers if len(numbers) > 1 else numbers[0]
    return stem, key


def _are_one_index(keys: list[Any]) -> bool:
    """Whether keys are those of one component: all different and of one kind, or none at all."""
    if None in keys:
        return keys == [None]
    kinds = {len(key) if isinstance(key, tuple) else type(key) for key in keys}
    return len(kinds) == 1 and len(set(keys)) == len(keys)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
