"""Labels from cells of text: signs for two classes, names for several; nothing is guessed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.catalogue import CATALOGUE
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.number_words import number_in
from tightmargin.printing import Printed

# From cells of text, the class that is +1 if one was named, and what to call the labels.
Labelling = Callable[[Sequence[str], str | None, str], NDArray[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Points(Printed):
    """What a source holds; it may be taken apart in this order.

    X (n, d).
    labels (n,): what a `Labelling` makes of the cells.
    weights (n,): what the points weigh, where a column says so.
    names: of the features, where the source has them.
    first_index: the number of the first feature, 0 or 1, where the source numbers them.
    """

    X: Any
    labels: NDArray[Any]
    weights: Array | None = None
    names: tuple[str, ...] = ()
    first_index: int | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.labels, self.weights, self.names))


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean ...? ` when something known is spelled alike, else nothing."""
    close = get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]!r}? " if close else ""


def as_text(value: Any) -> str:
    """Write a cell as a user would: 1.0 and 1 are both `1`."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)


def same_label(cell: str, wanted: str) -> bool:
    """Whether two labels are equal, as text or as numbers."""
    number = number_in(cell)
    return cell == wanted or (number is not None and number == number_in(wanted))


def takers() -> str:
    """The end of a refusal: the formulations that take several classes."""
    able = [entry.name for entry in CATALOGUE.values() if MulticlassData in entry.takes]
    return f"; all the classes at once are taken by {', '.join(able)}" if able else ""


def signed(labels: Sequence[str], positive: str | None, where: str) -> Array:
    """Labels -1 and +1 from cells of text.

    labels: one cell for each row.
    positive: the cells equal to it, as text or as a number, become +1, all others -1. Without it
        the cells must be the numbers -1 and +1 already.
    where: what to call the labels in a complaint.
    Raises ValueError: other labels without `positive`, or a `positive` that does not occur.
    """
    distinct = sorted(set(labels))
    shown = ", ".join(distinct[:6]) + (", ..." if len(distinct) > 6 else "")
    if positive is None:
        if not {number_in(cell) for cell in distinct} <= {-1.0, 1.0}:
            raise ValueError(
                f"{where} holds the labels {shown}: say which one is +1 (all others become -1) "
                f"with --positive {distinct[-1]}, or with positive={distinct[-1]} in the spec"
                f"{takers() if len(distinct) > 2 else ''}"
            )
        return np.array([float(cell) for cell in labels])
    chosen = {cell for cell in distinct if same_label(cell, positive)}
    if not chosen:
        hint = nearest(positive, distinct)
        raise ValueError(f"{where} holds no label {positive!r}: {hint}it holds {shown}")
    return np.array([1.0 if cell in chosen else -1.0 for cell in labels])


def as_written(labels: Sequence[str]) -> NDArray[np.str_]:
    """Labels of new points as text; of numbers, 2.0 is also 2."""
    numbers = [number_in(cell) for cell in labels]
    return np.array(
        [cell if v is None else as_text(v) for cell, v in zip(labels, numbers, strict=True)]
    )


def named(labels: Sequence[str], positive: str | None, where: str) -> NDArray[np.str_]:
    """Names of classes from cells of text: words, and whole numbers, of which 2.0 is also 2.

    Raises ValueError: a `positive`, which is a matter of two classes, or a number that is not
        whole.
    """
    if positive is not None:
        raise ValueError(
            f"positive={positive} makes two classes of all: leave it out, every label is a class"
        )
    names: dict[str, str] = {}
    for cell in dict.fromkeys(labels):
        number = number_in(cell)
        if number is not None and not (math.isfinite(number) and number.is_integer()):
            raise ValueError(f"{where} holds the label {cell}: classes are whole numbers or words")
        names[cell] = cell if number is None else as_text(number)
    return np.array([names[cell] for cell in labels])


def numbered(names: NDArray[np.str_]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Numbers of the classes and their names in order: by number, then words by the alphabet."""

    def order(name: str) -> tuple[bool, int, str]:
        number = number_in(name)
        return (True, 0, name) if number is None else (False, int(number), "")

    classes = sorted(set(names.tolist()), key=order)
    at = {name: k for k, name in enumerate(classes)}
    return np.array([at[name] for name in names.tolist()], dtype=np.int64), tuple(classes)
