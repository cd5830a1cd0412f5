"""Data sets by name: one SPEC string, the same on the command line and in a notebook.

A SPEC is a source, then options after commas:

    file.csv                 header line; labels in column `y`, or label=NAME
    file.npz                 arrays X and y, or label=NAME instead of y
    file.libsvm              label index:value index:value ...
    file                     (no suffix) Brooks text: n and d, then label and features per line
    sklearn:NAME             breast_cancer, digits, iris or wine of scikit-learn, see `SKLEARN`
    uci:NAME                 a public data set of the papers, see `UCI`
    synthetic:KIND           none, clustered, spread (n=, d=, sigma=) or flip (n=, d=, tau=),
                             optionally seed= and sample=, see `experiments.generators`

    n=100        that many rows, drawn with default_rng(seed); they keep their order
    stratify     the drawn rows keep the shares of the classes, to rounding
    seed=0       seed of the drawing (0 when left out)
    features=0+3 these columns only, counted from 0
    positive=V   rows labelled V become +1, all others -1
    label=NAME   the column (csv, uci) or array (npz) that holds the labels
    complete     leave out rows with an empty or `?` cell (csv, uci)

Labels -1 and +1 are taken as they are; any others need `positive`. Nothing is guessed: a cell that
is no finite number is refused with its row and column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.generators import OUTLIERS, label_flip_data, outlier_data
from experiments.public_data import UCI, data_folder, fetch
from experiments.readers import (
    existing,
    from_table,
    nearest,
    read_brooks,
    read_libsvm,
    read_npz,
    read_table,
    signed,
)
from experiments.subsets import Options, columns_of, subset, whole
from formulations.data import Array, TrainingData

# The class that is +1 unless `positive` says otherwise; None: more than two classes, so it must.
SKLEARN: dict[str, str | None] = {
    "breast_cancer": "malignant",
    "digits": None,
    "iris": None,
    "wine": None,
}

_SPREAD = dict.fromkeys(OUTLIERS, "sigma") | {"flip": "tau"}
_SUFFIXES = {".csv": "csv", ".npz": "npz", ".libsvm": "libsvm", "": "brooks"}
_SCHEMES = ("sklearn", "synthetic", "uci")
_FLAGS = ("stratify", "complete")
_SUBSET = ("n", "features", "stratify", "seed")
_LABELLING = {
    "csv": ("label", "positive", "complete"),
    "npz": ("label", "positive"),
    "libsvm": ("positive",),
    "brooks": ("positive",),
    "sklearn": ("positive",),
    "uci": ("label", "positive", "complete"),
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
        With `spec` as given.

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
    >>> load("synthetic:clustered,n=100,d=3,sigma=0.2,seed=0").X.shape
    (100, 3)
    """
    given = {"label": label, "positive": positive}
    try:
        scheme, name, written = _parse(spec)
        options = _merge(scheme, name, written, {k: v for k, v in given.items() if v is not None})
        if scheme == "synthetic":
            X, y = _synthetic(name, options)
            return TrainingData(X[:, columns_of(options, X.shape[1])], y, spec=spec)
        X, y = _READERS[scheme](name, options)
        return TrainingData(*subset(X, y, options), spec=spec)
    except ValueError as error:
        raise ValueError(f"{spec}: {error}") from error


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
            raise _unknown(scheme, "source", _SCHEMES)
        return scheme, name
    suffix = Path(head).suffix.lower()
    if suffix not in _SUFFIXES and not Path(head).expanduser().is_dir():
        raise ValueError(
            f"files ending in {suffix} are not known: use .csv, .npz, .libsvm, or no suffix for "
            "Brooks text"
        )
    if head in SKLEARN or head in UCI:
        found = [
            f"{s}:{head}" for s, names in (("sklearn", SKLEARN), ("uci", UCI)) if head in names
        ]
        if not Path(head).exists():
            raise ValueError(f"there is no such file: did you mean {' or '.join(found)}?")
    return _SUFFIXES.get(suffix, "brooks"), head


