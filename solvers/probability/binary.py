"""Class probabilities from a grid of weighted machines, every machine proven.

Lee 2020, section 3.1 with (10). Between
two neighbours of the grid no sign tells more: the estimate is within half a step of what the signs
of all pi would give where they are monotone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.arrays import Array, finite_points
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import GramData, TrainingData, reads_dense_points
from tightmargin.formulations.parameters import INTERCEPTS, finite_hyperplane, one_of, positive
from tightmargin.printing import Drawn, Printed
from tightmargin.solvers.engines.running import telling
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.probability.weighted_machines import (
    LIBSVM,
    METHODS,
    Problem,
    WeightedMachine,
    machines,
)
from tightmargin.solvers.searches import PathResult

# --- P(Y = 1 | x) read from the signs of machines that are weighted more and more against label +1
# Lee 2020, section 3.1; Wang, Shen & Liu, Probability estimation for large-margin classifiers,
# Biometrika 95, 2008. The sign of the machine at pi estimates the sign of P(Y = 1 | x) - pi. It is
# +1 at pi = 0 and -1 at pi = 1 by definition: the machines are defined strictly between (at 0 and
# 1 one class has no cost). With the grid 0 = pi_1 < ... < pi_{k+1} = 1
#     p(x) = ( max {pi_j : sign +1} + min {pi_j : sign -1} ) / 2,
# which needs no monotone signs: noise may turn one back, and then the two overlap. A value of
# exactly 0 is neither sign; it says p = pi, and between two regular neighbours gives it.
# The review prints as criterion the j with sign_j <= sign_{j+1}. That holds wherever the sign
# stays as it is and fails at the one place that is looked for, where + is followed by -; what is
# meant is sign_j = +1 and sign_{j+1} = -1, and there both rules agree when only one such place
# exists.


Signs = NDArray[np.int8]

TIE = 1e-12  # of 1/2: sums of grid values this near it are 1/2


@dataclass(frozen=True, eq=False, repr=False)
class SignReading(Printed):
    """What the signs say at m points.

    pis (k - 1,): rising, strictly between 0 and 1.
    values (m, k - 1): decision values of the machines.
    """

    pis: Array
    values: Array

    @property
    def signs(self) -> Signs:
        """Table (m, k + 1) over 0, pis, 1: the ends by definition, 0 where a value is 0."""
        inner = np.sign(self.values).astype(np.int8)
        ends = np.ones((len(inner), 1), dtype=np.int8)
        return np.hstack([ends, inner, -ends])

    @cached_property
    def intervals(self) -> Array:
        """(m, 2): the largest pi with sign +1 and the smallest with sign -1.

        The first is above the second where the signs are not monotone.
        """
        grid = np.concatenate([[0.0], self.pis, [1.0]])
        signs = self.signs
        highest = np.where(signs > 0, grid, 0.0).max(axis=1)
        lowest = np.where(signs < 0, grid, 1.0).min(axis=1)
        return np.column_stack([highest, lowest])

    @property
    def probabilities(self) -> Array:
        """Estimates (m,) of P(Y = 1 | x)."""
        middle: Array = self.intervals.mean(axis=1)
        return middle

    @property
    def monotone(self) -> NDArray[np.bool_]:
        """Flags (m,): no sign +1 comes after a sign -1."""
        flags: NDArray[np.bool_] = self.intervals[:, 0] < self.intervals[:, 1]
        return flags

    @property
    def labels(self) -> NDArray[np.int64]:
        """(m,): +1 where the probability is above 1/2, else -1.

        At exactly 1/2, which a grid without 1/2 says of every point between its two middle values,
        the sum of the decision values nearest to 1/2 decides; 0 gets -1.
        """
        above = self.probabilities - 0.5
        away = np.abs(self.pis - 0.5)
        nearest = self.values[:, away <= away.min() + TIE].sum(axis=1)
        side = np.where(np.abs(above) <= TIE, nearest, above)
        return np.where(side > 0, 1, -1)


def checked_grid(grid: int | Sequence[float] | Array) -> Array:
    """Values of pi strictly between 0 and 1, rising.

    grid: a number N of them, j / (N + 1) for j = 1, ..., N; or the values themselves, each of which
        is taken once.
    Raises ValueError: none, not a whole number, or a value outside (0, 1).
    """
    if isinstance(grid, int | np.integer) and not isinstance(grid, bool):
        if grid < 1:
            raise ValueError(f"grid must have at least one value, got {grid!r}")
        return np.arange(1, grid + 1) / (grid + 1)
    if isinstance(grid, str) or not isinstance(grid, Sequence | np.ndarray) or np.ndim(grid) != 1:
        raise ValueError(f"grid must be a whole number, or values of pi as a list; got {grid!r}")
    found = sorted({inside(pi) for pi in grid})
    if not found:
        raise ValueError("grid is empty: name a value of pi, or how many there shall be")
    return np.array(found)


def inside(pi: float) -> float:
    """A number strictly between 0 and 1, or a ValueError."""
    if not 0 < positive("pi", pi) < 1:
        raise ValueError(f"pi must lie strictly between 0 and 1, got {pi!r}")
    return float(pi)


def checked_values(pis: Array, values: ArrayLike) -> Array:
    """Decision values (m, k - 1), or a ValueError."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] != len(pis):
        raise ValueError(f"values must have shape (m, {len(pis)}), got {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError("values must be finite")
    return found


# --- Class probabilities as a fitted object: the machines of a grid, and what their signs say ----


ENTRY = "weighted_svc"
POINTS, KERNEL = "points", "kernel"  # what the numbers of a row multiply
SAME = 1e-9  # relative: values that are written and recomputed


@dataclass(frozen=True, eq=False, repr=False)
class ClassProbabilities(PathResult[WeightedMachine], Drawn):
    """Machines by rising pi, and the probabilities they stand for.

    data: what they were fitted on; None where they were read from a file without it. w is in the
        coordinates of its factor: the features, or for a kernel matrix the columns of F.
    ridge, intercept: of every machine.
    rows: at least one.
    method: what was asked for.
    not_reached: values of pi that Ctrl-C came before; empty else.
    """

    data: TrainingData | GramData | None
    ridge: float
    intercept: str
    rows: tuple[WeightedMachine, ...]
    method: str = "auto"
    not_reached: tuple[float, ...] = ()

    parameter = "pi"

    @property
    def pis(self) -> Array:
        """(k - 1,): the grid without 0 and 1."""
        return np.array([row.pi for row in self.rows])

    @property
    def w(self) -> Array:
        """(k - 1, d)."""
        return np.array([row.w for row in self.rows])

    @property
    def b(self) -> Array:
        """(k - 1,)."""
        return np.array([row.b for row in self.rows])

    @property
    def gaps(self) -> Array:
        """(k - 1,): objective minus proven bound."""
        return np.array([row.gap for row in self.rows])

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each machine."""
        return tuple(row.verdict for row in self.rows)

    def decision_values(self, X: ArrayLike) -> Array:
        """Values (m, k - 1) of every machine.

        X (m, d): points prepared like the training points; of a kernel matrix the rows of kernel
            values (m, n) against the training points.
        Raises ValueError: another shape, or numbers that are not finite.
        """
        if not isinstance(self.data, GramData):
            return finite_points("X", X, self.w.shape[1]) @ self.w.T + self.b
        coefficients = np.array([_coefficients(self.data, row.w) for row in self.rows])
        return finite_points("X", X, self.data.n) @ coefficients.T + self.b

    def read(self, values: ArrayLike) -> SignReading:
        """What decision values (m, k - 1) say."""
        return SignReading(self.pis, checked_values(self.pis, values))

    def reading(self, X: ArrayLike) -> SignReading:
        """What the machines say at points; X as in `decision_values`."""
        return self.read(self.decision_values(X))

    def training_reading(self) -> SignReading:
        """The same at the training points."""
        if self.data is None:
            raise ValueError("the training data is not at hand: pass data")
        return self.read(self.data.factor @ self.w.T + self.b)

    def probabilities(self, X: ArrayLike) -> Array:
        """Estimates (m,) of P(Y = 1 | x)."""
        return self.reading(X).probabilities

    def signs(self, X: ArrayLike) -> Signs:
        """Table (m, k + 1) over 0, pis, 1."""
        return self.reading(X).signs

    def monotone(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Flags (m,): no sign +1 comes after a sign -1."""
        return self.reading(X).monotone

    def intervals(self, X: ArrayLike) -> Array:
        """(m, 2): the largest pi with sign +1 and the smallest with sign -1."""
        return self.reading(X).intervals

    def labels(self, X: ArrayLike) -> NDArray[np.int64]:
        """(m,), +1 or -1."""
        return self.reading(X).labels

    def to_json(self) -> dict[str, Any]:
        """Everything but the data, in plain numbers and words.

        Of a kernel matrix w is written as coefficients c (n,) with w = F'c, which do not depend
        on the factor: <w, f(x)> = k(x) c.
        """
        kernel = self.data if isinstance(self.data, GramData) else None
        return {
            "formulation": ENTRY,
            "method": self.method,
            "parameters": {"ridge": self.ridge, "intercept": self.intercept},
            "coordinates": POINTS if kernel is None else KERNEL,
            "rows": [_numbers(row, kernel) for row in self.rows],
            "not_reached": list(self.not_reached),
        }

    @classmethod
    def from_document(
        cls, document: Mapping[str, Any], data: TrainingData | GramData | None = None
    ) -> ClassProbabilities:
        """Read what `to_json`, or the path command, wrote; machines of a kernel need the data.

        Bounds are a file's word, and machines SOLVER_BOUND at best. With the data every value is
        recomputed, and a hyperplane that does not have its value is refused.

        Raises ValueError: another document, a part that is missing or out of range, or data that it
            does not belong to.
        """
        if document.get("formulation") != ENTRY:
            raise ValueError(
                f"a document of {ENTRY} is needed, got one of {document.get('formulation')!r}"
            )
        try:
            given = document["parameters"]
            kernel = _kernel(document["coordinates"], data)
            rows = tuple(_row(numbers, kernel) for numbers in document["rows"])
            ridge = positive("ridge", given["ridge"])
            intercept = one_of("intercept", given["intercept"], INTERCEPTS)
            method = one_of("method", document.get("method", "auto"), METHODS)
        except (KeyError, TypeError) as error:
            raise ValueError(f"the document lacks a part: {error}") from None
        if not rows:
            raise ValueError("the document has no rows")
        if len({row.w.shape for row in rows}) > 1:
            raise ValueError("w must have the same length in every row")
        if any(one.pi >= other.pi for one, other in itertools.pairwise(rows)):
            raise ValueError("pi must rise from row to row")
        if data is not None:
            rows = _on_this_data(Problem(data, ridge, intercept), rows)
        not_reached = tuple(float(pi) for pi in document.get("not_reached", ()))
        return cls(data, ridge, intercept, rows, method, not_reached)


def _on_this_data(
    problem: Problem, rows: tuple[WeightedMachine, ...]
) -> tuple[WeightedMachine, ...]:
    """The machines with their values proven; ValueError for data on which one has another."""
    if problem.data.d != len(rows[0].w):
        raise ValueError(f"w has {len(rows[0].w)} numbers, and the data {problem.data.d} features")
    found = []
    for row in rows:
        value = problem.value(row.pi, row.w, row.b)
        if abs(value - row.objective) > SAME * value:
            raise ValueError(
                f"pi = {row.pi:g}: the hyperplane costs {value:.12g} on this data, and "
                f"{row.objective:.12g} is written: it was fitted on other data"
            )
        found.append(replace(row, attained=problem.attained(row.pi, row.w, row.b, value)))
    return tuple(found)


def _kernel(coordinates: str, data: TrainingData | GramData | None) -> GramData | None:
    """The kernel matrix that a document is about; None when it is about points."""
    one_of("coordinates", coordinates, (POINTS, KERNEL))
    if coordinates == KERNEL:
        if not isinstance(data, GramData):
            raise ValueError("the machines of a kernel matrix need it: pass data as GramData")
        return data
    if isinstance(data, GramData):
        raise ValueError("the document is about points, and data is a kernel matrix")
    return None


def _coefficients(data: GramData, w: Array) -> Array:
    """c (n,) with w = F'c: F has orthogonal columns, so c = F w / ||column||^2."""
    found: Array = data.factor @ (w / (data.factor**2).sum(axis=0))
    return found


def _numbers(row: WeightedMachine, kernel: GramData | None) -> dict[str, Any]:
    bound = row.bound if row.claimed is None else row.claimed
    finite = bool(np.isfinite(bound))
    return {
        "pi": row.pi,
        "objective": row.objective,
        "bound": bound if finite else None,
        "gap": row.gap if finite else None,
        "verdict": str(row.verdict),
        "b": row.b,
        "method": row.method,
        "seconds": row.seconds,
    } | (
        {"w": row.w.tolist()}
        if kernel is None
        else {"coefficients": _coefficients(kernel, row.w).tolist()}
    )


def _row(numbers: Mapping[str, Any], kernel: GramData | None) -> WeightedMachine:
    word, size = ("w", None) if kernel is None else ("coefficients", kernel.n)
    given = numbers[word]
    w, b = finite_hyperplane(f"{word}, b", (given, numbers["b"]), size or len(given))
    bound = numbers["bound"]
    return WeightedMachine(
        pi=inside(numbers["pi"]),
        w=w if kernel is None else kernel.factor.T @ w,
        b=b,
        objective=positive("objective", numbers["objective"]),
        attained=None,
        below=None,
        method=one_of("method", numbers["method"], METHODS[1:]),
        seconds=float(numbers["seconds"]),
        claimed=None if bound is None else float(bound),
    )


@unweighted_unlike("weighted_svc")
@reads_dense_points
def class_probabilities(
    data: TrainingData | GramData,
    *,
    ridge: float,
    grid: int | Sequence[float] | NDArray[np.float64] = 19,
    intercept: str = "free",
    method: str = "auto",
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> ClassProbabilities:
    """Solve weighted_svc for every pi of a grid, and read probabilities from the signs.

        min  ridge ||w||^2 + (1/n) [(1 - pi) sum_{y_i = 1} xi_i + pi sum_{y_i = -1} xi_i]
        s.t. y_i (<w, f_i> + b) + xi_i >= 1,  xi_i >= 0

    Parameters
    ----------
    data : TrainingData or GramData
        f_i are the points, or the rows of the factor of the kernel matrix.
    ridge : float
        lambda; the same machine as SVC(C=1 / (2 ridge n)) with these weights of the points.
    grid : int or sequence of float
        How many values between 0 and 1, equally spaced (19 is steps of 0.05), or the values.
    intercept : str
        "free", "penalised" or "none".
    method : str
        "interior": many values at once; "libsvm": one by one, for a free intercept, for kernels
        of many points; "model": the entry, re-solved in place; "auto" takes one of the first two
        by size. Where a gap stays open "model" helps out.
    time_limit : float, optional
        Seconds for each value; libsvm has a limit on iterations only.
    progress : callable(str), optional
        Told what is being done; by default a terminal shows it.

    Returns
    -------
    ClassProbabilities
        After Ctrl-C with the values finished so far; before the first one KeyboardInterrupt goes
        on.

    Raises
    ------
    ValueError
        An argument out of range, by its name; a kernel matrix that is 0.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> fitted = tm.paths.class_probabilities(data, ridge=0.1, grid=4)
    >>> fitted.reading(data.X).signs.shape  # at 0, the four values of pi, 1
    (12, 6)
    """
    positive("ridge", ridge)
    one_of("intercept", intercept, INTERCEPTS)
    if one_of("method", method, METHODS) == LIBSVM and intercept != "free":
        raise ValueError(f"method={LIBSVM} has a free intercept only, got intercept={intercept!r}")
    limit = None if time_limit is None else positive("time_limit", time_limit)
    pis = checked_grid(grid)
    problem = Problem(data.points, float(ridge), intercept)
    found: list[WeightedMachine] = []
    try:
        with telling("class probabilities", progress) as say:
            for batch in machines(problem, pis, method, limit):
                found += batch
                say(f"pi {found[-1].pi:.4g}, {len(pis) - len(found)} of {len(pis)} to go")
    except KeyboardInterrupt:
        if not found:
            raise
    return ClassProbabilities(
        data,
        float(ridge),
        intercept,
        tuple(found),
        method,
        tuple(pis[len(found) :].tolist()),
    )
