"""tm.diff: two models row by row, each change decided by a proof or by a point.

Fixed variables take part as variables with one value, so that rows are the same whether something
is fixed or not. A change of Params is followed one Param at a time, on a copy of the former model
in which it alone has its new value.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.number_words import number_text
from tightmargin.solvers.edits.differences.form_changes import Sides, form_changes
from tightmargin.solvers.edits.differences.model_difference import Change, ModelDifference, joined
from tightmargin.solvers.standard_form.readable import refuse_other_objects
from tightmargin.solvers.standard_form.standard_form import standard_form


def diff(
    built: pyo.ConcreteModel,
    edited: pyo.ConcreteModel | None = None,
    *,
    time_limit: float | None = None,
) -> ModelDifference:
    """What an edit did, row by row: rows, bounds, fixings, integrality, objective and Params.

    Parameters
    ----------
    built : ConcreteModel
        The model before, or the edited one alone: then the model of the catalogue that it was
        built as is built again.
    edited : ConcreteModel, optional
        The model after. Rows and variables are told apart by their names.
    time_limit : float, optional
        Seconds for all decisions together; what is left then is undecided.

    Returns
    -------
    ModelDifference
        Its repr is short, and print() shows the mathematics of every change, with what proves it:
        `redundant` with multipliers of the rows that imply it, `restriction` and `relaxation` with
        an exactly feasible point of one model that the other one excludes, `other objective`, or
        `undecided`. Neither model is changed.

    Raises
    ------
    TypeError
        Something that is no Pyomo model.
    ValueError
        A model without origin in the catalogue alone, or a variable of a third model.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> model = tm.conic_sdp(data, penalty=1.0)
    >>> model.budget = pyo.Constraint(expr=sum(model.z.values()) <= 4)
    >>> tm.diff(model).restricts, tm.diff(model).relaxes  # no point is new, some are gone
    (True, False)
    """
    refuse_other_objects("diff", built, "built")
    if edited is not None:
        refuse_other_objects("diff", edited, "edited")
    if edited is None:
        built, edited = _as_built(built), built
    began = time.perf_counter()
    limit = math.inf if time_limit is None else time_limit
    until, halfway = began + limit, began + limit / 2
    after = Sides.of(edited, until)
    changes: list[Change] = []
    step = built.clone()
    before = Sides.of(step, halfway)  # a Param may change hundreds of rows, and others wait
    names = _changed_params(built, edited)
    for name in names:
        former = _numbers(step.find_component(name))
        _set_param(step, edited, name)
        now = Sides.of(step, halfway)
        parts = tuple(form_changes(before, now))
        changes.append(_of_param(name, former, _numbers(edited.find_component(name)), parts))
        before = now
    changes += _added_params(built, edited)
    before = replace(before, ground=replace(before.ground, until=until))
    changes += form_changes(before, after)
    sense = standard_form(after.ground.model).sense
    return ModelDifference(tuple(changes), sense, 1 + len(names))


def _as_built(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """The model as its builder wrote it."""
    origin = getattr(model, "origin", None)
    if not isinstance(origin, Origin):
        raise ValueError(
            f"{model.name} is no model of the catalogue: give diff the model before and after"
        )
    return CATALOGUE[origin.entry].build(origin.data, **origin.parameters)


# --- Params --------------------------------------------------------------------------------------


def _params(model: pyo.ConcreteModel) -> Iterator[Any]:
    return model.component_objects(pyo.Param, descend_into=True)


def _numbers(param: Any) -> dict[Any, Any]:
    return {key: pyo.value(entry, exception=False) for key, entry in param.items()}


def _changed_params(built: pyo.ConcreteModel, edited: pyo.ConcreteModel) -> list[str]:
    """Mutable Params of both, over the same elements, with other values."""
    found = []
    for param in _params(built):
        twin = edited.find_component(param.name)
        if twin is None or twin.ctype is not pyo.Param or not param.mutable:
            continue
        old, new = _numbers(param), _numbers(twin)
        if old.keys() == new.keys() and old != new:
            found.append(str(param.name))
    return found


def _set_param(model: pyo.ConcreteModel, edited: pyo.ConcreteModel, name: str) -> None:
    param = model.find_component(name)
    for key, value in _numbers(edited.find_component(name)).items():
        param[key] = value


def _of_param(
    name: str, former: dict[Any, Any], now: dict[Any, Any], parts: tuple[Change, ...]
) -> Change:
    moved = [key for key in now if now[key] != former[key]]
    return Change(
        "Param",
        name,
        _values(name, former, moved),
        _values(name, now, moved),
        joined(part.kept for part in parts),
        joined(part.old for part in parts),
        any(part.other_objective for part in parts),
        all(part.never_lower for part in parts if part.other_objective),
        "" if parts else "nothing rests on it",
        parts=parts,
    )


def _values(name: str, numbers: dict[Any, Any], keys: list[Any]) -> str:
    if len(keys) == 1:
        where = "" if keys[0] is None else f"[{keys[0]}]"
        return f"{name}{where} = {number_text(numbers[keys[0]])}"
    sizes = [numbers[key] for key in keys]
    return f"{len(keys)} of {len(numbers)} values of {name}, {number_text(min(sizes))} to " + (
        number_text(max(sizes))
    )


def _added_params(built: pyo.ConcreteModel, edited: pyo.ConcreteModel) -> list[Change]:
    """Params of one model alone: by themselves they say nothing."""
    found = []
    for first, second, is_new in ((built, edited, False), (edited, built, True)):
        for param in _params(first):
            if second.find_component(param.name) is None:
                text = f"{param.name} with {len(param)} value{'' if len(param) == 1 else 's'}"
                ends = ("", text) if is_new else (text, "")
                words = "a Param by itself says nothing"
                found.append(Change("Param", str(param.name), *ends, words=words))
    return found
