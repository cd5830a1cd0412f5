"""The catalogue by family, which is a folder of formulations/."""

from __future__ import annotations

from tightmargin.formulations import CATALOGUE, Entry

TITLES = {
    "svc": "Hard and soft margins",
    "nu": "nu-SVC, reduced hulls and the extended nu-SVC",
    "rigorous_svm": "The rigorous SVM",
    "zero_one": "0-1 loss and ramp loss",
    "conic": "Conic and semidefinite relaxations of the 0-1 loss",
    "multiclass": "Several classes",
    "matrix": "Matrix predictors",
}


def by_family() -> dict[str, list[Entry]]:
    """Entries below the title of their family, in the order of the catalogue.

    Raises
    ------
    KeyError
        A family without a title.
    """
    found: dict[str, list[Entry]] = {title: [] for title in TITLES.values()}
    for entry in CATALOGUE.values():
        family = entry.build.__module__.removeprefix("tightmargin.formulations.").partition(".")[0]
        found[TITLES[family]].append(entry)
    return found
