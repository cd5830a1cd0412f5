"""What the problems are: one builder per published equation. Nothing here solves anything."""

# isort: off
# In the order of the catalogue: each of these registers its builders.
from tightmargin.formulations.svc import hard_margin, hard_margin_dual, c_svc  # noqa: F401
from tightmargin.formulations.svc import soft_margin, soft_margin_dual  # noqa: F401
from tightmargin.formulations.nu import nu_svc, reduced_hull, extended, min_cvar  # noqa: F401
from tightmargin.formulations.nu import extended_linearised  # noqa: F401
from tightmargin.formulations.rigorous_svm import primal, dual, kernel  # noqa: F401
from tightmargin.formulations.zero_one import big_m_models, logic_models, ramp  # noqa: F401
from tightmargin.formulations.conic import sdp, eliminated, sdp_dual, strengthened  # noqa: F401
from tightmargin.formulations.conic import lift  # noqa: F401
from tightmargin.formulations.multiclass import hinge, truncated_hinge  # noqa: F401
from tightmargin.formulations.matrix import bilinear, convex_models  # noqa: F401
# isort: on

from tightmargin.formulations.catalogue import CATALOGUE, Entry, Origin, ProblemClass
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.training_data import GramData, TrainingData

__all__ = [
    "CATALOGUE",
    "Entry",
    "GramData",
    "MulticlassData",
    "Origin",
    "ProblemClass",
    "TrainingData",
]
