"""Functions that read points cell by cell, and get them dense."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from tightmargin.formulations.data.training_data import TrainingData

Function = TypeVar("Function", bound=Callable[..., Any])


def reads_dense_points(function: Function) -> Function:
    """A function of data, its first argument, that gets a dense copy of sparse points.

    The copy is made once for all functions, up to 2 GiB; above that the function is not called and
    a ValueError names it.
    """
    first = next(iter(inspect.signature(function).parameters))

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        data = args[0] if args else kwargs.get(first)
        if isinstance(data, TrainingData):
            dense = data.dense_for(function.__name__)
            if not args:
                return function(**{**kwargs, first: dense})
            args = (dense, *args[1:])
        return function(*args, **kwargs)

    return cast(Function, wrapped)
