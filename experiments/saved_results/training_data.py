"""The training data of a saved result, found and prepared again."""

from __future__ import annotations

from tightmargin.experiments.data.loading import Raw, takes_classes
from tightmargin.experiments.data.preparation import restore
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.data.specs import load, load_classes
from tightmargin.experiments.saved_results.verification import refuse_other_data
from tightmargin.formulations.catalogue import CATALOGUE
from tightmargin.solvers.result import SolveResult


def reload(result: SolveResult, spec: str | None, label: str | None, positive: str | None) -> Raw:
    """Training data of a saved result, from where it was or from where the user says.

    Raises
    ------
    ValueError
        Neither says where.
    """
    said = spec or result.data.get("spec")
    if not said:
        raise ValueError("the result does not say where its data is: name it with --data")
    entry = CATALOGUE.get(result.formulation)
    read = load_classes if entry is not None and takes_classes(entry) else load
    return read(
        str(said),
        label=label or result.data.get("label"),
        positive=positive or result.data.get("positive"),
    )


def training_data(
    result: SolveResult,
    spec: str | None = None,
    label: str | None = None,
    positive: str | None = None,
) -> Prepared:
    """Training data of a saved result, prepared as recorded.

    Raises
    ------
    ValueError
        It is not the data the result was saved for.
    """
    raw = reload(result, spec, label, positive)
    refuse_other_data(result, raw)
    return restore(raw, result.normalisation)
