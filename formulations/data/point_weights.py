"""Weights of points: s_i > 0 says that point i stands for s_i points in the same place.

For whole numbers the problem on weighted points is the problem with each of them written down s_i
times, to the last row; every weighted formulation is that problem with equal rows taken together.
A weight of 0 is no point at all. Weights of classes are weights of their points.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.class_labels import label_text
from tightmargin.formulations.parameters import did_you_mean, per_point
from tightmargin.number_words import number_text

BALANCED = "balanced"
ClassWeight = Sequence[float] | Mapping[Any, float] | str | None

Function = TypeVar("Function", bound=Callable[..., Any])


def checked_sample_weight(sample_weight: ArrayLike | None, n: int) -> Array | None:
    """Weights (n,) that are finite and at least 0, some of them above; None where all are 1.

    Raises ValueError: naming sample_weight, and the first bad row.
    """
    if sample_weight is None:
        return None
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must be {n} numbers") from None
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), got {weights.shape}")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise ValueError(
            f"sample_weight must be finite and at least 0, got {weights[bad[0]]} in row {bad[0]}"
        )
    if not weights.any():
        raise ValueError("sample_weight is zero everywhere: no point is left")
    return None if (weights == 1).all() else weights


def class_factors(
    class_weight: ClassWeight, classes: Sequence[Any], masses: Array, order: str
) -> Array:
    """What a point of each class weighs beside its own weight, (K,).

    class_weight: by label, where labels left out weigh 1; K numbers in the order of the labels; or
        total / (K mass), as scikit-learn's, so that the classes weigh the same.
    classes (K,): labels in order. A key may be a label or its text.
    masses (K,): sum of the weights of the points of each class.
    order: what the K numbers of a sequence are, for the complaint.
    Raises ValueError: naming class_weight: an unknown word or label, numbers that are not positive,
        too few.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != BALANCED:
            hint = did_you_mean(class_weight, [BALANCED])
            raise ValueError(
                f"class_weight must be {order}, or balanced; got {class_weight!r}{hint}"
            )
        return masses.sum() / (len(classes) * masses)
    if not isinstance(class_weight, Mapping):
        if np.ndim(class_weight) != 1:
            raise ValueError(f"class_weight must be {order}; got {class_weight!r}")
        return per_point("class_weight", class_weight, len(classes))
    found = np.ones(len(classes))
    for label, weight in class_weight.items():
        places = [k for k, known in enumerate(classes) if known == label]
        places = places or [k for k, known in enumerate(classes) if _text(known) == _text(label)]
        if len(places) != 1:
            known = ", ".join(label_text(each) for each in classes[:6])
            raise ValueError(f"class_weight names the class {label!r}; the classes are {known}")
        found[places[0]] = weight
    return per_point("class_weight", found, len(classes))


def _text(label: Any) -> str:
    """A label as files have it: 1.0 and 1 are both `1`."""
    try:
        number = float(label)
    except (TypeError, ValueError):
        return str(label)
    return str(int(number)) if number.is_integer() else str(number)


def weights_of_points(
    sample_weight: ArrayLike | None,
    class_weight: ClassWeight,
    classes: Sequence[Any],
    place: NDArray[np.integer],
) -> Array | None:
    """What points weigh, their own weight times that of their class (n,); None where all are 1.

    place (n,): of the class of each point in `classes`.
    Raises ValueError: as `checked_sample_weight` and `class_factors`; a class without weight,
        products that are beyond doubles.
    """
    own = checked_sample_weight(sample_weight, len(place))
    if own is None and class_weight is None:
        return None
    own = np.ones(len(place)) if own is None else own
    masses = np.bincount(place, weights=own, minlength=len(classes)).astype(np.float64)
    empty = np.flatnonzero(masses == 0)
    if empty.size:
        label = label_text(classes[empty[0]])
        raise ValueError(f"sample_weight is 0 at every point of {label}: no point of it is left")
    factors = class_factors(class_weight, classes, masses, _order(classes))
    with np.errstate(over="ignore", under="ignore"):
        weights: Array = own * factors[place]
        total = float(weights.sum())
    if not np.isfinite(total) or (weights[own > 0] == 0).any():
        raise ValueError("sample_weight times class_weight is beyond double precision: rescale it")
    return weights


