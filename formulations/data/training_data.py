"""Points of two classes with labels and weights, or a kernel matrix of them, checked once."""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import (
    DENSE_LIMIT_BYTES,
    Array,
    dense_bytes,
    digest,
    keep_read_only,
    real_array,
    refuse_non_finite,
)
from tightmargin.formulations.data.class_labels import (
    SIGNS,
    feature_names_of,
    features_text,
    label_text,
    two_labels,
)
from tightmargin.formulations.data.point_weights import (
    ClassWeight,
    WeightedPoints,
    above_zero,
    weights_of_points,
    weights_text,
)
from tightmargin.formulations.data.sparse_points import (
    Points,
    is_sparse,
    share_stored,
    sparse_points,
)
from tightmargin.formulations.parameters import checked_shift
from tightmargin.number_words import count_text, number_text, short
from tightmargin.printing import Page, Printed, value_text

# --- Labels and weights of data of two classes, points or a kernel matrix ------------------------


@dataclass(frozen=True, eq=False, repr=False)
class TwoClasses(Printed, WeightedPoints):
    """Labels and weights of points of two classes; see `TrainingData`."""

    sample_weight: Array | None = field(default=None, kw_only=True)
    class_weight: ClassWeight = field(default=None, kw_only=True)
    positive: Any = field(default=None, kw_only=True)
    classes: Sequence[Any] = field(default=(), kw_only=True)

    def _keep_labels(self, n: int) -> NDArray[np.intp]:
        """Check labels and weights, and keep those of points that weigh something.

        Returns
        -------
        array
            Places of these points.
        """
        signs, labels = two_labels(self.y, n, self.positive)
        labels = _names_of(labels, self.classes)
        place = (signs > 0).astype(np.intp)
        weights = weights_of_points(self.sample_weight, self.class_weight, labels, place)
        kept, weights = above_zero(weights, n)
        keep_read_only(self, y=signs[kept])
        words = {"class_weight": None, "positive": None, "classes": labels}
        for name, value in {"sample_weight": weights, **words}.items():
            object.__setattr__(self, name, value)
        return kept

    def _counted(self, size: str) -> str:
        """Kind, source and size, as a title."""
        source = f" {short(self.spec)}" if self.spec else ""
        weighted = "" if self.weights is None else ", weighted"
        return (
            f"{type(self).__name__}{source}: {count_text(len(self.y), 'point')}, {size}{weighted}"
        )

    @property
    def n_pos(self) -> int:
        """Number of points labelled +1."""
        return int((self.y > 0).sum())

    @property
    def n_neg(self) -> int:
        """Number of points labelled -1."""
        return int((self.y < 0).sum())

    @cached_property
    def masses(self) -> tuple[float, float]:
        """Sums of the weights of the points labelled -1 and of those labelled +1."""
        return self.mass(self.y < 0), self.mass(self.y > 0)

    @property
    def labels_text(self) -> str:
        """How many points there are of each label."""
        negative, positive = (label_text(sign) for sign in SIGNS)
        if tuple(self.classes) != SIGNS:
            negative, positive = (
                f"{short(str(label), 12)} ({sign})"
                for label, sign in zip(self.classes, (negative, positive), strict=False)
            )
        return f"{self.n_pos} of {positive}, {self.n_neg} of {negative}"

    @property
    def _weights(self) -> tuple[Array, ...]:
        return () if self.weights is None else (self.weights,)


def _names_of(labels: tuple[Any, Any], given: Sequence[Any]) -> tuple[Any, Any]:
    """What the two labels are called, the negative one first."""
    if isinstance(given, str) or len(given) not in (0, 2) or len(set(given)) != len(given):
        raise ValueError(f"classes must be two different names, got {given!r}")
    if not given:
        return labels
    if labels != SIGNS:
        raise ValueError(f"classes name the labels -1 and +1, and y holds {labels}: leave them out")
    return given[0], given[1]


# --- Training data: the only thing every builder reads, checked once and read-only ever after ----


