"""Refusals: each says what was asked, why it cannot be, and what would work."""

from __future__ import annotations


class RefusedError(Exception):
    """Base of everything solve() declines before a solver starts.

    Examples
    --------
    >>> import tightmargin as tm
    >>> model = tm.conic_sdp(tm.TrainingData([[0.0], [1.0]], [-1, 1]), penalty=1.0)
    >>> try:
    ...     result = tm.solve(model, "highs")
    ... except tm.errors.RefusedError as error:
    ...     print(type(error).__name__)
    ProblemClassError
    """


class SolverNotInstalledError(RefusedError):
    """The solver's package is not installed here.

    Examples
    --------
    >>> import tightmargin as tm
    >>> model = tm.c_svc(tm.TrainingData([[0.0], [1.0]], [-1, 1]), C=1.0)
    >>> try:
    ...     result = tm.solve(model, "scs")
    ... except tm.errors.SolverNotInstalledError:
    ...     result = tm.solve(model)  # a solver that takes it
    """


class LicenceError(RefusedError):
    """The solver is installed and finds no licence.

    Examples
    --------
    >>> import tightmargin as tm
    >>> model = tm.c_svc(tm.TrainingData([[0.0], [1.0]], [-1, 1]), C=1.0)
    >>> try:
    ...     result = tm.solve(model, "mosek")
    ... except tm.errors.RefusedError:  # no licence, or not installed
    ...     result = tm.solve(model)
    """


class SizeLimitError(RefusedError):
    """The model exceeds what the solver takes under its present licence.

    Examples
    --------
    >>> import tightmargin as tm
    >>> model = tm.c_svc(tm.TrainingData([[0.0], [1.0]], [-1, 1]), C=1.0)
    >>> try:
    ...     result = tm.solve(model, "gurobi")
    ... except (tm.errors.SizeLimitError, tm.errors.SolverNotInstalledError):
    ...     result = tm.solve(model)  # a solver that takes it
    """


class ProblemClassError(RefusedError):
    """The solver cannot take this class of problem.

    Examples
    --------
    >>> import tightmargin as tm
    >>> model = tm.conic_sdp(tm.TrainingData([[0.0], [1.0]], [-1, 1]), penalty=1.0)
    >>> tm.solve(model, "highs")
    Traceback (most recent call last):
    ...
    tightmargin.solvers.errors.ProblemClassError: ...
    """


class DomainError(RefusedError, ValueError):
    """A variable whose domain is no interval and not the integers of one.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = tm.c_svc(tm.TrainingData([[0.0], [1.0]], [-1, 1]), C=1.0)
    >>> model.odd = pyo.Var(domain=pyo.Set(initialize=[1, 3, 7]))
    >>> model.row = pyo.Constraint(expr=model.odd >= model.w[0])
    >>> pyo.SolverFactory("clarabel").solve(model)  # tm.solve would write it with binaries
    Traceback (most recent call last):
    ...
    tightmargin.solvers.errors.DomainError: ...
    """


class NumberError(RefusedError, ValueError):
    """NaN, infinity, or a coefficient a solver would silently drop.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = tm.c_svc(tm.TrainingData([[0.0], [1.0]], [-1, 1]), C=1.0)
    >>> model.row = pyo.Constraint(expr=float("nan") * model.w[0] >= 1)
    >>> tm.solve(model)
    Traceback (most recent call last):
    ...
    tightmargin.solvers.errors.NumberError: ...
    """
