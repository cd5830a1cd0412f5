"""Public data sets of the papers: where each is found, and which of its classes is +1."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tightmargin.experiments.data.labels import as_text
from tightmargin.experiments.data.tables import Table


@dataclass(frozen=True)
class UciEntry:
    """Where a public data set is found and which of its classes is +1.

    file: its name in the folder named by TIGHTMARGIN_DATA.
    label, positive: label column and the value that becomes +1; None for a file with labels -1 and
        +1 in `y`.
    n, d: points and features, after rows with missing cells are left out.
    categorical: every feature is a category: one 0/1 column for each value, for two values the
        second only.
    openml (name, version, label, positive): the same data on OpenML; None when no identical copy is
        known there.
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


def data_folder() -> Path | None:
    """Folder of real data named by the environment variable TIGHTMARGIN_DATA; None if unset.

    Raises FileNotFoundError: it is set to something that is not a folder.
    """
    named = os.environ.get("TIGHTMARGIN_DATA", "").strip()
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"TIGHTMARGIN_DATA names {named!r}, which is not a folder")
    return folder


def files_of(specs: Iterable[str]) -> list[Path]:
    """Files in the folder of real data that SPECs name; those that are fetched have none."""
    folder = data_folder()
    names = {spec.partition(",")[0].removeprefix("uci:") for spec in specs if spec[:4] == "uci:"}
    paths = [] if folder is None else [folder / UCI[name].file for name in names]
    return sorted(path for path in paths if path.is_file())


def fetch(name: str, entry: UciEntry) -> tuple[Table, str, str]:
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
