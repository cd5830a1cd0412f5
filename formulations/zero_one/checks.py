"""Points of the 0-1 loss models re-evaluated from (w, b), and the proof that their M is valid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values
from tightmargin.formulations.common.hyperplane import norm_of, signed_scores
from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import finite_hyperplane, per_point
from tightmargin.formulations.zero_one.big_m import derive_big_m
from tightmargin.formulations.zero_one.loss import (
    degenerate,
    margins,
    scale_onto_margin,
    zero_one_objective,
)
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds

Hyperplane = tuple[ArrayLike, float]

KEPT_TOLERANCE = 1e-5  # solvers meet rows to about 1e-6: points this close to 1 count as kept


def add_big_m(
    m: pyo.ConcreteModel,
    data: TrainingData,
    big_m: ArrayLike | str,
    intercept: str,
    incumbent: Hyperplane | None,
    bounds: SlackBounds | None = None,
) -> None:
    """Param big_m over the points; derived values keep their proof as `m.big_m_proof`."""
    if incumbent is not None:
        finite_hyperplane("incumbent", incumbent, data.d)
    if isinstance(big_m, str):
        if big_m != "derived":
            raise ValueError(f'big_m must be a number, an array (n,) or "derived", got {big_m!r}')
        penalty = pyo.value(m.penalty)
        known = incumbent_objective(data, incumbent, penalty, intercept)
        m.big_m_proof = (
            derive_big_m(data, penalty=penalty, intercept=intercept, upper_bound=known)
            if bounds is None
            else bounds.big_m
        )
        numbers = m.big_m_proof.values
    else:
        numbers = per_point("big_m", big_m, data.n)
    m.big_m = pyo.Param(
        m.I, initialize=dict(enumerate(numbers.tolist())), mutable=True, within=pyo.PositiveReals
    )


def exact_point(
    data: TrainingData, w: Array, b: float, kept: Mask, penalty: float, intercept: str
) -> tuple[float, Array, float, Array]:
    """Objective, w, b and z after scaling (w, b) so that every kept point truly reaches margin 1.

    A solver's row tolerance lets kept points fall short of 1 by 1e-6 and its objective beat the
    optimum; the scaled point is feasible in floating point, and violations are counted strictly.
    """
    scaled = scale_onto_margin(data, w, b, kept)
    if scaled is not None:
        w, b = scaled
    z = (margins(data, w, b) < 1).astype(float)
    return norm_of(w, b, intercept) + penalty * data.mass(z > 0), w, b, z


def candidates(u: Array, values: Values, use_z: bool) -> list[Mask]:
    """Which points a solver meant to keep: by its own z, and by their margin."""
    by_margin = u >= 1 - KEPT_TOLERANCE
    if not use_z or "z" not in values:
        return [by_margin]
    by_choice = (values["z"] < 0.5) & (u > 0.5)
    return [by_choice, by_margin]


def best_exact_point(
    origin: Origin, values: Values, *, use_z: bool = True
) -> tuple[float, Array, float, Array]:
    """Feasible point of the 0-1 model nearest to what a solver returned."""
    u, w, b = signed_scores(origin.data, values)
    penalty, intercept = origin.parameters["penalty"], origin.parameters["intercept"]
    points = [
        exact_point(origin.data, w, b, kept, penalty, intercept)
        for kept in candidates(u, values, use_z)
    ]
    return min(points, key=lambda point: point[0])


def counted_facts(origin: Origin, w: Array, b: float, z: Array) -> dict[str, Any]:
    """Counts and the two trivial optima a reader must know about."""
    scores = origin.data.factor @ w + b
    facts: dict[str, Any] = {
        "violations": int(z.sum()),
        "errors": int((origin.data.y * scores <= 0).sum()),
    }
    trivial = degenerate(origin.data, w, b, origin.parameters["intercept"])
    return facts | ({"degenerate": trivial} if trivial else {})


def why_unproven(origin: Origin, objective: float) -> str:
    """Why M may cut optima off, or an empty string; `objective` is that of a true 0-1 point.

    Any M at or above the value derived from a point that is known to exist is valid, whether it
    was derived or given.
    """
    parameters = origin.parameters
    known = min(objective, _known_objective(origin))
    needed = derive_big_m(
        origin.data,
        penalty=parameters["penalty"],
        intercept=parameters["intercept"],
        upper_bound=known,
    ).values
    given = parameters["big_m"]
    if np.any(given < needed * (1 - 1e-9)):
        worst = int(np.argmax(needed - given))
        return f"M[{worst}] = {given[worst]:.6g} is below the proven value {needed[worst]:.6g}"
    return ""


def check_logic(origin: Origin, values: Values) -> PaperCheck:
    """0-1 objective of (w, b), recomputed; for models without a big-M."""
    objective, w, b, z = best_exact_point(origin, values)
    repaired = {"w": w, "z": z}
    if origin.parameters["intercept"] != "none":
        repaired["b"] = np.array(b)
    return PaperCheck(objective, repaired=repaired, facts=counted_facts(origin, w, b, z))


def check_big_m(origin: Origin, values: Values) -> PaperCheck:
    """0-1 objective of (w, b), recomputed, with the validity of M."""
    checked = check_logic(origin, values)
    return PaperCheck(
        checked.objective,
        repaired=checked.repaired,
        unproven=why_unproven(origin, checked.objective),
        facts=checked.facts,
    )


def incumbent_objective(
    data: TrainingData, incumbent: Hyperplane | None, penalty: float, intercept: str
) -> float | None:
    """True 0-1 objective of a known hyperplane; None without one."""
    if incumbent is None:
        return None
    w, b = finite_hyperplane("incumbent", incumbent, data.d)
    return zero_one_objective(data, w, b, penalty=penalty, intercept=intercept)


def _known_objective(origin: Origin) -> float:
    """Best objective known without the point at hand: a trivial one, or the stated incumbent's."""
    penalty, intercept = origin.parameters["penalty"], origin.parameters["intercept"]
    trivial = derive_big_m(origin.data, penalty=penalty, intercept=intercept).upper_bound
    stated = incumbent_objective(
        origin.data, origin.parameters.get("incumbent"), penalty, intercept
    )
    return trivial if stated is None else min(trivial, stated)


def _relaxed(origin: Origin, values: Values, cap: float) -> PaperCheck:
    u, w, b = signed_scores(origin.data, values)
    big_m, intercept = origin.parameters["big_m"], origin.parameters["intercept"]
    z = np.maximum(0.0, (1 - u) / big_m)
    loss = float(origin.data.multiplicity @ z)
    objective = norm_of(w, b, intercept) + origin.parameters["penalty"] * loss
    return PaperCheck(
        objective,
        violation=max(0.0, float(z.max()) - cap),
        repaired={"z": np.minimum(z, cap)},
        unproven=why_unproven(origin, best_exact_point(origin, values, use_z=False)[0]),
        facts=counted_facts(origin, w, b, (u < 1).astype(float)),
    )


def check_relaxed(origin: Origin, values: Values) -> PaperCheck:
    """Objective of (4) with the least z that (w, b) allows."""
    return _relaxed(origin, values, cap=1.0)


def check_weighted_hinge(origin: Origin, values: Values) -> PaperCheck:
    """Objective of the hinge reading from (w, b)."""
    return _relaxed(origin, values, cap=np.inf)
