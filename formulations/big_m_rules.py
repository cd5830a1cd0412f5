"""big_m="derived" as a rule: per entry, where M stands and what it must be for a known objective.

The numbers of a model follow from a point of the model as it was built. An edit may leave no point
as good, and then the same rule gives other numbers from a point of the edited model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.multiclass.hinge import class_costs
from tightmargin.formulations.multiclass.truncated_hinge import (
    big_m_everywhere as truncated_everywhere,
)
from tightmargin.formulations.multiclass.truncated_hinge import big_m_paid, cap_of
from tightmargin.formulations.zero_one.big_m import (
    BigM,
    big_m_below,
    big_m_everywhere,
    ramp_big_m_below,
    ramp_big_m_everywhere,
)
from tightmargin.formulations.zero_one.ramp import (
    ramp_l1_big_m_below,
    ramp_l1_big_m_everywhere,
)

__all__ = ["BigM", "BigMRule", "big_m_rule"]

ZERO_ONE = ("zero_one_big_m", "zero_one_relaxed", "zero_one_hinge")
RAMP = ("ramp_big_m", "ramp_relaxed")
RAMP_L1 = ("ramp_l1_big_m", "ramp_l1_relaxed")
TRUNCATED = ("multiclass_truncated", "multiclass_truncated_relaxed")


@dataclass(frozen=True, eq=False)
class BigMRule:
    """Where an entry has its M, and what it has to be.

    row: component with the rows  body + M_i z_i >= side; a point is given up where z_i = 1.
    everywhere(V) -> array: M that every point of the source problem with objective at most V
        satisfies; infinite where none is known. It asks of the objective that it is the builder's
        or never below it, and of the variables that they keep within the builder's bounds.
    at_an_optimum(V) -> array: M that keeps some optimum of the model as it is built, if that is at
        most V.
    needs_rows: whether `everywhere` asks besides that no such row is missing: with a free
        intercept.
    lowered: variables that the statement takes to be as small as the rows let them.
    """

    row: str
    everywhere: Callable[[float], Array]
    at_an_optimum: Callable[[float], Array]
    needs_rows: bool
    lowered: frozenset[str] = frozenset()


def big_m_rule(origin: Origin) -> BigMRule | None:
    """The rule of an entry with the hyperparameters of a model; None for one without an M."""
    data, p = origin.data, origin.parameters
    if origin.entry in ZERO_ONE:
        of_count = data.points, p["penalty"], p["intercept"]
        return BigMRule(
            "margin",
            lambda value: big_m_everywhere(*of_count, value),
            lambda value: big_m_below(*of_count, value).values,
            p["intercept"] == "free",
        )
    if origin.entry in RAMP:
        of_ramp = data, p["C"], p["intercept"]
        return BigMRule(
            "margin",
            lambda value: ramp_big_m_everywhere(*of_ramp, value),
            lambda value: ramp_big_m_below(*of_ramp, value).values,
            p["intercept"] == "free",
        )
    if origin.entry in RAMP_L1:
        of_sizes = data, p["C"], p["intercept"]
        return BigMRule(
            "margin",
            lambda value: ramp_l1_big_m_everywhere(*of_sizes, value),
            lambda value: ramp_l1_big_m_below(*of_sizes, value),
            p["intercept"] == "free",
        )
    if origin.entry in TRUNCATED:
        costs, cap = class_costs(data, p["class_weight"]), cap_of(p["truncation"])
        of_classes = data, costs, cap, p["ridge"], p["intercept"]
        return BigMRule(
            "covered",
            lambda value: truncated_everywhere(*of_classes, value),
            lambda value: big_m_paid(*of_classes, value)[0],
            p["intercept"] == "free",
            frozenset({"v"}),
        )
    return None