@dataclass(frozen=True, eq=False, repr=False)
class TrainingData(TwoClasses):
    """n labelled points.

    Parameters
    ----------
    X : array or scipy.sparse matrix (n, d)
        Points, converted to float64. A sparse matrix or array of any format becomes a read-only
        csr_array with duplicates added up and no zeros stored; `sparse_points` says more.
    y : array (n,)
        Labels of two kinds: -1 and +1, other numbers, words, booleans. They are kept as -1 and +1.
    spec : str
        Where the data came from, kept for the record of a result.
    sample_weight : array (n,), optional
        Numbers s_i of at least 0: point i stands for s_i points. Those of weight 0 are left out of
        the data. Kept are the products with the weights of the classes, None where all are 1.
    class_weight : mapping, pair or "balanced", optional
        Of a label, 1 where it is left out; two numbers, of the label -1 and of +1; or
        total / (2 mass of the class). Multiplies the weights.
    positive : label, optional
        The label that is +1; by default the larger one.
    classes : pair, optional
        What the labels -1 and +1 are called; by default as `y` calls them.
    feature_names : sequence of str, optional
        By default the columns of a data frame that are words. No part of the digest.
    first_index : int, optional
        The number, 0 or 1, that the file of the points gives to the first feature, where it numbers
        them: new points of such a file are paired with the features by it.

    Raises
    ------
    ValueError
        Naming the argument, and the row and column of the first bad cell.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [-1, -1, 1])
    >>> data.n, data.d, data.n_pos
    (3, 2, 1)
    >>> tm.TrainingData([[0.0], [1.0]], ["ill", "well"], positive="ill", sample_weight=[2, 1])
    TrainingData: 2 points, 1 feature, weighted
      labels   1 of ill (+1), 1 of well (-1)
      weights  from 1 to 2, in all 3
      numbers  from 0 to 1
      next     .X, .y, .weights, .to_dict()
    """

    X: Points
    y: Array
    spec: str = ""
    feature_names: Sequence[str] = field(default=(), kw_only=True)
    first_index: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        points = sparse_points("X", self.X) if sp.issparse(self.X) else _dense_points(self.X)
        kept = self._keep_labels(points.shape[0])
        if len(kept) < points.shape[0]:
            points = sparse_points("X", points[kept]) if sp.issparse(points) else points[kept]
        if not sp.issparse(points):
            points.setflags(write=False)
        names = feature_names_of(self.X, self.feature_names, points.shape[1])
        object.__setattr__(self, "feature_names", names)
        object.__setattr__(self, "X", points)

    def __getstate__(self) -> Mapping[str, Any]:
        """Without the dense copy, which is larger and can be made again."""
        return {name: value for name, value in vars(self).items() if name != "_dense"}

    def _title(self) -> str:
        share = f", {share_stored(self.X):.2g} of the cells stored" if self.is_sparse else ""
        return self._counted(f"{count_text(self.d, 'feature')}{share}")

    def _page(self) -> Page:
        return data_page(self, self.X)

    @property
    def n(self) -> int:
        """Number of points."""
        return self.X.shape[0]

    @property
    def d(self) -> int:
        """Number of features."""
        return self.X.shape[1]

    @property
    def is_sparse(self) -> bool:
        """Whether X is a csr_array."""
        return is_sparse(self.X)

    @property
    def fits_dense(self) -> bool:
        """Whether X is dense, or a dense copy of it would need at most 2 GiB."""
        return not self.is_sparse or dense_bytes(self.X) <= DENSE_LIMIT_BYTES

    def dense_for(self, who: str, instead: str = "select columns or rows first") -> TrainingData:
        """The data with dense points: itself, or a copy that is made once and has its digest.

        Parameters
        ----------
        who : str
            What needs dense points, for the complaint.
        instead : str
            What to do where that is too much.

        Raises
        ------
        ValueError
            The dense points would need more than 2 GiB.
        """
        if not self.is_sparse:
            return self
        if not self.fits_dense:
            needed = dense_bytes(self.X)
            raise ValueError(
                f"{who} needs dense points, and X needs {needed:,} bytes when dense "
                f"(limit {DENSE_LIMIT_BYTES:,}): {instead}"
            )
        return self._dense

    @cached_property
    def _dense(self) -> TrainingData:
        found = with_points(self, self.X.toarray(), self.feature_names)
        vars(found)["sha256"] = self.sha256
        return found

    @property
    def factor(self) -> Points:
        """Rows whose inner products are the (linear) kernel: the points themselves."""
        return self.X

    @property
    def points(self) -> TrainingData:
        """The data itself; see `GramData.points`."""
        return self

    @cached_property
    def sha256(self) -> str:
        """Digest of X, y and weights, independent of memory layout and of the format of a sparse X.

        That of a sparse X is of what is stored, not that of the same dense X.
        """
        return digest(self.X, self.y, *self._weights)


def has_sparse_points(data: object) -> bool:
    """Whether data of any kind hold points that are kept sparse."""
    return isinstance(data, TrainingData) and data.is_sparse


