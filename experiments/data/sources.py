"""Where points come from: files, data sets of scikit-learn and of the papers, generators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.experiments.data.gaussian_classes import gaussian_class_data
from tightmargin.experiments.data.labels import Labelling, Points, as_text, nearest, signed, takers
from tightmargin.experiments.data.outlier_generators import OUTLIERS, label_flip_data, outlier_data
from tightmargin.experiments.data.public_data import UCI, data_folder, fetch
from tightmargin.experiments.data.readers import existing, read_brooks, read_libsvm, read_npz
from tightmargin.experiments.data.subsets import Options, whole
from tightmargin.experiments.data.tables import from_table, read_table

# The class that is +1 unless `positive` says otherwise; None: more than two classes, so it must.
SKLEARN: dict[str, str | None] = {
    "breast_cancer": "malignant",
    "digits": None,
    "iris": None,
    "wine": None,
}

GAUSSIANS = "gaussians"
SPREAD = dict.fromkeys(OUTLIERS, "sigma") | {"flip": "tau", GAUSSIANS: "sigma"}


def unknown(word: str, what: str, allowed: Mapping[str, Any] | tuple[str, ...]) -> ValueError:
    """A refusal of a word, with the nearest one that is known."""
    return ValueError(
        f"unknown {what} {word!r}: {nearest(word, allowed)}allowed are {', '.join(sorted(allowed))}"
    )


def _csv(name: str, options: Options, labelling: Labelling) -> Points:
    return from_table(
        read_table(existing(name)),
        options.get("label", "y"),
        options.get("positive"),
        complete="complete" in options,
        labelling=labelling,
        weight=options.get("weight"),
    )


def new_csv(
    name: str, options: Options, labelling: Labelling, trained: Mapping[str, Any]
) -> Points:
    """New points of a csv file; the training data's columns of labels and weights may be absent."""
    table = read_table(existing(name))
    label = options.get("label") or recorded_option(trained, "label") or "y"
    weight = options.get("weight") or recorded_option(trained, "weight")
    if "weight" not in options and weight not in table.columns:
        weight = None
    if "label" not in options and label not in table.columns:
        rows = [[*row, "-"] for row in table.rows]
        table, labelling = replace(table, columns=[*table.columns, label], rows=rows), _none
    return from_table(
        table,
        label,
        options.get("positive"),
        complete="complete" in options,
        labelling=labelling,
        weight=weight,
    )


def _none(cells: Sequence[str], positive: str | None, where: str) -> NDArray[np.str_]:
    return np.full(len(cells), "")


def recorded_option(trained: Mapping[str, Any], name: str) -> str | None:
    """An option of the SPEC in a result's record, or of the call beside it; None without one."""
    if trained.get(name) is not None:
        return str(trained[name])
    parts = (part.partition("=") for part in str(trained.get("spec", "")).split(",")[1:])
    return next((text.strip() for key, _, text in parts if key.strip() == name), None)


def _npz(name: str, options: Options, labelling: Labelling) -> Points:
    words = options.get("label", "y"), options.get("positive")
    return read_npz(existing(name), *words, labelling, options.get("weight"))


def _libsvm(name: str, options: Options, labelling: Labelling) -> Points:
    return read_libsvm(existing(name), options.get("positive"), labelling)


def _brooks(name: str, options: Options, labelling: Labelling) -> Points:
    return read_brooks(existing(name), options.get("positive"), labelling)


def _sklearn(name: str, options: Options, labelling: Labelling) -> Points:
    if name not in SKLEARN:
        raise unknown(name, "data set of scikit-learn", SKLEARN)
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{name}")()
    names = [str(word) for word in bunch.target_names]
    columns = tuple(str(word) for word in bunch.feature_names)
    X, labels = np.asarray(bunch.data, dtype=np.float64), [names[code] for code in bunch.target]
    if labelling is not signed:
        named = labelling(labels, options.get("positive"), "the target")
        return Points(X, named, names=columns)
    positive = options.get("positive", SKLEARN[name])
    if positive is None:
        raise ValueError(
            f"there are {len(names)} classes, {', '.join(names)}: say which one is +1 with "
            f"positive={names[0]}; all others become -1{takers()}"
        )
    codes = {str(code): word for code, word in enumerate(names)}
    return Points(X, signed(labels, codes.get(positive, positive), "the target"), names=columns)


def _uci(name: str, options: Options, labelling: Labelling) -> Points:
    if name not in UCI:
        raise unknown(name, "data set", UCI)
    entry, folder = UCI[name], data_folder()
    path = folder / entry.file if folder is not None else None
    if path is not None and path.suffix == ".npz" and path.is_file():
        return _npz(str(path), options, labelling)
    if path is not None and path.is_file():
        table, label, positive = read_table(path), entry.label, entry.positive
    else:
        table, label, positive = fetch(name, entry)
    label = options.get("label", label)
    # A class of one column means nothing in another, and nothing where every label is a class.
    default = None if "label" in options or labelling is not signed else positive
    return from_table(
        table,
        str(label),
        options.get("positive", default),
        complete="complete" in options,
        categorical=entry.categorical,
        labelling=labelling,
        weight=options.get("weight"),
    )


def synthetic(kind: str, options: Options, labelling: Labelling) -> Points:
    """Points of a generator; its options are those of `SPREAD` and the recipe."""
    spread = SPREAD[kind]
    for name in ("n", "d", spread, *(("classes",) if kind == GAUSSIANS else ())):
        if name not in options:
            raise ValueError(f"option {name} is missing: write {name}=...")
    try:
        width = float(options[spread])
    except ValueError:
        raise ValueError(f"option {spread} must be a number, got {options[spread]!r}") from None
    n, d = whole(options, "n"), whole(options, "d")
    seed, sample = whole(options, "seed", "0"), whole(options, "sample", "0")
    if kind == GAUSSIANS:
        k = whole(options, "classes")
        classes = gaussian_class_data(n=n, d=d, classes=k, sigma=width, seed=seed, sample=sample)
        labels = [as_text(code) for code in classes.y.tolist()]
        return Points(classes.X, labelling(labels, options.get("positive"), "the target"))
    if kind == "flip":
        drawn = label_flip_data(n=n, d=d, tau=width, seed=seed, sample=sample)
    else:
        drawn = outlier_data(kind, n=n, d=d, sigma=width, seed=seed, sample=sample)
    labels = [as_text(sign) for sign in drawn.y.tolist()]
    return Points(drawn.X, labelling(labels, None, "the target"))


READERS: dict[str, Callable[[str, Options, Labelling], Points]] = {
    "csv": _csv,
    "npz": _npz,
    "libsvm": _libsvm,
    "brooks": _brooks,
    "sklearn": _sklearn,
    "uci": _uci,
}
