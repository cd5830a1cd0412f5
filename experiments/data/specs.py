"""Data sets by name: one SPEC string, the same on the command line and in a notebook.

A SPEC is a source, then options after commas:

    file.csv                 header line; labels in column `y`, or label=NAME
    file.npz                 arrays X and y, or label=NAME instead of y
    file.libsvm              label index:value index:value ...
    file                     any other name: npz by its first bytes, libsvm or csv by its first
                             lines, else Brooks text: n and d, then label and features per line
    /dev/stdin               what is piped in, in any of these formats
    sklearn:NAME             breast_cancer, digits, iris or wine of scikit-learn, see `SKLEARN`
    uci:NAME                 a public data set of the papers, see `UCI`
    synthetic:KIND           none, clustered, spread (n=, d=, sigma=), flip (n=, d=, tau=) or
                             gaussians (n=, d=, sigma=, classes=), optionally seed= and sample=,
                             see `tightmargin.experiments.data.outlier_generators`,
                             `tightmargin.experiments.data.gaussian_classes`

    n=100        that many rows, drawn with default_rng(seed); they keep their order
    stratify     the drawn rows keep the shares of the classes, to rounding
    seed=0       seed of the drawing (0 when left out)
    features=0+3 these columns only, counted from 0
    positive=V   rows labelled V become +1, all others -1
    label=NAME   the column (csv, uci) or array (npz) that holds the labels
    weight=NAME  the column or array that says what the points weigh, no feature then
    class_weight=balanced, or class_weight=A:1+B:2 by label: factors of these weights
    complete     leave out rows with an empty or `?` cell (csv, uci)

Labels -1 and +1 are taken as they are; any others need `positive`. A formulation of several classes
takes whole numbers and words as classes, in the order of the numbers and of the alphabet. Nothing
is guessed: a cell that is no finite number is refused with its row and column.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from tightmargin.experiments.data.labels import (
    Labelling,
    Points,
    named,
    numbered,
    signed,
)
from tightmargin.experiments.data.public_data import UCI, data_folder
from tightmargin.experiments.data.readers import as_trained, holds_array
from tightmargin.experiments.data.sources import (
    GAUSSIANS,
    READERS,
    SKLEARN,
    SPREAD,
    new_csv,
    recorded_option,
    synthetic,
    unknown,
)
from tightmargin.experiments.data.streams import STREAM, as_file, is_stream, kind_of
from tightmargin.experiments.data.subsets import Options, columns_of, subset
from tightmargin.formulations.data.arrays import dense_bytes
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.point_weights import BALANCED, ClassWeight
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.number_words import number_in

__all__ = ["SKLEARN", "UCI", "data_folder", "load", "load_classes", "read_points"]

_SUFFIXES = {".csv": "csv", ".npz": "npz", ".libsvm": "libsvm"}  # others by what they hold
_HEAD = 2**20  # bytes that show what a file holds
_SCHEMES = ("sklearn", "synthetic", "uci")
_FLAGS = ("stratify", "complete")
_SUBSET = ("n", "features", "stratify", "seed")
_LABELLING = {
    "csv": ("label", "positive", "complete", "weight", "class_weight"),
    "npz": ("label", "positive", "weight", "class_weight"),
    "libsvm": ("positive", "class_weight"),
    "brooks": ("positive", "class_weight"),
    "sklearn": ("positive", "class_weight"),
    "uci": ("label", "positive", "complete", "weight", "class_weight"),
}


def load(spec: str, *, label: str | None = None, positive: str | None = None) -> TrainingData:
    """Training data named by a SPEC.

    Parameters
    ----------
    spec : str
        Source and options, see the top of this module.
    label, positive : str or None
        The same as the options `label=` and `positive=` inside the spec.

    Returns
    -------
    TrainingData
        With `spec` as given. Points of a libsvm file stay sparse where that takes at most half of
        the memory.

    Raises
    ------
    ValueError
        Beginning with the spec: an unknown name or option (with the nearest known one), a bad cell
        (with its row and column), labels that need `positive`, an impossible subset.
    FileNotFoundError
        No such file, or a public data set that is not in the data folder and not on OpenML.
    ConnectionError
        OpenML did not answer.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.load("synthetic:clustered,n=100,d=3,sigma=0.2,seed=0").X.shape
    (100, 3)
    """
    try:
        found = read_points(spec, signed, label, positive)
        return TrainingData(
            _smaller(found.X), found.labels, spec=spec, sample_weight=found.weights,
            class_weight=class_weight_of(spec, positive), feature_names=found.names,
            first_index=found.first_index,
        )  # fmt: skip
    except ValueError as error:
        raise _with_spec(spec, error) from error


def _smaller(X: Any) -> Any:
    """Sparse points as they are where that takes at most half of the memory, else dense ones."""
    if not sp.issparse(X):
        return X
    stored = sp.csr_array(X)
    needed = sum(part.nbytes for part in (stored.data, stored.indices, stored.indptr))
    return stored if 2 * needed <= dense_bytes(stored) else stored.toarray()


def load_classes(
    spec: str, *, label: str | None = None, positive: str | None = None
) -> MulticlassData:
    """Training data of several classes named by a SPEC: every label is a class.

    Parameters
    ----------
    spec, label
        As for `load`.
    positive : str or None
        Refused: it makes two classes of all.

    Returns
    -------
    MulticlassData
        With `spec` as given and the names of the classes in order.

    Raises
    ------
    ValueError, FileNotFoundError, ConnectionError
        As `load`; labels that are neither whole numbers nor words.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.data.load_classes("sklearn:iris").classes
    ('setosa', 'versicolor', 'virginica')
    """
    try:
        found = read_points(spec, named, label, positive)
        y, classes = numbered(found.labels)
        return MulticlassData(
            found.X, y, spec=spec, classes=classes, sample_weight=found.weights,
            class_weight=class_weight_of(spec), feature_names=found.names,
            first_index=found.first_index,
        )  # fmt: skip
    except ValueError as error:
        raise _with_spec(spec, error) from error


def read_points(
    spec: str,
    labelling: Labelling,
    label: str | None = None,
    positive: str | None = None,
    trained: Mapping[str, Any] | None = None,
) -> Points:
    """Points of a SPEC, and what `labelling` makes of their labels; see `load`.

    Complaints do not begin with the spec unless they are about it.

    Parameters
    ----------
    spec : str
        Source and options, see the top of this module.
    labelling : callable(words, positive)
        What makes labels of the words that are read.
    label, positive : str, optional
        As for `load`.
    trained : mapping, optional
        For new points, what a result's record says of its training data: a libsvm file is then
        read with their features, and a csv file may lack labels, which are "" then.

    Examples
    --------
    >>> import tightmargin as tm
    >>> from tightmargin.experiments.data.labels import named
    >>> X, labels, *_ = tm.data.read_points("sklearn:iris", named)
    >>> X.shape, str(labels[0])
    ((150, 4), 'setosa')
    """
    given = {"label": label, "positive": positive}
    source, head, written = _parse(spec)
    with as_file(source, head) as (scheme, name):
        options = _merge(scheme, name, written, {k: v for k, v in given.items() if v is not None})
        if scheme == "synthetic":
            found = synthetic(name, options, labelling)
            return replace(found, X=found.X[:, columns_of(options, found.X.shape[1])])
        if trained is not None and scheme == "csv":
            return subset(new_csv(name, options, labelling, trained), options)
        recorded = None if trained is None else recorded_option(trained, "label")
        if scheme == "npz" and recorded is not None and holds_array(name, recorded):
            options = {"label": recorded} | options
        found = READERS[scheme](name, options, labelling)
        if trained is not None and scheme == "libsvm":
            chosen = recorded_option(trained, "features")
            options = ({} if chosen is None else {"features": chosen}) | options
            d = trained["d"]
            if "features" in options:
                d = max(found.X.shape[1], 1 + max(columns_of(options, sys.maxsize)))
            found = as_trained(found, trained, d)
        return subset(found, options)


def class_weight_of(spec: str, positive: str | None = None) -> ClassWeight:
    """The option class_weight of a SPEC; the label that is +1 may be called by its name.

    Raises
    ------
    ValueError
        Neither `balanced` nor label:number, joined by +; a label twice.
    """
    options = _parse(spec)[2]
    text = options.get("class_weight")
    if text is None or text == BALANCED:
        return text
    one = positive or options.get("positive")
    found: dict[str, float] = {}
    for part in text.split("+"):
        label, colon, number = (piece.strip() for piece in part.rpartition(":"))
        value = number_in(number)
        if not (label and colon) or value is None:
            raise ValueError(
                f"option class_weight is balanced or A:1+B:2, a label and a number each; got "
                f"{text!r}"
            )
        key = "1" if one is not None and label == one else label
        if key in found:
            raise ValueError(f"option class_weight names {label} twice")
        found[key] = value
    return found


def _with_spec(spec: str, error: ValueError) -> ValueError:
    return ValueError(f"{spec}: {error}")


# The grammar


def _parse(spec: str) -> tuple[str, str, dict[str, str]]:
    """Kind of source, its name, and the options as written (flags as empty strings)."""
    parts = spec.split(",")
    # A comma may belong to a file name: the longest head that is a file wins.
    length = next(
        (k for k in range(len(parts), 1, -1) if Path(",".join(parts[:k])).expanduser().is_file()),
        1,
    )
    options: dict[str, str] = {}
    for part in parts[length:]:
        key, equals, text = (piece.strip() for piece in part.partition("="))
        if not key:
            raise ValueError("an option is empty: write source,option=value,...")
        if key in options:
            raise ValueError(f"option {key} is given twice")
        if key in _FLAGS and equals:
            raise ValueError(f"option {key} takes no value")
        options[key] = text
    return *_source(",".join(parts[:length]).strip()), options


def _source(head: str) -> tuple[str, str]:
    """Kind of source and its name."""
    scheme, colon, name = head.partition(":")
    if not head or (colon and not name) or head in _SCHEMES:
        raise ValueError("name a source: a file, sklearn:NAME, uci:NAME or synthetic:KIND")
    # One letter before a colon is a drive.
    if colon and len(scheme) > 1 and not Path(head).is_file():
        if scheme not in _SCHEMES:
            raise unknown(scheme, "source", _SCHEMES)
        return scheme, name
    if is_stream(head):
        return STREAM, head
    if head in SKLEARN or head in UCI:
        found = [
            f"{s}:{head}" for s, names in (("sklearn", SKLEARN), ("uci", UCI)) if head in names
        ]
        if not Path(head).exists():
            raise ValueError(f"there is no such file: did you mean {' or '.join(found)}?")
    path = Path(head).expanduser()
    known = _SUFFIXES.get(path.suffix.lower())
    if known is None and path.is_file():
        with path.open("rb") as file:
            known = kind_of(file.read(_HEAD))
    return known or "brooks", head


def _allowed(scheme: str, name: str) -> tuple[str, ...]:
    if scheme != "synthetic":
        return (*_SUBSET, *_LABELLING[scheme])
    if name not in SPREAD:
        raise unknown(name, "kind of synthetic data", SPREAD)
    own = ("classes", "positive") if name == GAUSSIANS else ()
    return ("n", "d", SPREAD[name], "seed", "sample", "features", *own)


def _merge(scheme: str, name: str, written: Options, given: Options) -> dict[str, str]:
    """Options of the spec and of the call together, all known to the source."""
    allowed = _allowed(scheme, name)
    for option in (*written, *given):
        if option not in allowed:
            raise unknown(option, "option", allowed)
    for option, text in written.items():
        if option not in _FLAGS and not text:
            raise ValueError(f"option {option} needs a value: write {option}=...")
        if given.get(option, text) != text:
            raise ValueError(
                f"{option} is {text!r} in the spec but {given[option]!r} in the call: give one"
            )
    options = {**written, **given}
    for option in ("stratify", "seed"):
        if scheme != "synthetic" and option in options and "n" not in options:
            raise ValueError(f"option {option} says how rows are drawn: add n=..., or leave it out")
    return options
