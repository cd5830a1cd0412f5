"""What is raised when a separator fails: its own error is the cause, and nothing found is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tightmargin.cuts.separation.result import SeparationResult


class SeparatorError(Exception):
    """A separator raised an error; `__cause__` is that error, with its traceback.

    Attributes
    ----------
    result : SeparationResult
        What was found before.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(bounds=(0, 1))
    >>> model.objective = pyo.Objective(expr=-model.x)
    >>> try:
    ...     tm.separate(model, lambda point: point["y"])
    ... except tm.errors.SeparatorError as error:
    ...     print(type(error.__cause__).__name__, len(error.result.rows))
    KeyError 0
    """

    def __init__(self, message: str, result: SeparationResult) -> None:
        super().__init__(message)
        self.result = result


class HaltError(Exception):
    """Inside this package: asking has failed, and what failed is kept by who asked."""