def _dense_points(X: Any) -> Array:
    points = real_array("X", X)
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(f"X must have shape (n, d) with n, d >= 1, got {points.shape}")
    refuse_non_finite("X", points)
    points.setflags(write=False)
    return points


@dataclass(frozen=True, eq=False, repr=False)
class GramData(TwoClasses):
    """A positive semidefinite kernel matrix with labels.

    Parameters
    ----------
    gram : array (n, n)
        Inner products of the points in feature space.
    y : array (n,)
        Labels of two kinds, as for `TrainingData`.
    spec : str
        Where the data came from.
    shift : number or "smallest"
        Added to the diagonal, 0 by default: the kernel of another problem, on purpose. "smallest"
        takes the least number that makes the matrix semidefinite, minus its smallest eigenvalue.
    sample_weight, class_weight, positive, classes : optional
        As for `TrainingData`; the rows and columns of points of weight 0 are left out.

    Attributes
    ----------
    smallest_eigenvalue : float
        Of the matrix as given, before the shift.

    Raises
    ------
    ValueError
        Not square, not symmetric, not finite, or not positive semidefinite; the last names the
        smallest eigenvalue and the ways out.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.GramData([[2.0, 1.0], [1.0, 2.0]], [-1, 1]).n
    2
    """

    gram: Array
    y: Array
    spec: str = ""
    shift: float | str = 0.0

    def __post_init__(self) -> None:
        gram = real_array("gram", self.gram)
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or gram.size == 0:
            raise ValueError(f"gram must be square, got shape {gram.shape}")
        refuse_non_finite("gram", gram)
        scale = float(np.abs(gram).max())
        if np.abs(gram - gram.T).max() > 1e-10 * max(scale, 1e-300):
            raise ValueError("gram must be symmetric")
        gram = (gram + gram.T) / 2
        kept = self._keep_labels(len(gram))
        if len(kept) < len(gram):
            gram = np.ascontiguousarray(gram[np.ix_(kept, kept)])
        eigenvalues, vectors = np.linalg.eigh(gram)
        smallest = float(eigenvalues[0])
        noise = len(gram) * np.finfo(float).eps * max(abs(eigenvalues[-1]), abs(smallest))
        shift = checked_shift(self.shift, smallest, noise)
        if smallest + shift < -100 * noise:
            small = f", and shift={shift:.6g} is too small" if shift else ""
            raise ValueError(
                f"gram is not positive semidefinite: smallest eigenvalue {smallest:.6g}{small}; "
                f"choose another kernel, or shift=smallest, which adds {-smallest:.6g} to the "
                "diagonal and is recorded"
            )
        gram = gram + shift * np.eye(len(gram))
        eigenvalues = eigenvalues + shift
        keep = eigenvalues > 100 * noise
        factor = np.ascontiguousarray(vectors[:, keep] * np.sqrt(eigenvalues[keep]))
        if not shift:
            # Equal points stay equal: told apart by roundings, opposite labels would be separable.
            _, first, which = np.unique(gram, axis=0, return_index=True, return_inverse=True)
            factor = factor[first[which.reshape(-1)]]
        keep_read_only(self, gram=gram, _factor=factor)
        object.__setattr__(self, "shift", shift)
        object.__setattr__(self, "_smallest", smallest)

    def _title(self) -> str:
        return self._counted(f"rank {self.d}")

    def _page(self) -> Page:
        return data_page(self, self.gram)

    @property
    def factor(self) -> Array:
        """Rows F (n, rank) with gram = F F' to rounding; zero eigenvalues are left out."""
        return self.__dict__["_factor"]

    @cached_property
    def points(self) -> TrainingData:
        """Rows of the factor as points: an algorithm on them is one on the kernel.

        Raises
        ------
        ValueError
            The kernel matrix is 0.
        """
        if not self.d:
            raise ValueError("gram is 0: all points lie in one place and have no features")
        return with_points(self, self.factor)

    @property
    def smallest_eigenvalue(self) -> float:
        """Smallest eigenvalue of the matrix as given, before the shift."""
        return self.__dict__["_smallest"]

    @property
    def n(self) -> int:
        """Number of points."""
        return self.gram.shape[0]

    @property
    def d(self) -> int:
        """Rank of the kernel matrix: the dimension of the factor."""
        return self.factor.shape[1]

    @cached_property
    def sha256(self) -> str:
        """Digest of the kernel matrix, y and weights."""
        return digest(self.gram, self.y, *self._weights)


