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

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.generators import OUTLIERS, label_flip_data, outlier_data
from experiments.readers import (
    Table,
    as_text,
    existing,
    from_table,
    nearest,
    read_brooks,
    read_libsvm,
    read_npz,
    read_table,
    signed,
)
from formulations.data import Array, TrainingData

Options = Mapping[str, str]


@dataclass(frozen=True)
class UciEntry:
    """Where a public data set is found and which of its classes is +1.

    Attributes
    ----------
    file : str
        Its name in the folder named by TIGHTMARGIN_DATA.
    label, positive : str or None
        Label column and the value that becomes +1; None for a file with labels -1 and +1 in `y`.
    n, d : int
        Points and features, after rows with missing cells are left out.
    categorical : bool
        Every feature is a category: one 0/1 column for each value, for two values the second only.
    openml : tuple (name, version, label, positive) or None
        The same data on OpenML; None when no identical copy is known there.
    """

    file: str
    label: str | None
    positive: str | None
    n: int
    d: int
    categorical: bool = False
    openml: tuple[str, int, str, str] | None = None


UCI: dict[str, UciEntry] = {
    # +1: earns more than 50000 dollars a year. Fourth training subset of Adult, 0/1 features.
    "adult_a4a": UciEntry("adult_a4a.npz", None, None, 4781, 123),
    # +1: irradiated. Complete rows without recurrence, as 0/1 columns (Cepeda et al., Table 3).
    "breast_cancer_irradiat": UciEntry(
        "breast_cancer_196x36_inferred.csv", "irradiat", "1", 196, 36
    ),
    # +1: the cancer came back. Nine rows have a missing cell: add the option `complete`.
    "breast_cancer_ljubljana": UciEntry(
        "breast_cancer_ljubljana.csv", "class", "recurrence-events", 277, 38, categorical=True,
        openml=("breast-cancer", 1, "Class", "recurrence-events"),
    ),
    # +1: good risk. The edition with 24 numeric features, not the one with categories.
    "german_credit": UciEntry("german_credit_numeric.csv", "class", "1", 1000, 24),
    # +1: the treatment worked.
    "immunotherapy": UciEntry("immunotherapy.csv", "result", "1", 90, 7),
    # +1: good radar return. Column 1 is constant.
    "ionosphere": UciEntry(
        "ionosphere.csv", "class", "g", 351, 34, openml=("ionosphere", 1, "class", "g")
    ),
    # +1: selector 1. It was made to split the rows for one study and says nothing about livers:
    # only to reproduce papers that took it for a class.
    "liver_disorders": UciEntry(
        "liver_disorders.csv", "selector", "1", 345, 6,
        openml=("liver-disorders", 1, "selector", "1"),
    ),
    # +1: mine, -1: rock.
    "sonar": UciEntry("sonar.csv", "class", "M", 208, 60, openml=("sonar", 1, "Class", "Mine")),
}  # fmt: skip

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


def data_folder() -> Path | None:
    """Folder of real data named by the environment variable TIGHTMARGIN_DATA; None if unset.

    Raises
    ------
    FileNotFoundError
        It is set to something that is not a folder.
    """
    named = os.environ.get("TIGHTMARGIN_DATA", "").strip()
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"TIGHTMARGIN_DATA names {named!r}, which is not a folder")
    return folder


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
            return TrainingData(X[:, _columns(options, X.shape[1])], y, spec=spec)
        X, y = _READERS[scheme](name, options)
        return TrainingData(*_subset(X, y, options), spec=spec)
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


def _whole(options: Options, name: str, default: str = "") -> int:
    text = options.get(name, default)
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"option {name} must be a whole number, got {text!r}")
    return int(text)


def _columns(options: Options, d: int) -> list[int]:
    """Column numbers of the option `features`; all columns without it."""
    if "features" not in options:
        return list(range(d))
    words = options["features"].split("+")
    if not all(word.isascii() and word.isdigit() for word in words):
        raise ValueError(
            f"option features must be column numbers joined by +, got {options['features']!r}"
        )
    chosen = [int(word) for word in words]
    if max(chosen) >= d:
        raise ValueError(
            f"option features asks for column {max(chosen)}: the columns are 0 to {d - 1}"
        )
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"option features names a column twice: {options['features']}")
    return chosen


def _subset(X: Any, y: Array, options: Options) -> tuple[Any, Array]:
    """Draw the rows and choose the columns; X may be sparse."""
    columns = _columns(options, X.shape[1])
    if "n" not in options:
        return X[:, columns], y
    size = _whole(options, "n")
    if not 2 <= size <= len(y):
        raise ValueError(f"option n must lie between 2 and the {len(y)} rows, got {size}")
    rng = np.random.default_rng(_whole(options, "seed", "0"))
    if "stratify" in options:
        rows = _stratified(y, size, rng)
    else:
        rows = np.sort(rng.choice(len(y), size, replace=False))
        if len(np.unique(y[rows])) < len(np.unique(y)):
            raise ValueError(
                f"the {size} rows drawn are all labelled {y[rows[0]]:+.0f}: add stratify, or "
                "change seed"
            )
    return X[rows][:, columns], y[rows]


def _stratified(y: Array, size: int, rng: np.random.Generator) -> np.ndarray:
    """Sorted row numbers; positive ones are drawn first; each class keeps at least one row."""
    positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    if not (len(positive) and len(negative)):
        raise ValueError("option stratify needs both labels -1 and +1")
    nearest_share = (2 * size * len(positive) + len(y)) // (2 * len(y))
    share = min(max(nearest_share, 1), size - 1)
    drawn = (
        rng.choice(positive, share, replace=False),
        rng.choice(negative, size - share, replace=False),
    )
    return np.sort(np.concatenate(drawn))


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
        table, label, positive = _fetch(name, entry)
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


def _fetch(name: str, entry: UciEntry) -> tuple[Table, str, str]:
    """Fetch the table from OpenML or the local cache, with its label column and class +1."""
    if entry.openml is None:
        raise FileNotFoundError(
            f"uci:{name} has no copy on OpenML: put {entry.file} into a folder and name that "
            "folder in the environment variable TIGHTMARGIN_DATA"
        )
    title, version, label, positive = entry.openml
    import pandas as pd
    from sklearn.datasets import fetch_openml

    try:
        # This parser takes the quotes off the categories.
        frame = fetch_openml(
            name=title, version=version, target_column=label, as_frame=True, parser="liac-arff"
        ).frame
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"uci:{name}: OpenML did not deliver {title!r} version {version} ({error}); put "
            f"{entry.file} into a folder and name that folder in TIGHTMARGIN_DATA instead"
        ) from error
    rows = [["" if pd.isna(cell) else as_text(cell) for cell in row] for row in frame.to_numpy()]
    columns = [str(column) for column in frame.columns]
    return Table(columns, rows), label, positive


def _synthetic(kind: str, options: Options) -> tuple[Array, Array]:
    spread = _SPREAD[kind]
    for name in ("n", "d", spread):
        if name not in options:
            raise ValueError(f"option {name} is missing: write {name}=...")
    try:
        width = float(options[spread])
    except ValueError:
        raise ValueError(f"option {spread} must be a number, got {options[spread]!r}") from None
    n, d = _whole(options, "n"), _whole(options, "d")
    seed, sample = _whole(options, "seed", "0"), _whole(options, "sample", "0")
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
