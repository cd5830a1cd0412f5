"""The picture of a fitted machine on two features: its boundary, margins and support vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tightmargin.experiments.data.loading import Raw
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.estimators.fitted import Fitted
from tightmargin.experiments.plots.decision_boundary import (
    draw_boundary,
    draw_regions,
    name_features,
    refuse_many,
)
from tightmargin.experiments.plots.style import NORMAL, folded, new_figure, shared_legend
from tightmargin.formulations.catalogue import entry_named
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.number_words import short
from tightmargin.solvers.result import SolveResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SIZE = (5.0, 4.8)  # inches
ON_THE_MARGIN = 1e-6  # how far beyond its margin a support vector may be, by rounding

# Their duals say where the hyperplane is; the level of its margin is no variable of theirs.
WITHOUT_LEVEL = ("nu_svc_dual", "extended_nu_svc_linearised_dual", "reduced_hull_svc")


def margin_level(result: SolveResult) -> float | None:
    """The rho of rows y_i f(x_i) >= rho - xi_i; 1 where it is no variable, None if not known."""
    values = result.values
    if "rho" in values:
        return float(values["rho"])
    if "value_at_risk" in values:  # of the margin error -y f
        return -float(values["value_at_risk"])
    return None if result.formulation in WITHOUT_LEVEL else 1.0


def machine_figure(machine: Fitted, data: Raw, title: str = "") -> Figure:
    """Draw a machine over the points before preprocessing.

    Of two classes with both margins; rings are around the points that are not beyond their margin,
    y_i f(x_i) <= rho. A score that is the same everywhere is named in the title. Of several
    classes with the region of each.

    Parameters
    ----------
    machine : Fitted
        What `tm.fit` returned.
    data : TrainingData or MulticlassData
        Two features, before preprocessing.
    title : str
        Above the picture.

    Raises
    ------
    ValueError
        Data of another number of features than two.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> figure = tm.plots.machine_figure(tm.fit("c_svc", data, C=1.0), data)
    """
    _refuse_other_features(data)
    if isinstance(data, TrainingData):
        data = data.dense_for("a picture")
    figure = new_figure(*SIZE)
    axes = figure.subplots()
    if isinstance(data, MulticlassData):
        draw_regions(
            axes, data.X, data.y, lambda X: machine.decision_values(X).argmax(axis=1),
            names=machine.classes,
        )  # fmt: skip
    else:
        level, support = margin_level(machine.result), None
        values = machine.decision_values(data.X)
        if np.ptp(values) <= ON_THE_MARGIN * np.abs(values).max():
            title += f"\nno boundary: the score is {values[0]:.4g} everywhere"
        if level is not None:
            allowed = level + ON_THE_MARGIN * max(1.0, abs(level))
            support = data.y * values <= allowed
        draw_boundary(
            axes, data.X, data.y, machine.decision_values, margin=level or 0.0, support=support,
            names=data.classes,
        )  # fmt: skip
    name_features(axes, [short(name) for name in data.feature_names])
    axes.set_title(folded(title, SIZE[0], NORMAL), fontsize=NORMAL, parse_math=False)
    shared_legend(figure)
    return figure


def refuse_undrawable(name: str, prepared: Prepared) -> None:
    """Raise ValueError, before anything is solved, for what machine_figure cannot draw."""
    if entry_named(name).classifier is None:
        raise ValueError(f"{name} is no classifier: it has no boundary to draw")
    if prepared.record.get("kernel") == "precomputed":
        raise ValueError("a precomputed kernel has no points to draw a machine over")
    _refuse_other_features(prepared.raw)
    if isinstance(prepared.raw, MulticlassData):
        refuse_many(prepared.raw.n_classes)


def _refuse_other_features(data: Raw) -> None:
    if data.d != 2:
        raise ValueError(f"a machine is drawn over two features, and this data has {data.d}")


def save_machine(machine: Fitted, data: Raw, path: str | Path, title: str = "") -> None:
    """Write the picture; the suffix says how.

    Parameters
    ----------
    machine : Fitted
        What `tm.fit` returned.
    data : TrainingData or MulticlassData
        Two features, before preprocessing.
    path : str or path
        Of the file: its suffix is one of SUFFIXES.
    title : str
        Above the picture.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> tm.plots.save_machine(tm.fit("c_svc", data, C=1.0), data, "machine.svg")
    """
    machine_figure(machine, data, title).savefig(path)
