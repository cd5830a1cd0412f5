"""What the problems are: one builder per published equation. Nothing here solves anything."""

from formulations import (  # noqa: F401  (each registers its builders)
    c_svc,
    conic,
    conic_dual,
    conic_eliminated,
    conic_lift,
    conic_strengthened,
    cvar,
    extended_nu_linearised,
    extended_nu_svc,
    margin_dual,
    margin_svc,
    matrix_bilinear,
    matrix_svc,
    multiclass,
    multiclass_truncated,
    nu_svc,
    ramp,
    reduced_hull,
    rsvm,
    rsvm_dual,
    rsvm_kernel,
    soft_margin,
    soft_margin_dual,
    zero_one,
    zero_one_logic,
)
from formulations.catalogue import CATALOGUE, Entry, Origin, ProblemClass
from formulations.data import GramData, TrainingData
from formulations.multiclass_data import MulticlassData

__all__ = [
    "CATALOGUE",
    "Entry",
    "GramData",
    "MulticlassData",
    "Origin",
    "ProblemClass",
    "TrainingData",
]
