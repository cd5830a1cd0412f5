"""The training data of a saved result, found and prepared again."""

from __future__ import annotations

from pathlib import Path

from tightmargin.experiments.data.loading import Raw, takes_classes
from tightmargin.experiments.data.preparation import restore
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.data.specs import load, load_classes
from tightmargin.experiments.saved_results.verification import refuse_other_data, verification
from tightmargin.experiments.saved_results.verification_verdict import Verification
from tightmargin.formulations.catalogue import CATALOGUE
from tightmargin.solvers.engines.running import checked_limits
from tightmargin.solvers.result import SolveResult


def reload(result: SolveResult, spec: str | None, label: str | None, positive: str | None) -> Raw:
    """Training data of a saved result, from where it was or from where the user says.

    Raises ValueError: neither says where.
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


def certify(
    result: SolveResult | str | Path,
    data: str | Raw | None = None,
    *,
    label: str | None = None,
    positive: str | None = None,
    absolute_gap: float = 0.0,
) -> Verification:
    """Prove the point and our own bounds of a result again, without any solver.

    Only the bound of a search over more than four features, or at nu_bar, takes linear programs, by
    highspy; and that of a search over cones of directions takes semidefinite ones, by Clarabel.

    Parameters
    ----------
    result : SolveResult, str or path
        Or the file that one was saved in.
    data : str, TrainingData, GramData or MulticlassData, optional
        Where its data is now, or the data itself before any preparation; by default where it was.
    label, positive : str, optional
        The column of labels and the positive label, as when it was solved by default.
    absolute_gap : float
        In the units of the objective: a gap of so much is closed too. No file allows itself one.

    Raises
    ------
    ValueError
        Other data, no formulation of the catalogue, an edited model, a preparation that is not
        that of the data, or arrays that do not fit the model.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> tm.certify(tm.solve(tm.c_svc(data, C=1.0)), data).verdict.value
    'CERTIFIED'
    """
    allowed = checked_limits(absolute_gap=absolute_gap).absolute_gap
    found = result if isinstance(result, SolveResult) else SolveResult.load(result)
    if data is None or isinstance(data, str):
        return verification(found, training_data(found, data, label, positive), allowed)
    refuse_other_data(found, data)
    return verification(found, restore(data, found.normalisation), allowed)


def training_data(
    result: SolveResult,
    spec: str | None = None,
    label: str | None = None,
    positive: str | None = None,
) -> Prepared:
    """Training data of a saved result, prepared as recorded.

    Raises ValueError: it is not the data the result was saved for.
    """
    raw = reload(result, spec, label, positive)
    refuse_other_data(result, raw)
    return restore(raw, result.normalisation)
