"""Class probabilities as a fitted object: the machines of a grid, and what their signs say."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.arrays import Array, finite_points
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, finite_hyperplane, one_of, positive
from tightmargin.printing import Drawn
from tightmargin.solvers.execution.path_result import PathResult
from tightmargin.solvers.probability.sign_rule import SignReading, Signs, checked_values, inside
from tightmargin.solvers.probability.weighted_machines import METHODS, Problem, WeightedMachine
from tightmargin.solvers.proofs.verdict import Verdict

ENTRY = "weighted_svc"
POINTS, KERNEL = "points", "kernel"  # what the numbers of a row multiply
SAME = 1e-9  # relative: values that are written and recomputed


@dataclass(frozen=True, eq=False, repr=False)
class ClassProbabilities(PathResult[WeightedMachine], Drawn):
    """Machines by rising pi, and the probabilities they stand for.

    Attributes
    ----------
    data : TrainingData, GramData or None
        What they were fitted on; None where they were read from a file without it. w is in the
        coordinates of its factor: the features, or for a kernel matrix the columns of F.
    ridge, intercept
        Of every machine.
    rows : tuple of WeightedMachine
        At least one.
    method : str
        What was asked for.
    not_reached : tuple of float
        Values of pi that Ctrl-C came before; empty else.
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

        Parameters
        ----------
        X : array (m, d)
            Points prepared like the training points; of a kernel matrix the rows of kernel values
            (m, n) against the training points.

        Raises
        ------
        ValueError
            Another shape, or numbers that are not finite.
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

        Raises
        ------
        ValueError
            Another document, a part that is missing or out of range, or data that it does not
            belong to.
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
