"""Points of several classes for what reads two: nothing that is fitted on points reads labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tightmargin.formulations.data.multiclass_data import BuilderData, MulticlassData
from tightmargin.formulations.data.training_data import TrainingData


def in_two(raw: MulticlassData) -> TrainingData:
    """The points with the first class against the rest."""
    return TrainingData(raw.X, np.where(raw.y == 0, 1.0, -1.0), spec=raw.spec)


def with_points(raw: MulticlassData, data: BuilderData) -> MulticlassData:
    """The classes with the coordinates of other data of the same points."""
    return replace(raw, X=data.factor)
