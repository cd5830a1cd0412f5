"""A free intercept in a lifted model needs a bound, or the relaxation is worth nothing."""

from __future__ import annotations

import pyomo.environ as pyo

from formulations.big_m import derive_intercept_bound
from formulations.data import GramData, TrainingData
from formulations.parameters import add_parameter, positive


def intercept_bound_value(
    data: TrainingData | GramData,
    penalty: float | None,
    intercept: str,
    bound: float | str | None,
) -> float | None:
    """Number B with |b| <= B at some optimum; None when the intercept is not free.

    Raises
    ------
    ValueError
        Free intercept without a bound, a bound where none belongs, or "derived" without a
        penalty to derive it from.
    """
    if intercept != "free":
        if bound is not None:
            raise ValueError(f"intercept_bound belongs to intercept=free, not {intercept}")
        return None
    if bound is None:
        raise ValueError(
            "a free intercept needs intercept_bound, a number or 'derived': W_bb costs nothing, "
            "so without a bound on |b| every T_i grows at no price and the SDP value is 0"
        )
    if isinstance(bound, str):
        if bound != "derived" or penalty is None:
            allowed = "a number" if penalty is None else "a number or 'derived'"
            raise ValueError(f"intercept_bound must be {allowed} here, got {bound!r}")
        return derive_intercept_bound(data.points, penalty=penalty)
    return positive("intercept_bound", bound)


def add_intercept_bound(
    m: pyo.ConcreteModel,
    data: TrainingData | GramData,
    intercept: str,
    bound: float | str | None,
) -> None:
    """Row  intercept_row: W_bb <= intercept_bound^2  when the intercept is free."""
    penalty = pyo.value(m.penalty) if m.find_component("penalty") is not None else None
    value = intercept_bound_value(data, penalty, intercept, bound)
    if value is not None:
        add_parameter(m, "intercept_bound", value)
        m.intercept_row = pyo.Constraint(expr=m.W[data.d, data.d] <= m.intercept_bound**2)
