"""Decision boundaries in the plane: two classes with their margins, or the regions of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.experiments.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    NORMAL,
    ORANGE,
    PURPLE,
    SKY,
    SMALL,
    VERMILLION,
    axis_limits,
    literal,
    tidy,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.class_labels import SIGNS, label_text

Score = Callable[[Array], Any]

STEPS = 240  # places of the grid along either axis
BLOCK = 4000  # places that are scored at once, so that a kernel of many points fits in memory
ROOM = 0.12  # of the spread of the points: how far the picture reaches beyond them
SQUARE = 2.0  # spreads that differ by at most this factor get the same scale
RING = 9.5  # points


class Mark(NamedTuple):
    """How the points of a class are drawn, and the shade of its side."""

    colour: str
    shape: str
    shade: str


# The shades differ in lightness, the shapes in outline: both survive a print in grey.
POSITIVE, NEGATIVE = Mark(VERMILLION, "o", "#FFFFFF"), Mark(BLUE, "x", "#DDE7EF")
CLASSES = (
    Mark(BLUE, "o", "#D3E3EF"), Mark(VERMILLION, "x", "#FBEDE2"), Mark(GREEN, "^", "#C4DFD5"),
    Mark(BLACK, "+", "#EDEDED"), Mark(PURPLE, "s", "#F3DDE8"), Mark(ORANGE, "v", "#FAEBCB"),
    Mark(SKY, "D", "#E2F1FA"),
)  # fmt: skip


def draw_boundary(
    axes: Any,
    points: ArrayLike,
    labels: ArrayLike,
    score: Score,
    *,
    margin: float = 1.0,
    support: ArrayLike | None = None,
    names: Sequence[Any] = SIGNS,
    title: str = "",
) -> None:
    """Draw two classes, the line score = 0, both margins and rings around the support vectors.

    Every artist has a label, so `axes.legend()` or `tm.plots.shared_legend(figure)` explains
    the picture. Where both features spread alike they get one scale, and a distance is a distance.

    Parameters
    ----------
    axes : matplotlib Axes
        Drawn upon.
    points : array (n, 2)
        The training points.
    labels : array (n,)
        -1 and +1.
    score : callable
        (m, 2) -> (m,): the decision value <w, x> + b, or that of a kernel machine.
    margin : float
        Lines at score = -margin and +margin, each in the colour of the class that it bounds.
        Below 0 (extended nu-SVC below nu_bar) the two change sides; 0 draws none.
    support : array of bool (n,), optional
        Points to be ringed.
    names : pair
        What the classes -1 and +1 are called.
    title : str
        Above the axes.

    Raises
    ------
    ValueError
        Other shapes or labels, a margin that is not finite, a score that returns another shape
        or numbers that are not finite.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> machine = tm.fit("c_svc", data, C=1.0)
    >>> axes = tm.plots.new_figure(width=3.5, height=3.0).subplots()
    >>> tm.plots.draw_boundary(axes, data.X, data.y, machine.decision_values)
    """
    X, y = _checked_points(points, labels)
    if not np.isin(y, (-1, 1)).all():
        raise ValueError(f"labels must be -1 and +1, got {np.unique(y).tolist()}")
    if not np.isfinite(margin):
        raise ValueError(f"margin must be a finite number, got {margin}")
    ringed = _checked_support(support, len(X))
    xs, ys = _grid(X)
    values = _on_grid(score, xs, ys, "score")
    axes.contourf(
        xs, ys, values, levels=[min(values.min(), 0) - 1, 0, max(values.max(), 0) + 1],
        colors=[NEGATIVE.shade, POSITIVE.shade], zorder=0,
    )  # fmt: skip
    _line(axes, xs, ys, values, 0.0, "score = 0", {"colors": BLACK, "linewidths": 1.6})
    if margin != 0:
        for side, mark, dashes in ((margin, POSITIVE, "--"), (-margin, NEGATIVE, "-.")):
            style = {"colors": mark.colour, "linewidths": 1.2, "linestyles": dashes}
            _line(axes, xs, ys, values, side, f"score = {side:.4g}", style)
    for sign, mark in ((1, POSITIVE), (-1, NEGATIVE)):
        _points(axes, X[y == sign], mark, literal(f"class {label_text(names[sign > 0])}"))
    _rings(axes, X, ringed)
    _frame(axes, X, title)


def draw_regions(
    axes: Any,
    points: ArrayLike,
    labels: ArrayLike,
    predict: Score,
    *,
    names: Sequence[str] | None = None,
    support: ArrayLike | None = None,
    title: str = "",
) -> None:
    """Draw the region of every class, the borders between them and the points.

    Parameters
    ----------
    axes : matplotlib Axes
        Drawn upon.
    points : array (n, 2)
        The training points.
    labels : array (n,)
        Of 0 to K - 1.
    predict : callable
        (m, 2) -> (m,): the class at each place.
    names : sequence of K str, optional
        Of the classes; without them their numbers.
    support : array of bool (n,), optional
        Points to be ringed.
    title : str
        Above the axes.

    Raises
    ------
    ValueError
        Other shapes or labels, more classes than there are marks, a class without a name.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.gaussian_class_data(n=18, d=2, classes=3, sigma=0.5, seed=0)
    >>> machine = tm.fit("multiclass_hinge", data, ridge=0.1)
    >>> axes = tm.plots.new_figure(width=3.5, height=3.0).subplots()
    >>> tm.plots.draw_regions(axes, data.X, data.y, machine.labels)
    """
    X, y = _checked_points(points, labels)
    ringed = _checked_support(support, len(X))
    xs, ys = _grid(X)
    values = _on_grid(predict, xs, ys, "predict")
    _check_classes(np.concatenate([y, values.ravel()]), names)
    count = int(max(y.max(), values.max())) + 1
    axes.contourf(
        xs, ys, values, levels=np.arange(count + 1) - 0.5,
        colors=[mark.shade for mark in CLASSES[:count]], zorder=0,
    )  # fmt: skip
    for k in np.unique(values)[1:]:
        axes.contour(xs, ys, values >= k, levels=[0.5], colors=GREY, linewidths=1.0, zorder=1)
    for k in range(count):
        _points(
            axes, X[y == k], CLASSES[k], f"class {k}" if names is None else literal(str(names[k]))
        )
    _rings(axes, X, ringed)
    _frame(axes, X, title)


def refuse_many(classes: int) -> None:
    """Raise ValueError for more classes than there are marks."""
    if classes > len(CLASSES):
        raise ValueError(f"{classes} classes are more than the {len(CLASSES)} that have a mark")


def _check_classes(found: Array, names: Sequence[str] | None) -> None:
    if not (np.equal(found, np.round(found)).all() and found.min() >= 0):
        raise ValueError("labels and predict must be whole numbers from 0")
    count = int(found.max()) + 1
    refuse_many(count)
    if names is not None and len(names) < count:
        raise ValueError(f"names must hold {count} words, got {len(names)}")


def _checked_points(points: ArrayLike, labels: ArrayLike) -> tuple[Array, Array]:
    X, y = np.asarray(points, dtype=float), np.asarray(labels, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2 or not len(X):
        raise ValueError(f"points must be an array (n, 2), got shape {X.shape}")
    if not np.isfinite(X).all():
        raise ValueError("points must be finite numbers")
    if y.shape != (len(X),):
        raise ValueError(f"labels must be an array ({len(X)},), got shape {y.shape}")
    return X, y


def _checked_support(support: ArrayLike | None, n: int) -> NDArray[np.bool_]:
    if support is None:
        return np.zeros(n, dtype=bool)
    ringed = np.asarray(support)
    if ringed.dtype != np.bool_ or ringed.shape != (n,):
        raise ValueError(f"support must be an array of bool ({n},), got {ringed.dtype}"
                         f" {ringed.shape}")  # fmt: skip
    return ringed


def _grid(X: Array) -> tuple[Array, Array]:
    (left, right), (low, high) = (axis_limits(column, ROOM) for column in X.T)
    return np.linspace(left, right, STEPS), np.linspace(low, high, STEPS)


def _on_grid(score: Score, xs: Array, ys: Array, name: str) -> Array:
    """Values (len(ys), len(xs)) of the score."""
    places = np.column_stack([part.ravel() for part in np.meshgrid(xs, ys)])
    blocks = []
    for start in range(0, len(places), BLOCK):
        given = places[start : start + BLOCK]
        found = np.asarray(score(given), dtype=float)
        if found.shape != (len(given),):
            raise ValueError(f"{name} must return an array ({len(given)},), got {found.shape}")
        if not np.isfinite(found).all():
            raise ValueError(f"{name} must return finite numbers")
        blocks.append(found)
    return np.concatenate(blocks).reshape(len(ys), len(xs))


def _line(
    axes: Any, xs: Array, ys: Array, values: Array, level: float, label: str, style: dict[str, Any]
) -> None:
    """A level of the score; one that the picture does not reach is left out, legend included."""
    if not values.min() < level < values.max():
        return
    axes.contour(xs, ys, values, levels=[level], zorder=2, **style)
    axes.plot(
        [], [], color=style["colors"], lw=style["linewidths"], ls=style.get("linestyles", "-"),
        label=label,
    )  # fmt: skip


def _points(axes: Any, X: Array, mark: Mark, label: str) -> None:
    if len(X):
        hollow = mark.shape in "x+"
        axes.plot(
            *X.T, mark.shape, ls="", ms=5, color=mark.colour, mew=1.4 if hollow else 0.6,
            mec=mark.colour if hollow else "white", label=label, zorder=3,
        )  # fmt: skip


def _rings(axes: Any, X: Array, ringed: NDArray[np.bool_]) -> None:
    if ringed.any():
        axes.plot(
            *X[ringed].T, "o", ls="", ms=RING, mfc="none", mec=BLACK, mew=0.9,
            label="support vector", zorder=4,
        )  # fmt: skip


def name_features(axes: Any, names: Sequence[str]) -> None:
    """Names of the two features at the axes, or their numbers."""
    first, second = names or ("feature 0", "feature 1")
    axes.set_xlabel(first, parse_math=False)
    axes.set_ylabel(second, parse_math=False)


def _frame(axes: Any, X: Array, title: str) -> None:
    xs, ys = (axis_limits(column, ROOM) for column in X.T)
    axes.set_xlim(xs)
    axes.set_ylim(ys)
    spreads = (xs[1] - xs[0], ys[1] - ys[0])
    if max(spreads) <= SQUARE * min(spreads):
        axes.set_aspect("equal")
    name_features(axes, ())
    tidy(axes, SMALL + 1)
    if title:
        axes.set_title(title, fontsize=NORMAL + 1, parse_math=False)
