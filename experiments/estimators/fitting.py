"""From arrays as scikit-learn gives them to a solved formulation, for `FormulationClassifier`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import tightmargin.cuts  # noqa: F401  (registers its searches, which method="auto" takes)
from tightmargin.experiments.data.loading import Raw, takes_classes
from tightmargin.experiments.data.preparation import prepare
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.estimators.certification import interrupted
from tightmargin.experiments.estimators.fitted import Fitted, fitted
from tightmargin.formulations.catalogue import CATALOGUE, Entry, entry_named
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.point_weights import ClassWeight, class_factors
from tightmargin.formulations.data.training_data import (
    GramData,
    TrainingData,
    has_sparse_points,
)
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.solvers.engines.running import checked_limits, ends_within
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.nu.nu_range import BALL, DUAL, is_clearly_inside, nu_range
from tightmargin.solvers.probability.binary import checked_grid
from tightmargin.solvers.registry import build, refuse_method
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.solve import solve

HYPERPARAMETERS = tuple(sorted({word for entry in CATALOGUE.values() for word in entry.parameters}))
NU_SVC = ("nu_svc", "nu_svc_dual")
CLASS_WEIGHT = "class_weight"
# Where a degenerate optimum is w = 0 and b nothing at all, and the labels would be rounding noise.
NOTHING = ("nu_svc", BALL, DUAL, "max_margin_svc", "reduced_hull_svc")
NO_OPTIMUM = (Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)


def classifying(name: Any) -> Entry:
    """Entry of a formulation that yields a classifier.

    Raises ValueError: no such formulation (with the nearest names), or one that yields no
        classifier.
    """
    if not isinstance(name, str):
        raise ValueError(f"formulation must be the name of one, got {name!r}")
    entry = entry_named(name)
    if entry.classifier is None:
        raise ValueError(f"formulation={name} yields no hyperplane, so it classifies nothing")
    return entry


def refuse_words(entry: Entry, given: Mapping[str, Any]) -> None:
    """Raise ValueError for a hyperparameter that is missing, or that the formulation has not."""
    allowed = entry.parameters
    for word in given:
        if word not in allowed:
            raise ValueError(
                f"formulation={entry.name} takes no {word} (it takes {', '.join(allowed)})"
                f"{did_you_mean(word, allowed)}"
            )
    missing = [
        word
        for word, declared in allowed.items()
        if declared.default is inspect.Parameter.empty and word not in given
    ]
    if missing:
        raise ValueError(
            f"formulation={entry.name} needs {', '.join(missing)}: nothing is chosen for you"
        )


def refuse_preprocessing(entry: Entry, given: Mapping[str, Any]) -> None:
    """Raise ValueError for a kernel where points are read, or where scikit-learn has no place."""
    kernel = given.get("kernel", "linear")
    if kernel == "precomputed" and given.get("normalise", "none") == "centred":
        raise ValueError(
            "normalise=centred with kernel=precomputed needs k(x, x) of every new point, which "
            "scikit-learn does not hand over: centre the matrix with KernelCenterer, or take tm.fit"
        )
    if kernel == "linear" or "kpca" in given or GramData in entry.takes:
        return
    if MulticlassData in entry.takes:
        return  # prepare() says that it takes components
    able = [e.name for e in CATALOGUE.values() if GramData in e.takes]
    near = [name for name in able if CATALOGUE[name].dual_of == entry.name] or able
    raise ValueError(
        f"formulation={entry.name} reads points, not a kernel matrix: leave kernel={kernel} out, "
        f"add kpca=full for coordinates in feature space, or take one of {', '.join(near)}"
    )


def refuse_grid(grid: Any) -> None:
    """Raise ValueError, before anything is solved, for a probability_grid without values of pi."""
    try:
        checked_grid(grid)
    except (TypeError, ValueError) as error:
        raise ValueError(f"probability_grid: {error}") from None


def as_data(
    entry: Entry,
    X: ArrayLike,
    y: NDArray[Any],
    sample_weight: Array | None,
    class_weight: ClassWeight,
) -> Raw:
    """Points as an entry reads them: the second class is +1 where it reads two.

    class_weight: where the entry has no such hyperparameter.
    Raises ValueError: one class, or more than two for an entry that reads two; weights that are
        none.
    """
    classes = np.unique(y)
    words: Any = {"sample_weight": sample_weight, "class_weight": class_weight}
    if len(classes) < 2:
        raise ValueError(f"y holds 1 class, {classes.tolist()[0]!r}: at least two must occur")
    if takes_classes(entry):
        return MulticlassData(X, y, **words)  # type: ignore[arg-type]
    if len(classes) > 2:
        able = ", ".join(e.name for e in CATALOGUE.values() if takes_classes(e))
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"formulation={entry.name} reads two classes and y holds {len(classes)}; take one of "
            f"{able}, or OneVsRestClassifier around this estimator"
        )
    return TrainingData(X, y, **words)


def apart(entry: Entry, given: dict[str, Any]) -> tuple[dict[str, Any], ClassWeight]:
    """Hyperparameters, and a class_weight that is none of them but one of the points."""
    if not entry.weighted or CLASS_WEIGHT in entry.parameters:
        return given, None
    return {word: given[word] for word in given if word != CLASS_WEIGHT}, given.get(CLASS_WEIGHT)


def with_weights_in_order(given: dict[str, Any], raw: Raw) -> dict[str, Any]:
    """Hyperparameters with weights of classes as a list in the order of the classes."""
    class_weight = given.get(CLASS_WEIGHT)
    if not isinstance(class_weight, str | Mapping):
        return given
    masses = np.asarray(raw.masses, dtype=np.float64)
    factors = class_factors(class_weight, raw.classes, masses, "a weight for each class")
    return given | {CLASS_WEIGHT: factors.tolist()}


def machine_of(
    entry: Entry,
    raw: Raw,
    given: Mapping[str, Any],
    preprocessing: Mapping[str, Any],
    solver: str,
    method: str,
    **limits: Any,
) -> tuple[Fitted, Prepared]:
    """Prepare, build, solve by the method asked for, and keep what was found.

    method: as solve() takes it.
    limits: time_limit, threads and seed, as `solve` takes them.
    Raises ValueError: refused arguments; a problem that is infeasible, unbounded, or has w = 0 as
        its only solution because of nu, with the reason.
    Raises RuntimeError: a solve that ended without any point.
    """
    limit = checked_limits(**limits).time_limit
    refuse_method(method, entry.name, solver=solver != "auto")
    with ends_within(limit):
        prepared = prepare(raw, preprocessing)
        _refuse_nu(entry, prepared, given)
        model = build(entry.name, prepared.data, **given)
        result = solve(model, solver, method, **limits)
    _refuse_nothing(entry.name, result)
    return fitted(result, prepared), prepared


def _refuse_nu(entry: Entry, prepared: Prepared, given: Mapping[str, Any]) -> None:
    """Raise ValueError where nu leaves no machine, with both ends of its range."""
    if not {"nu", "class_balance"} <= set(entry.parameters):
        return
    if not isinstance(given["nu"], int | float):
        return  # what is no number the builder refuses
    words = {
        word: given.get(word, entry.parameters[word].default)
        for word in ("class_balance", "intercept")
    }
    if words["intercept"] not in ("free", "penalised", "none"):
        return  # and such a word
    nu, data = float(given["nu"]), prepared.data
    if not nu > 0:
        return
    if has_sparse_points(data) and entry.name in NU_SVC and is_clearly_inside(data, nu, **words):  # type: ignore[arg-type]
        return  # known sooner than the range, a linear program over all points
    found = nu_range(data, **words)  # type: ignore[arg-type]
    problem = found.place(nu) if nu > found.nu_max or entry.name in NU_SVC else ""
    if entry.name in (BALL, DUAL) and found.side(nu) <= 0:
        problem = found.place_extended(entry.name, nu)
    if problem:
        raise ValueError(f"formulation={entry.name}: {problem}")


def _refuse_nothing(name: str, result: SolveResult) -> None:
    certificate = result.certificate
    reason = certificate.reason or certificate.bound_method or result.message
    if result.status in NO_OPTIMUM or result.ray:
        raise ValueError(
            f"formulation={name} has no optimum: {result.status} ({certificate.verdict}), {reason}"
        )
    if name in NOTHING and "degenerate" in certificate.facts:
        raise ValueError(f"formulation={name} gives no machine: {certificate.facts['degenerate']}")
    if not result.values:
        if interrupted(result):
            raise KeyboardInterrupt
        raise RuntimeError(f"formulation={name}: {result.status}, no machine was found; {reason}")
