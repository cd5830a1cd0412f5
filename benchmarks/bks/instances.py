"""Instances of the table, by name: where the points come from, and which C are asked.

All are min 1/2 ||w||^2 + C #{i : y_i (<w, x_i> + b) < 1} with a free intercept, as Brooks states
the hard-margin loss: a zero_one_big_m of penalty 2 C, its objective halved.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from tightmargin.experiments.data.preparation import prepare
from tightmargin.experiments.data.specs import UCI, data_folder, load
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import did_you_mean

FOLDER = "hard_margin_loss"
PRICES = (1.0, 10.0, 100.0, 1000.0, 10000.0)  # of the literature


@dataclass(frozen=True)
class Instance:
    """Points with a name.

    Attributes
    ----------
    name, group : str
        The group is the section of the table.
    spec : str
        As for `tm.load`; of a published instance the file in `FOLDER` of the data folder.
    prices : tuple of float
        Values of C.
    normalise : str
        As for `tm.data.prepare`.
    published : bool
        Whether it is a file of `FOLDER`.
    """

    name: str
    group: str
    spec: str
    prices: tuple[float, ...]
    normalise: str = "none"
    published: bool = False

    @property
    def missing(self) -> str:
        """Why the points are not at hand; empty where they are, or are made here."""
        file = self.file
        folder = data_folder()
        if file is None or (folder is not None and (folder / file).is_file()):
            return ""
        return f"{self.name} needs {file} in the folder that TIGHTMARGIN_DATA names"

    @property
    def file(self) -> str | None:
        """File in the data folder; None where the points are made or come with scikit-learn."""
        if self.published:
            return f"{FOLDER}/{self.spec}"
        return UCI[self.spec[4:]].file if self.spec.startswith("uci:") else None

    def data(self) -> TrainingData:
        """The points.

        Raises
        ------
        FileNotFoundError
            They are not at hand.
        """
        if self.missing:
            raise FileNotFoundError(self.missing)
        folder = data_folder()
        spec = f"{folder}/{self.file}" if self.published else self.spec
        prepared = prepare(load(spec), {"normalise": self.normalise}).data
        assert isinstance(prepared, TrainingData)
        return prepared


BROOKS = tuple(
    Instance(name, f"Brooks, type A, n = {n}, d = {d}", name, PRICES, published=True)
    for d in (2, 5, 10)
    for n in (60, 100, 200)
    for name in (f"n{n}d{d}ATj{j}" for j in range(5))
)  # fmt: skip

# C = 1/2 is the penalty 1 of Cepeda, Gomez & Han (2024), whose generator it is.
GENERATED = tuple(
    Instance(f"{kind}-n{n}d{d}", "Generator of Cepeda, Gomez & Han",
             f"synthetic:{kind},n={n},d={d},sigma=0.5,seed=7", (0.5, 5))
    for kind, n, d in (
        ("clustered", 60, 2), ("spread", 60, 3), ("clustered", 100, 3), ("clustered", 100, 5),
        ("clustered", 500, 3), ("clustered", 2000, 2), ("clustered", 100, 10),
    )
)  # fmt: skip

_REAL = (
    ("wdbc-2", "sklearn:breast_cancer,features=20+21"),
    ("wdbc-3", "sklearn:breast_cancer,features=20+21+27"),
    ("wdbc-5", "sklearn:breast_cancer,features=20+21+23+24+27"),
    ("wdbc-30", "sklearn:breast_cancer"),
    ("liver", "uci:liver_disorders"),
    ("immunotherapy", "uci:immunotherapy"),
    ("ionosphere", "uci:ionosphere"),
    ("sonar", "uci:sonar"),
)
REAL = tuple(
    Instance(name, "Real data, z-scored", spec, (1, 10, 100), normalise="zscore")
    for name, spec in _REAL
)

INSTANCES = {instance.name: instance for instance in (*BROOKS, *GENERATED, *REAL)}


def named(pattern: str) -> list[Instance]:
    """Instances whose names match, in the order of the table.

    Parameters
    ----------
    pattern : str
        A name, or one with `*`, `?` and `[...]`.

    Raises
    ------
    ValueError
        None does.
    """
    found = [one for one in INSTANCES.values() if fnmatchcase(one.name, pattern)]
    if not found:
        raise ValueError(
            f"no instance of SVM-BKS is named {pattern!r}{did_you_mean(pattern, INSTANCES)}"
        )
    return found
