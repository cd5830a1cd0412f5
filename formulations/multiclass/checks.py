"""Points of the truncated hinge loss of several classes re-evaluated from (B, b), and their M."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.point_weights import ClassWeight
from tightmargin.formulations.multiclass.big_m import cap_of, derive_multiclass_big_m
from tightmargin.formulations.multiclass.fisher_consistency import is_consistent
from tightmargin.formulations.multiclass.hinge import (
    class_costs,
    class_facts,
    classes_and_intercepts,
    norm_of_classes,
    smallest_leads,
)
from tightmargin.formulations.zero_one.ramp import cheapest_parts

Machine = tuple[ArrayLike, ArrayLike]


def truncated_objective(
    data: MulticlassData,
    B: ArrayLike,
    b: ArrayLike,
    *,
    ridge: float,
    truncation: float,
    class_weight: ClassWeight = None,
    intercept: str = "free",
) -> float:
    """ridge sum_k ||B_k||^2 + (1/n) sum_i c_{y_i} min([1 - u_i]_+, 1 - s) of scores (B, b).

    Lee 2020, section 4. B (K, d) and b (K,) are taken as they are, u_i is the smallest lead.
    """
    loss = np.minimum(np.maximum(0.0, 1 - smallest_leads(data, B, b)), cap_of(truncation))
    norm = norm_of_classes(np.asarray(B, dtype=float), np.asarray(b, dtype=float), intercept)
    return ridge * norm + float(class_costs(data, class_weight) @ loss)


def checked_machine(name: str, value: Any, data: MulticlassData) -> tuple[Array, Array]:
    """Numbers B (K, d) and b (K,) of known scores, all of them finite.

    Raises ValueError: naming the argument: no pair, other shapes, or numbers that are not finite.
    """
    K, d = data.n_classes, data.d
    try:
        rows, offsets = value
        B, b = np.asarray(rows, dtype=float), np.asarray(offsets, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be (B, b), got {value!r}") from None
    if B.shape != (K, d) or b.shape != (K,):
        raise ValueError(
            f"{name} must be (B, b) of shapes ({K}, {d}) and ({K},), got {B.shape} and {b.shape}"
        )
    if not (np.isfinite(B).all() and np.isfinite(b).all()):
        raise ValueError(f"{name}: B and b must be finite")
    return B, b


def _words(origin: Origin) -> dict[str, Any]:
    names = ("ridge", "truncation", "class_weight", "intercept")
    return {name: origin.parameters[name] for name in names}


def known_truncated_objective(
    data: MulticlassData, incumbent: Machine | None, words: dict[str, Any]
) -> float | None:
    if incumbent is None:
        return None
    return truncated_objective(data, *checked_machine("incumbent", incumbent, data), **words)


def _why_unproven(origin: Origin, objective: float) -> str:
    """Why M may cut optima off, or an empty string; `objective` is that of some scores."""
    words = _words(origin)
    stated = known_truncated_objective(origin.data, origin.parameters["incumbent"], words)
    known = objective if stated is None else min(objective, stated)
    needed = derive_multiclass_big_m(origin.data, **words, upper_bound=known).values
    given = np.broadcast_to(np.asarray(origin.parameters["big_m"], dtype=float), needed.shape)
    if np.any(given < needed * (1 - 1e-9)):
        worst = int(np.argmax(needed - given))
        return f"M[{worst}] = {given[worst]:.6g} is below the proven value {needed[worst]:.6g}"
    return ""


def _point(origin: Origin, values: Values) -> tuple[Array, Array, Array, dict[str, Any]]:
    """B, b and the leads after both are made to sum to zero, and what to tell a reader."""
    data, truncation = origin.data, origin.parameters["truncation"]
    B, b = classes_and_intercepts(origin, values, {})
    u = smallest_leads(data, B, b)
    facts = class_facts(data, u) | {"outliers": int((u < truncation).sum())}
    if not is_consistent("hinge", truncation, data.n_classes):
        facts["fisher_consistency"] = (
            f"not Fisher consistent: the truncation {truncation:g} is below -1/(K - 1) = "
            f"{-1 / (data.n_classes - 1):g}"
        )
    return B, b, u, facts


def _classes(origin: Origin, B: Array, b: Array) -> dict[str, Array]:
    return {"B": B} | ({} if origin.parameters["intercept"] == "none" else {"b": b})


def check_truncated(origin: Origin, values: Values) -> PaperCheck:
    """Recompute the objective from (B, b), and test M against the value proven from it."""
    B, b, u, facts = _point(origin, values)
    loss = np.maximum(0.0, 1 - u)
    z = loss > cap_of(origin.parameters["truncation"])
    objective = truncated_objective(origin.data, B, b, **_words(origin))
    # An M that is too small leaves something to the slack even at z_i = 1.
    left = np.maximum(0.0, loss - np.asarray(origin.parameters["big_m"], dtype=float))
    xi = np.where(z, left, loss)
    repaired = {"xi": xi, "z": z.astype(float), "v": loss} | _classes(origin, B, b)
    flag = _why_unproven(origin, objective)
    return PaperCheck(objective, repaired=repaired, unproven=flag, facts=facts)


def check_truncated_relaxed(origin: Origin, values: Values) -> PaperCheck:
    """Objective with the cheapest xi and z that (B, b) allows."""
    data, words = origin.data, _words(origin)
    B, b, u, facts = _point(origin, values)
    cap = cap_of(words["truncation"])
    given = np.broadcast_to(np.asarray(origin.parameters["big_m"], dtype=float), (data.n,))
    v = np.maximum(0.0, 1 - u)
    xi, z = cheapest_parts(v, given, cap)
    costs = class_costs(data, words["class_weight"])
    norm = norm_of_classes(B, b, words["intercept"])
    return PaperCheck(
        words["ridge"] * norm + float(costs @ (xi + cap * z)),
        violation=max(0.0, float(z.max()) - 1),
        repaired={"xi": xi, "z": np.minimum(z, 1.0), "v": v} | _classes(origin, B, b),
        unproven=_why_unproven(origin, truncated_objective(data, B, b, **words)),
        facts=facts,
    )
