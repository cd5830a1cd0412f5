"""One formulation over many values of a hyperparameter, every row proven."""

from tightmargin.cuts import cvar_profile, extended_nu_path
from tightmargin.cuts.nu_path.cvar_profile import widest_gap
from tightmargin.solvers import (
    class_probabilities,
    conic_path,
    direct_probabilities,
    penalty_grid,
    rsvm_path,
)

__all__ = [
    "class_probabilities",
    "conic_path",
    "cvar_profile",
    "direct_probabilities",
    "extended_nu_path",
    "penalty_grid",
    "rsvm_path",
    "widest_gap",
]