def with_points(data: TwoClasses, X: Array, feature_names: Sequence[str] = ()) -> TrainingData:
    """Other coordinates of the same points, with their labels, weights and source."""
    assert isinstance(data, TrainingData | GramData)
    words: Any = {"sample_weight": data.sample_weight, "classes": data.classes}
    return TrainingData(X, data.y, data.spec, feature_names=feature_names, **words)


def with_gram(data: TwoClasses, gram: Array, shift: float | str = 0.0) -> GramData:
    """A kernel matrix of the same points, with their labels, weights and source."""
    assert isinstance(data, TrainingData | GramData)
    return GramData(
        gram, data.y, data.spec, shift, sample_weight=data.sample_weight, classes=data.classes
    )


def data_page(data: TrainingData | GramData, numbers: Points) -> Page:
    """Sizes and ranges of data; `numbers` are the points or the kernel matrix."""
    low, high = number_text(float(numbers.min())), number_text(float(numbers.max()))
    facts = [("labels", data.labels_text)]
    if data.weights is not None:
        facts.append(("weights", weights_text(data.weights)))
    facts.append(("numbers", f"from {low} to {high}"))
    if isinstance(data, TrainingData) and data.feature_names:
        facts.append(("features", features_text(data.feature_names)))
    if isinstance(data, GramData) and data.shift:
        facts.append(("shift", value_text(data.shift)))
    numbers_of = ".gram" if isinstance(data, GramData) else ".X"
    weights = "" if data.weights is None else " .weights,"
    facts.append(("next", f"{numbers_of}, .y,{weights} .to_dict()"))
    return Page(data._title(), facts)


# --- Functions that read points cell by cell, and get them dense ---------------------------------

Function = TypeVar("Function", bound=Callable[..., Any])


def reads_dense_points(function: Function) -> Function:
    """A function of data, its first argument, that gets a dense copy of sparse points.

    The copy is made once for all functions, up to 2 GiB; above that the function is not called and
    a ValueError names it.
    """
    first = next(iter(inspect.signature(function).parameters))

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        data = args[0] if args else kwargs.get(first)
        if isinstance(data, TrainingData):
            dense = data.dense_for(function.__name__)
            if not args:
                return function(**{**kwargs, first: dense})
            args = (dense, *args[1:])
        return function(*args, **kwargs)

    return cast(Function, wrapped)


# --- Points that lie in one place, and what that means for every classifier ----------------------


@lru_cache(maxsize=4)
def least_errors(data: TrainingData | GramData) -> int:
    """Least number of points that any function of the point gets wrong.

    Points that are equal get one score. Where p of them are positive and q negative, min(p, q)
    are on the wrong side of it, and below margin 1 for every hyperplane: the sum over all places
    is a lower bound on errors and on 0-1 violations. Points of a kernel matrix are equal when
    their rows are: then K_ii = K_ij = K_jj, and their distance in feature space is 0.

    Returns: 0 when no place holds points of both labels.
    """
    points = data.gram if isinstance(data, GramData) else data.X
    # Equal rows have equal marks, and few others do: only those are looked at.
    _, place, count = np.unique(_row_marks(points), return_inverse=True, return_counts=True)
    shared = count[place] > 1
    positive, negative = (
        Counter(_rows_as_bytes(points[shared & (data.y == label)])) for label in (1.0, -1.0)
    )
    return sum(min(positive[place], negative[place]) for place in positive.keys() & negative.keys())


def _rows_as_bytes(points: Points) -> list[bytes]:
    """One string of bytes a row: equal exactly where the rows are."""
    if not is_sparse(points):
        return [row.tobytes() for row in points + 0.0]  # -0.0 and 0.0 are one number
    ends = zip(points.indptr[:-1], points.indptr[1:], strict=True)
    return [
        points.indices[first:last].tobytes() + points.data[first:last].tobytes()
        for first, last in ends
    ]


def _row_marks(points: Points) -> NDArray[np.uint64]:
    """A number for each row (n,), equal where the rows are and seldom elsewhere."""
    d = points.shape[1]
    factors = np.random.default_rng(0).integers(1, 2**63, size=d, dtype=np.uint64)
    if not is_sparse(points):
        return (points + 0.0).view(np.uint64) @ factors
    # Sums modulo 2^64 are differences of running sums; zeros add nothing.
    products = points.data.view(np.uint64) * factors[points.indices]
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(products, dtype=np.uint64)])
    return running[points.indptr[1:]] - running[points.indptr[:-1]]
