"""What is raised: refusals before any solver starts, and results that are not certified."""

from tightmargin.cuts import InvalidCutError, SeparatorError
from tightmargin.experiments.estimators.certification import UncertifiedError, UncertifiedWarning
from tightmargin.solvers import (
    DomainError,
    LicenceError,
    NumberError,
    ProblemClassError,
    RefusedError,
    SizeLimitError,
    SolverNotInstalledError,
)

__all__ = [
    "DomainError",
    "InvalidCutError",
    "LicenceError",
    "NumberError",
    "ProblemClassError",
    "RefusedError",
    "SeparatorError",
    "SizeLimitError",
    "SolverNotInstalledError",
    "UncertifiedError",
    "UncertifiedWarning",
]