def _unknown(word: str, what: str, allowed: Mapping[str, Any] | tuple[str, ...]) -> ValueError:
    return ValueError(
        f"unknown {what} {word!r}: {nearest(word, allowed)}allowed are {', '.join(sorted(allowed))}"
    )


def _allowed(scheme: str, name: str) -> tuple[str, ...]:
    if scheme != "synthetic":
        return (*_SUBSET, *_LABELLING[scheme])
    if name not in _SPREAD:
        raise _unknown(name, "kind of synthetic data", _SPREAD)
    return ("n", "d", _SPREAD[name], "seed", "sample", "features")


def _merge(scheme: str, name: str, written: Options, given: Options) -> dict[str, str]:
    """Options of the spec and of the call together, all known to the source."""
    allowed = _allowed(scheme, name)
    for option in (*written, *given):
        if option not in allowed:
            raise _unknown(option, "option", allowed)
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


# The sources


def _csv(name: str, options: Options) -> tuple[Array, Array]:
    return from_table(
        read_table(existing(name)),
        options.get("label", "y"),
        options.get("positive"),
        complete="complete" in options,
    )


def _npz(name: str, options: Options) -> tuple[Array, Array]:
    return read_npz(existing(name), options.get("label", "y"), options.get("positive"))


def _libsvm(name: str, options: Options) -> tuple[Any, Array]:
    return read_libsvm(existing(name), options.get("positive"))


def _brooks(name: str, options: Options) -> tuple[Array, Array]:
    return read_brooks(existing(name), options.get("positive"))


def _sklearn(name: str, options: Options) -> tuple[Array, Array]:
    if name not in SKLEARN:
        raise _unknown(name, "data set of scikit-learn", SKLEARN)
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{name}")()
    names = [str(word) for word in bunch.target_names]
    positive = options.get("positive", SKLEARN[name])
    if positive is None:
        raise ValueError(
            f"there are {len(names)} classes, {', '.join(names)}: say which one is +1 with "
            f"positive={names[0]}; all others become -1"
        )
    codes = {str(code): word for code, word in enumerate(names)}
    labels = [names[code] for code in bunch.target]
    return (
        np.asarray(bunch.data, dtype=np.float64),
        signed(labels, codes.get(positive, positive), "the target"),
    )


def _uci(name: str, options: Options) -> tuple[Array, Array]:
    if name not in UCI:
        raise _unknown(name, "data set", UCI)
    entry, folder = UCI[name], data_folder()
    path = folder / entry.file if folder is not None else None
    if path is not None and path.suffix == ".npz" and path.is_file():
        return _npz(str(path), options)
    if path is not None and path.is_file():
        table, label, positive = read_table(path), entry.label, entry.positive
    else:
        table, label, positive = fetch(name, entry)
    label = options.get("label", label)
    # A class of one column means nothing in another.
    default = None if "label" in options else positive
    return from_table(
        table,
        str(label),
        options.get("positive", default),
        complete="complete" in options,
        categorical=entry.categorical,
    )


def _synthetic(kind: str, options: Options) -> tuple[Array, Array]:
    spread = _SPREAD[kind]
    for name in ("n", "d", spread):
        if name not in options:
            raise ValueError(f"option {name} is missing: write {name}=...")
    try:
        width = float(options[spread])
    except ValueError:
        raise ValueError(f"option {spread} must be a number, got {options[spread]!r}") from None
    n, d = whole(options, "n"), whole(options, "d")
    seed, sample = whole(options, "seed", "0"), whole(options, "sample", "0")
    if kind == "flip":
        drawn = label_flip_data(n=n, d=d, tau=width, seed=seed, sample=sample)
    else:
        drawn = outlier_data(kind, n=n, d=d, sigma=width, seed=seed, sample=sample)
    return drawn.X, drawn.y


_READERS: dict[str, Callable[[str, Options], tuple[Any, Array]]] = {
    "csv": _csv,
    "npz": _npz,
    "libsvm": _libsvm,
    "brooks": _brooks,
    "sklearn": _sklearn,
    "uci": _uci,
}
