"""What the rows of a catalogue model rest on besides the data: per entry, and how far it goes.

Two kinds of statement are put into models, and they do not survive an edit alike.

every point   A point of the source problem with objective at most V satisfies it. It holds for an
              edited model that only adds rows, bounds and fixings, and has the same objective,
              as long as V is one of its values: then min(bound, V) is a bound on its problem, even
              when nothing attains V.
                  big-M, intercept penalised or none: where z_i = 1 the penalty is paid, hence
                      1 - u_i <= 1 + ||x~_i|| sqrt(V - penalty)              (big_m.py)
                  big-M, intercept free, where V < penalty * (points of the class of i): one of
                      them is kept, hence  1 - u_i <= R_i sqrt(V - penalty)
                  ramp loss, likewise: z_i = 1 pays 2 C whatever xi_i is, hence
                      1 - u_i - xi_i <= 1 + ||x~_i|| sqrt(2 (V - 2 C))
                  with the l1 norm  1 - u_i - xi_i <= 1 + max_j |x~_ij| (V - 2 C)
                  truncated loss, likewise (truncated_hinge.py); but the violation v_i costs
                      nothing, and the statement is about the smallest one
                  bounds of w (and of b, penalised) of zero_one_bilinear, _kernel and _disjunctive,
                  and of t of zero_one_disjunctive_relaxed:
                      ||w||^2 <= V; of w and V of matrix_svc_bilinear: ridge/2 ||B||^2 <= V
                  bounds of a free b of extended_robust_svc, where V <= 0: beyond them every risk
                      is above 0
some optimum  Points may be exchanged for it: it says nothing about a model in which the exchange
              may not be made, and holds for no edit at all.
                  M with a free intercept beyond such V, b of a free intercept in a box, slack
                  bounds with all rows that follow from them (conic_sdp_strengthened), and
                  intercept_bound
              An exchange that lowers z_i to 0 at kept points (rows `outside`, `violated`), or turns
              the factors U and V, is still made as long as the edit leaves these variables alone;
              one that lowers rho of extended_robust_svc to the largest score, and xi with it, too.

Where big_m="derived" stands, M is a rule: the numbers of a model follow from a point of the model
as it was built. An edit may leave no point as good, and then the same rule gives other numbers from
a point of the edited model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

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
from tightmargin.formulations.zero_one.ramp import ramp_l1_big_m_below, ramp_l1_big_m_everywhere
from tightmargin.formulations.zero_one.slack_bounds import STATED, SlackBounds

# --- big_m="derived" as a rule: per entry, where M stands and what it must be for a known objective

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


# --- What the rows of a catalogue model rest on besides the data: per entry, and how far it goes

_SWITCHED = (*ZERO_ONE, *RAMP, *RAMP_L1, *TRUNCATED)
_BOXED = (
    "zero_one_bilinear", "zero_one_kernel", "zero_one_disjunctive", "zero_one_disjunctive_relaxed",
)  # fmt: skip
_OUTSIDE = ("conic_fixed", "conic_sdp_literal", "conic_sdp_rank_one")
_STRENGTHENED = "conic_sdp_strengthened"
_MATRIX, _ROBUST = "matrix_svc_bilinear", "extended_robust_svc"


@dataclass(frozen=True, eq=False)
class Reliance:
    """Rows of a model and what they rest on.

    rows: which rows or bounds.
    quantity: what they rest on.
    stated: whether the user gave it, so that the model with it is what the user wrote; not derived.
    raised: variables that the exchange lowers: an edit that may hold them up breaks it.
    turned: variables that the exchange changes: any edit of them breaks it.
    holds_at(V) -> bool, or None: of the kind "every point": whether it holds for all points of
        objective at most V. None for "some optimum" without variables above.
    needed_at(V) -> array, or None: values of `argument` that would hold there.
    known: objective of the known point that it was derived from.
    argument: of the builder, to be given anew.
    """

    rows: str
    quantity: str
    stated: bool
    raised: frozenset[str] = frozenset()
    turned: frozenset[str] = frozenset()
    holds_at: Callable[[float], bool] | None = None
    needed_at: Callable[[float], Array] | None = None
    known: float | None = None
    argument: str = ""

    @property
    def always_lost(self) -> bool:
        """Whether any edit breaks it."""
        return self.holds_at is None and not self.raised and not self.turned


def reliances(
    written: Origin, now: Origin, fresh: pyo.ConcreteModel, model: pyo.ConcreteModel
) -> tuple[Reliance, ...]:
    """What the rows of an entry rest on.

    written: with the hyperparameters as they were given, words such as "derived" among them.
    now: with the present values of mutable Params.
    fresh: what the builder writes for these.
    model: the edited one, which may hold the proof of its M.
    """
    entry, p = now.entry, now.parameters
    found: list[Reliance] = []
    if entry in _SWITCHED:
        found.append(_big_m(written, now, model))
    if entry in _BOXED:
        found += _box(p, float(pyo.value(fresh.w[0].ub)))
    if entry == _MATRIX:
        found += _ranges(p, float(pyo.value(fresh.w[0].ub)))
    if entry == _ROBUST:
        found += _levels(p)
    if entry in _OUTSIDE:
        found.append(_lowered("rows outside"))
    if entry == _STRENGTHENED:
        found.append(_slack_bounds(p, "all rows but outer"))
    if p.get("intercept_bound") is not None:
        stated = not isinstance(written.parameters["intercept_bound"], str)
        rows = "the objective" if entry == "conic_sdp_dual" else "row intercept_row"
        found.append(Reliance(rows, "intercept_bound", stated, argument="intercept_bound"))
    return tuple(found)


def rests_on_something(origin: Origin) -> bool:
    """Whether `reliances` of a model are not empty, without a model."""
    entries = (*_SWITCHED, *_BOXED, *_OUTSIDE, _STRENGTHENED, _MATRIX, _ROBUST)
    return origin.entry in entries or origin.parameters.get("intercept_bound") is not None


def stated_quantities(origin: Origin) -> tuple[str, ...]:
    """Hyperparameters of a model that may cut points off, whoever they come from."""
    p = origin.parameters
    found = [word for word in ("big_m", "intercept_bound", "slack_bounds", "incumbent")
             if p.get(word) is not None]  # fmt: skip
    return (*found, *(["conflicts"] if p.get("conflicts", "none") != "none" else []))


def unproven_quantities(written: Origin, now: Origin) -> tuple[str, ...]:
    """Those of `stated_quantities` that were not derived for the present hyperparameters."""
    numbers = [word for word, value in written.parameters.items() if isinstance(value, int | float)]
    same = all(np.array_equal(written.parameters[k], now.parameters[k]) for k in numbers)
    given = {word for word, value in written.parameters.items() if not isinstance(value, str)}
    known = [word for word in stated_quantities(now) if word != "incumbent"]
    return tuple(word for word in known if word in given or not same)


def why_infeasible(origin: Origin | None) -> str:
    """What of an unedited model may be why it has no point, or an empty string."""
    words = () if origin is None else stated_quantities(origin)
    if not words:
        return ""
    given = " and ".join(words)
    return (
        f"the {given} of the model as written may be why it has no point; that says nothing about "
        "the paper's problem"
    )


def _big_m(written: Origin, now: Origin, model: pyo.ConcreteModel) -> Reliance:
    p = now.parameters
    if p.get("slack_bounds") is not None:
        return _slack_bounds(p, "rows margin and conflict and the bounds of z")
    rule = big_m_rule(now)
    assert rule is not None
    stated = not isinstance(written.parameters["big_m"], str)
    proof = getattr(model, "big_m_proof", None)
    known = None if stated or proof is None else float(proof.upper_bound)
    given = np.asarray(p["big_m"], dtype=float)
    return Reliance(
        f"rows {rule.row}", "big_m", stated,
        raised=rule.lowered,
        holds_at=lambda value: bool(np.all(given >= rule.everywhere(value))),
        needed_at=rule.everywhere, known=known, argument="big_m",
    )  # fmt: skip


def _box(p: Mapping[str, Any], radius: float) -> list[Reliance]:
    quantity = "the incumbent" if p["incumbent"] is not None else "the best hyperplane with w = 0"
    found = [
        Reliance(
            "bounds of w and b", quantity, False, argument="incumbent", known=radius**2,
            holds_at=None if p["intercept"] == "free" else lambda value: value**0.5 <= radius,
        )
    ]  # fmt: skip
    return found + ([_lowered("rows violated")] if p.get("both_sides") else [])


def _ranges(p: Mapping[str, Any], reach: float) -> list[Reliance]:
    at = (
        None if p["intercept"] == "free" else lambda value: (2 * value / p["ridge"]) ** 0.5 <= reach
    )
    return [
        Reliance(
            "bounds of w, V and b", "the known point", False, holds_at=at, argument="incumbent",
            known=p["ridge"] * reach**2 / 2,
        ),
        Reliance(
            "bounds of U", "a choice among equal pairs (U, V)", True,
            turned=frozenset({"U", "V"}),
        ),
    ]  # fmt: skip


def _levels(p: Mapping[str, Any]) -> list[Reliance]:
    found = [
        Reliance(
            "bounds of rho", "a best rho is a score", True, raised=frozenset({"xi"}),
            turned=frozenset({"rho"}),
        )
    ]  # fmt: skip
    if p["intercept"] == "free":
        found.append(
            Reliance(
                "bounds of b", "the limit of a best b", False, known=0.0,
                holds_at=lambda value: value <= 0,
            )
        )  # fmt: skip
    return found


def _lowered(rows: str) -> Reliance:
    return Reliance(rows, "z_i = 0 wherever point i is kept", True, raised=frozenset({"z"}))


def _slack_bounds(p: Mapping[str, Any], rows: str) -> Reliance:
    stated = not has_derived_slack_bounds(p)
    return Reliance(rows, "slack_bounds", stated, argument="slack_bounds")


def has_derived_slack_bounds(p: Mapping[str, Any]) -> bool:
    """Whether a model has slack bounds that were derived or proven, and not just stated."""
    given = p.get("slack_bounds")
    carries = isinstance(given, SlackBounds) and given.proof not in ("", STATED)
    return isinstance(given, str) or carries
