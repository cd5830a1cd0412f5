"""Training and test points of section 6, preprocessed as it says."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tightmargin.experiments.data.labels import Points
from tightmargin.experiments.data.public_data import data_folder
from tightmargin.experiments.data.readers import refuse_damage
from tightmargin.experiments.data.specs import load
from tightmargin.experiments.data.subsets import subset
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.normalisation import normalise
from tightmargin.formulations.data.training_data import TrainingData

DIGITS = "mnist_subset.npz"
FIRST, LAST = "first1000", "last10000"
POINTS = {FIRST: 1000, LAST: 10000}
NEEDED = tuple(f"{letter}_{part}" for part in POINTS for letter in "Xy")
HOW = (
    f"{DIGITS} holds the arrays {', '.join(NEEDED)}: pixels (0 to 255) and digits of the first "
    "1000 and the last 10000 of the 60000 training digits of MNIST in their original order (rows 0 "
    "to 999 and 50000 to 59999 of mnist_784 on OpenML), written by np.savez_compressed; put it "
    "into a folder and name that folder in the environment variable TIGHTMARGIN_DATA"
)


@dataclass(frozen=True, eq=False)
class Sample:
    """Points to train on and points to test on, both mapped by what was fitted on the first."""

    train: TrainingData
    test: TrainingData


def prepared(train: TrainingData, test: TrainingData) -> Sample:
    """Map both as section 6 says: centred, each variable to standard deviation 1, then unit norm.

    Variables that are constant in the training points are dropped. The paper does not say so, and
    its test errors are those of this choice.
    """
    mapped, fitted = normalise(train, "zscore_unit")
    return Sample(mapped, TrainingData(fitted.apply(test.X), test.y, spec=test.spec))


def digits(size: int) -> Sample:
    """First `size` digits against the last 10000, odd ones +1.

    Raises FileNotFoundError: there is no such file; the message says how to get one.
    Raises ValueError: beginning with the name of the file: a damaged archive, or one that holds
        something else.
    """
    train, test = _both(digits_file())
    return prepared(
        TrainingData(train.X[:size], train.y[:size], spec=f"{DIGITS}: first {size}"), test
    )


def digits_file() -> Path:
    """The archive of digits in the folder of real data."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(f"the digits of the paper are not here: {HOW}")
    path = folder / DIGITS
    if not path.is_file():
        raise FileNotFoundError(f"TIGHTMARGIN_DATA names a folder without {DIGITS}: {HOW}")
    return path


def sound_digits() -> Path:
    """The archive of digits, once it is known to hold what the paper has; raises as `digits`."""
    path = digits_file()
    _both(path)
    return path


def _both(path: Path) -> tuple[TrainingData, TrainingData]:
    """The first and the last digits, odd ones +1."""
    try:
        arrays = _arrays(path)
        first, last = (_odd(arrays, part) for part in POINTS)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    return first, last


def _arrays(path: Path) -> dict[str, Array]:
    if not zipfile.is_zipfile(path):
        raise ValueError("this is no npz archive")
    refuse_damage(path)
    with np.load(path, allow_pickle=False) as archive:
        missing = [name for name in NEEDED if name not in archive.files]
        if missing:
            raise ValueError(f"the archive holds no array {missing[0]!r}")
        return {name: archive[name] for name in NEEDED}


def _odd(arrays: dict[str, Array], part: str) -> TrainingData:
    X, labels, count = arrays[f"X_{part}"], arrays[f"y_{part}"], POINTS[part]
    if X.shape != (count, 784) or labels.shape != (count,):
        raise ValueError(
            f"X_{part} and y_{part} must have shapes ({count}, 784) and ({count},), got {X.shape} "
            f"and {labels.shape}"
        )
    if not np.isin(labels, np.arange(10)).all():
        raise ValueError(f"y_{part} must hold the digits 0 to 9")
    return TrainingData(X, np.where(labels % 2 == 1, 1.0, -1.0), spec=f"{DIGITS}: {part}")


@dataclass(frozen=True)
class Source:
    """A data set that the paper draws its training points from, stratified.

    spec: of the whole set.
    positive, negative: how many points of each class there are.
    size: training points; the others test.
    """

    spec: str
    positive: int
    negative: int
    size: int
    positive_name: str
    negative_name: str


SOURCES = {
    "wdbc": Source("sklearn:breast_cancer", 212, 357, 200, "malignant", "benign"),
    "adult": Source("uci:adult_a4a", 1188, 3593, 1000, "high incomes", "low incomes"),
}


def whole(name: str) -> TrainingData:
    """All points of a data set of Table 3.

    Raises FileNotFoundError: it is not here; the message says how to get it.
    Raises ValueError: labels that are not -1 and +1 (copies with 0 and 1 go round, and make every
        error rate wrong without a word), or another number of points than the paper has.
    """
    source = SOURCES[name]
    try:
        data = load(source.spec)
    except ValueError as error:
        raise ValueError(
            f"{error}; the labels of the paper's data are -1 and +1, and no others are taken here"
        ) from error
    if (data.n_pos, data.n_neg) != (source.positive, source.negative):
        raise ValueError(
            f"{source.spec}: the paper's data has {source.positive} points labelled +1 and "
            f"{source.negative} labelled -1, this one {data.n_pos} and {data.n_neg}"
        )
    return data


def split(name: str, seed: int) -> Sample:
    """Stratified split number `seed` of a data set of Table 3.

    Its training points are those of SPEC,n=SIZE,stratify,seed=SEED, so that every command can be
    asked about them; all others test.
    """
    source, data = SOURCES[name], whole(name)
    options = {"n": str(source.size), "stratify": "", "seed": str(seed)}
    chosen = subset(Points(np.arange(data.n)[:, None], data.y), options).X
    inside = np.zeros(data.n, dtype=bool)
    inside[chosen[:, 0]] = True
    spec = f"{source.spec},n={source.size},stratify,seed={seed}"
    return prepared(
        TrainingData(data.X[inside], data.y[inside], spec=spec),
        TrainingData(data.X[~inside], data.y[~inside], spec=f"{source.spec}, the others"),
    )
