"""Refusals: each says what was asked, why it cannot be, and what would work."""

from __future__ import annotations


class RefusedError(Exception):
    """Base of everything solve() declines before a solver starts."""


class SolverNotInstalledError(RefusedError):
    """The solver's package is not installed here."""


class LicenceError(RefusedError):
    """The solver is installed and finds no licence."""


class SizeLimitError(RefusedError):
    """The model exceeds what the solver takes under its present licence."""


class ProblemClassError(RefusedError):
    """The solver cannot take this class of problem."""


class DomainError(RefusedError, ValueError):
    """A variable whose domain is no interval and not the integers of one."""


class NumberError(RefusedError, ValueError):
    """NaN, infinity, or a coefficient a solver would silently drop."""
