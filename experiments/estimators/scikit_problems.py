"""Which problems a fitted estimator of scikit-learn says that it solves, and what it found.

    SVC            1/2 ||w||^2 + C sum_i s_i max(0, 1 - y_i f(x_i)), b free
    NuSVC          1/2 ||w||^2 - nu rho + sum_i c_i max(0, rho - y_i f(x_i)), b free
    LinearSVC      that of SVC, or with squared losses, and 1/2 (b / intercept_scaling)^2
    SGDClassifier  alpha/2 ||w||^2 + (1/n) sum_i s_i max(0, 1 - y_i f(x_i)), b free

libsvm's two solve one problem for each pair of classes, the others one for each class against the
rest. s_i is the weight of the sample times that of its class; against the rest, which weighs 1, it
is that of the one class. NuSVC has c_i = s_i / sum s_i, with no weights of classes; libsvm's own
multipliers are ours times sum s_i, and NuSVC keeps them divided by its level rho.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.experiments.estimators.kernels_of_fits import expansion_points
from tightmargin.experiments.estimators.proven_fit import ProblemStatement
from tightmargin.experiments.estimators.training_set import TrainingSet
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.parameters import positive
from tightmargin.solvers.hinge.problem import HINGE, NU, SQUARED, PointRows, PricedProblem

LOSSES = (HINGE, SQUARED)
LOSS = {HINGE: "max(0, 1 - y_i f(x_i))", SQUARED: "max(0, 1 - y_i f(x_i))^2"}


@dataclass(frozen=True, eq=False)
class FittedProblem:
    """One binary problem with the machine that was fitted to it.

    negative, positive: classes.
    w (d,): the hyperplane; None where the machine is an expansion in kernel values.
    beta (n,): its coefficients y_i a_i; of a hyperplane they are None where it came without any.
    """

    negative: str
    positive: str
    statement: ProblemStatement
    problem: PricedProblem
    b: float
    w: Array | None = None
    beta: Array | None = None


def plain_statement(
    loss: str, C: float, intercept: str, weights: list[float] | None, uneven: bool, column: float
) -> ProblemStatement:
    """1/2 norm + C sum of losses, by name where the catalogue has it."""
    norm = "1/2 ||w||^2"
    if intercept == "penalised":
        norm += " + 1/2 b^2" if column == 1 else f" + 1/2 (b / {column:g})^2"
    weighted = "s_i " if uneven or weights is not None else ""
    said = f"min {norm} + C sum_i {weighted}{LOSS[loss]}"
    given: dict[str, Any] = {"C": C, "intercept": intercept}
    if weights is not None:
        given["class_weight"] = weights
    named = loss == HINGE and not uneven and (intercept != "penalised" or column == 1)
    return ProblemStatement(said, "c_svc" if named else "", given)


# --- linear machines, one class against the rest --------------------------------------------------


def linear_problems(
    data: TrainingSet, coef: Any, offsets: Any, name: str
) -> Iterator[tuple[int, Array, Array, float]]:
    """Positive class, labels, w and b of each binary problem.

    Raises ValueError: shapes that do not belong to the points or to the classes.
    """
    weights = np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef, dtype=float))
    K = len(data.classes)
    count, d = (1 if K == 2 else K), data.X.shape[1]
    given = np.ravel(np.asarray(offsets, dtype=float))
    given = np.repeat(given, count) if given.size == 1 else given
    if weights.shape != (count, d) or given.shape != (count,):
        raise ValueError(
            f"coef_ {weights.shape} and intercept_ {given.shape} of {name} do not fit {K} classes "
            f"and {d} features"
        )
    for k in range(count):
        place = 1 if K == 2 else k
        yield place, np.where(data.at == place, 1.0, -1.0), weights[k], float(given[k])


def class_prices(data: TrainingSet, weights: Array, k: int) -> tuple[Array, list[float]]:
    """What the class of each point weighs where class k is +1; of label -1 and of label +1."""
    if len(data.classes) == 2:
        return weights[data.at], [float(weights[0]), float(weights[1])]
    return np.where(data.at == k, weights[k], 1.0), [1.0, float(weights[k])]


def sides(data: TrainingSet, k: int) -> tuple[str, str]:
    """Negative and positive class in words, where class k is +1."""
    return data.name(0) if len(data.classes) == 2 else "the rest", data.name(k)


def class_weights(estimator: Any, data: TrainingSet, sample_weight: Array | None) -> Array:
    """Weights of classes as the scikit-learn at hand computes them: 1.6 counts points alone."""
    from sklearn.utils.class_weight import compute_class_weight

    words = {"sample_weight": sample_weight}
    if "sample_weight" not in signature(compute_class_weight).parameters:
        words = {}
    found: Array = compute_class_weight(
        estimator.class_weight, classes=data.classes, y=data.labels, **words
    )
    return np.asarray(found, dtype=float)


def linear_svc(estimator: Any, data: TrainingSet) -> Iterator[FittedProblem]:
    """Problems of LinearSVC."""
    if estimator.penalty != "l2" or estimator.multi_class != "ovr":
        raise ValueError(
            "LinearSVC is certified with penalty='l2' and multi_class='ovr', not with "
            f"penalty={estimator.penalty!r} and multi_class={estimator.multi_class!r}"
        )
    intercept = "penalised" if estimator.fit_intercept else "none"
    scaling = positive("intercept_scaling", estimator.intercept_scaling)
    column = scaling if estimator.fit_intercept else 1.0
    weights = class_weights(estimator, data, data.weights)
    yield from priced_machines(
        data, estimator, weights, positive("C", estimator.C), estimator.loss, intercept, column
    )


def priced_machines(
    data: TrainingSet,
    estimator: Any,
    weights: Array,
    C: float,
    loss: str,
    intercept: str,
    column: float,
) -> Iterator[FittedProblem]:
    """Problems 1/2 norm + C sum of losses of the hyperplanes of an estimator."""
    name, uneven = type(estimator).__name__, data.weights is not None
    rows = PointRows(data.X)
    for k, y, w, b in linear_problems(data, estimator.coef_, estimator.intercept_, name):
        of_class, both = class_prices(data, weights, k)
        prices = data.prices(C, of_class)
        problem = PricedProblem(rows, y, prices, loss, intercept, column=column)
        listed = None if both == [1.0, 1.0] else both
        said = plain_statement(loss, C, intercept, listed, uneven, column)
        yield FittedProblem(*sides(data, k), said, problem, b, w)


def sgd(estimator: Any, data: TrainingSet) -> Iterator[FittedProblem]:
    """Problems of SGDClassifier."""
    if estimator.loss not in LOSSES or estimator.penalty != "l2":
        raise ValueError(
            "SGDClassifier is certified with loss='hinge' or 'squared_hinge' and penalty='l2', not "
            f"with loss={estimator.loss!r} and penalty={estimator.penalty!r}"
        )
    loss, intercept = estimator.loss, "free" if estimator.fit_intercept else "none"
    weights, rows = class_weights(estimator, data, None), PointRows(data.X)
    ridge = Fraction(positive("alpha", estimator.alpha))
    remark = ""
    if estimator.early_stopping:
        remark = "of all points, also those that early_stopping held back from the fit"
    coef, offsets = estimator.coef_, estimator.intercept_
    for k, y, w, b in linear_problems(data, coef, offsets, "SGDClassifier"):
        of_class, both = class_prices(data, weights, k)
        even = data.weights is None and both == [1.0, 1.0]
        said = f"min alpha/2 ||w||^2 + (1/n) sum_i {'' if even else 's_i '}{LOSS[loss]}"
        entry, given = "", {"alpha": float(ridge), "intercept": intercept}
        if not even:
            given["class_weight"] = both
        elif loss == HINGE:
            entry, given = "soft_margin_svc", {"ridge": float(ridge) / 2, "intercept": intercept}
        yield FittedProblem(
            *sides(data, k),
            ProblemStatement(said, entry, given, remark=remark),
            PricedProblem(
                rows, y, data.prices(1.0, of_class), loss, intercept,
                ridge=data.n * ridge, scale=Fraction(1, data.n),
            ),
            b,
            w,
        )  # fmt: skip


# --- libsvm, one pair of classes each -------------------------------------------------------------


def libsvm(estimator: Any, data: TrainingSet, of_nu: bool) -> Iterator[FittedProblem]:
    """Problems of SVC, or `of_nu` of NuSVC."""
    name = type(estimator).__name__
    _refuse_other_fits(estimator, data)
    coefficients = estimator.dual_coef_
    if sp.issparse(coefficients):
        coefficients = coefficients.toarray()
    K, support = len(data.classes), _support(estimator, data)
    offsets = np.ravel(estimator.intercept_)
    pairs = [(i, j) for i in range(K) for j in range(i + 1, K)]
    if coefficients.shape != (K - 1, len(support)) or offsets.shape != (len(pairs),):
        raise ValueError(
            f"dual_coef_ {coefficients.shape} and intercept_ {offsets.shape} of {name} do not fit "
            f"{K} classes and {len(support)} support vectors"
        )
    of_class = np.asarray(estimator.class_weight_, dtype=float)
    cost = 1.0 if of_nu else positive("C", estimator.C)
    prices = data.prices(cost, np.ones(data.n) if of_nu else of_class[data.at])
    points, kernel, remark = expansion_points(estimator, data, of_nu)
    for b, (i, j) in zip(offsets.tolist(), pairs, strict=True):
        beta = np.zeros(data.n)
        low, high = data.at[support] == i, data.at[support] == j
        beta[support[low]] = coefficients[j - 1, low]
        beta[support[high]] = coefficients[i, high]
        # Of two classes the second is the one of label +1, of a pair among more the first.
        minus, plus = (i, j) if K == 2 else (j, i)
        chosen = np.flatnonzero((data.at == i) | (data.at == j))
        y, here = np.where(data.at[chosen] == plus, 1.0, -1.0), points(chosen)
        if of_nu:
            said, problem = _nu(estimator, here, y, prices[chosen], data.weights is not None)
        else:
            both = [float(of_class[minus]), float(of_class[plus])]
            listed = None if both == [1.0, 1.0] else both
            uneven = data.weights is not None
            said = plain_statement(HINGE, float(estimator.C), "free", listed, uneven, 1.0)
            problem = PricedProblem(here, y, prices[chosen], HINGE, "free")
        w = None
        if isinstance(here, PointRows):
            w = np.asarray(here.X.T @ beta[chosen])
        elif said.formulation:
            said = replace(said, formulation=f"{said.formulation}_dual")
        said = replace(said, kernel=kernel, remark=remark(here))
        sides_of_pair = data.name(minus), data.name(plus)
        yield FittedProblem(*sides_of_pair, said, problem, b, w, beta[chosen])


def _nu(
    estimator: Any, points: Any, y: Array, prices: Array, uneven: bool
) -> tuple[ProblemStatement, PricedProblem]:
    mass = sum(map(Fraction, prices.tolist()), Fraction(0))
    nu = positive("nu", estimator.nu)
    given: dict[str, Any] = {"nu": nu, "intercept": "free"}
    if uneven:
        given["class_balance"] = [float(Fraction(s) / mass) for s in prices.tolist()]
    said = "min 1/2 ||w||^2 - nu rho + sum_i c_i max(0, rho - y_i f(x_i)), sum_i c_i = 1"
    problem = PricedProblem(
        points, y, prices, NU, "free", scale=1 / mass**2, total=Fraction(nu) * mass
    )
    return ProblemStatement(said, "nu_svc", given), problem


def _support(estimator: Any, data: TrainingSet) -> NDArray[np.intp]:
    """Places of the support vectors in X.

    Where samples weigh 0, libsvm leaves them out, and `support_` counts the others alone. Of a
    precomputed kernel it is what decision_function reads, right or wrong.
    """
    support = np.asarray(estimator.support_, dtype=np.intp)
    if data.weights is None or data.weights.all() or estimator.kernel == "precomputed":
        return support
    kept = np.flatnonzero(data.weights)
    return kept[support] if not len(support) or support.max() < len(kept) else support


def _refuse_other_fits(estimator: Any, data: TrainingSet) -> None:
    """Refuse points that cannot be those of the fit, and coefficients that predict nothing."""
    name, support = type(estimator).__name__, _support(estimator, data)
    fitted = int(getattr(estimator, "shape_fit_", (data.n,))[0])
    if fitted != data.n or (len(support) and support.max() >= data.n):
        raise ValueError(
            f"X has {data.n} points and {name} was fitted on {fitted}: give the X of its fit"
        )
    vectors = estimator.support_vectors_
    if vectors.shape[0] == len(support) and estimator.kernel != "precomputed":
        other = np.asarray(abs(data.X[support] - vectors).sum(axis=1)).ravel()
        bad = np.flatnonzero(~(other == 0))
        if bad.size:
            raise ValueError(
                f"row {support[bad[0]]} of X is not the support vector that {name} keeps of it: "
                "give the X of its fit"
            )
    sign = -1.0 if len(data.classes) == 2 else 1.0
    for word in ("dual_coef_", "intercept_"):
        used = getattr(estimator, f"_{word}")
        if abs(sign * used - getattr(estimator, word)).sum() != 0:
            raise ValueError(
                f"{word} of {name} was changed after the fit: decision_function reads another copy"
            )
