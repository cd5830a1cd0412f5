"""A model of the catalogue as its paper states it, at its own mode of the intercept."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.formulations.data.feature_names import legend
from tightmargin.formulations.data.point_weights import is_weighted
from tightmargin.formulations.formulas.formula import Formula, Row
from tightmargin.formulations.formulas.modes import at_mode
from tightmargin.number_words import number_text
from tightmargin.printing import value_text
from tightmargin.solvers.showing.statements import Statement, in_words, of_nodes, of_text

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