def above_zero(weights: Array | None, n: int) -> tuple[NDArray[np.intp], Array | None]:
    """Places of the points that weigh something, and their weights, read-only; None for all 1."""
    if weights is None:
        return np.arange(n), None
    kept = np.flatnonzero(weights)
    left: Array = weights[kept]
    left.setflags(write=False)
    return kept, None if (left == 1).all() else left


def _order(classes: Sequence[Any]) -> str:
    if len(classes) == 2:
        return f"two numbers, of {label_text(classes[0])} and of {label_text(classes[1])}"
    return f"{len(classes)} numbers, one for each class"


class WeightedPoints:
    """What data with a field `sample_weight`, already checked, says of the weights."""

    y: NDArray[Any]
    spec: str
    sample_weight: Any

    @property
    def weights(self) -> Array | None:
        """What each point weighs (n,), above 0; None where each is one point."""
        return self.sample_weight

    @property
    def multiplicity(self) -> Array:
        """The weights (n,), 1 where there are none."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights, rounded once: the number of points where there are none."""
        return float(len(self.y)) if self.weights is None else math.fsum(self.weights.tolist())

    def prices(self, penalty: float) -> Array:
        """What giving up each point costs, penalty times its weight (n,)."""
        return penalty * self.multiplicity

    def mass(self, points: NDArray[np.bool_]) -> float:
        """Sum of the weights of some points, given as a mask (n,), rounded once."""
        if self.weights is None:
            return float(points.sum())
        return math.fsum(self.weights[points].tolist())


def weights_text(weights: Array) -> str:
    """Range and sum of weights, in words."""
    low, high, total = (
        number_text(float(x)) for x in (weights.min(), weights.max(), weights.sum())
    )
    return f"from {low} to {high}, in all {total}"


def recorded_weights(data: Any) -> dict[str, Any]:
    """What a record says of the weights of points, which are part of the digest."""
    return {"total_weight": data.total_weight} if is_weighted(data) else {}


def is_weighted(data: Any) -> bool:
    """Whether these are data whose points weigh different things."""
    return isinstance(data, WeightedPoints) and data.weights is not None


def refusal_of_weights(name: str, entry: str = "") -> str:
    """Why something does not take weighted points, and which formulation does where one does."""
    able = f"tm.solve(tm.{entry}(data, ...)) takes them, and " if entry else ""
    return (
        f"{name} does not take weighted points: it would count each of them once; {able}"
        "whole-number weights can be written as repeated points"
    )


def refuse_weights(name: str, data: Any, entry: str = "") -> None:
    """Raise ValueError for weighted data; what reads no data has nothing to say."""
    if is_weighted(data):
        raise ValueError(refusal_of_weights(name, entry))


def unweighted(function: Function, entry: str = "") -> Function:
    """Make a function of data, its first argument, refuse weighted points.

    entry: the formulation that takes them for the same problem, if there is one.
    Raises TypeError: the first argument is no data: nothing would be refused.
    """
    first = next(iter(inspect.signature(function).parameters))
    if first != "data":
        raise TypeError(f"{function.__name__} has the first argument {first}, not data")

    @functools.wraps(function)
    def checked(*args: Any, **words: Any) -> Any:
        refuse_weights(function.__name__, args[0] if args else words.get("data"), entry)
        return function(*args, **words)

    return checked  # type: ignore[return-value]


def unweighted_unlike(entry: str) -> Callable[[Function], Function]:
    """`unweighted` for what a formulation states with weights."""
    return functools.partial(unweighted, entry=entry)
