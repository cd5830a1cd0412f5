"""Which formulation bounds which other one, in the same objective and with the same prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import CATALOGUE, Entry


@dataclass(frozen=True, eq=False)
class Problem:
    """What a model or a result says of the problem that it is about.

    Attributes
    ----------
    formulation : str
        Name in the catalogue, or of a foreign model.
    data : mapping
        n, d and a digest.
    normalisation : mapping
        Of a saved result, whose data are those before it.
    """

    formulation: str
    parameters: Mapping[str, Any]
    data: Mapping[str, Any]
    normalisation: Mapping[str, Any] = field(default_factory=dict)

    def named(self, name: str) -> Problem:
        """The same with a name."""
        return replace(self, formulation=name)


def refuse_unrelated(entry: Entry, exact_name: str) -> None:
    """Raise ValueError unless a row bounds the exact problem in the same normalisation."""
    if exact_name not in CATALOGUE:
        return
    exact_names = _same_problem(exact_name)
    if not _bounded_by(entry) & exact_names:
        allowed = [e.name for e in CATALOGUE.values() if _bounded_by(e) & exact_names]
        raise ValueError(
            f"{entry.name} is not known to bound {exact_name} from below in the same objective; "
            f"these do: {', '.join(allowed)}"
        )


_LOOSER_FIRST = ("free", "penalised", "none")
PRICES = (
    "penalty", "C", "ridge", "nu", "beta", "class_balance", "class_weight", "scale", "truncation",
    "norm_bound", "rank", "shape",
)  # fmt: skip


def refuse_other_price(exact: Problem, row: Problem) -> None:
    """A row with another penalty, or a tighter treatment of b, bounds another problem."""
    if not (exact.formulation and row.formulation):
        return
    for word in PRICES:
        if word not in row.parameters or word not in exact.parameters:
            continue
        own, wanted = (_written(problem.parameters[word]) for problem in (row, exact))
        if not np.array_equal(own, wanted):
            raise ValueError(
                f"{row.formulation} has {word}={own} and {exact.formulation} {word}={wanted}: "
                "it would bound another problem"
            )
    own, wanted = row.parameters.get("intercept"), exact.parameters.get("intercept")
    if own and wanted and _LOOSER_FIRST.index(own) > _LOOSER_FIRST.index(wanted):
        raise ValueError(
            f"{row.formulation} has intercept={own} and {exact.formulation} intercept={wanted}: "
            f"only a looser one ({' before '.join(_LOOSER_FIRST)}) gives a bound"
        )


def _written(value: Any) -> Any:
    """A shape such as 3x3 as the numbers it stands for; anything else as it is."""
    parts = value.split("x") if isinstance(value, str) else []
    return tuple(map(int, parts)) if parts and all(p.isdigit() for p in parts) else value


def refuse_other_data(exact: Problem, row: Problem) -> None:
    """A row on other data bounds another problem, a truncated factor of a kernel included."""
    own, wanted = row.data.get("sha256"), exact.data.get("sha256")
    if own is None or wanted is None or own == wanted:
        return
    if exact.normalisation or row.normalisation:
        return  # a saved result states the data before its preparation
    raise ValueError(
        f"{row.formulation} has other data (n={row.data['n']}, d={row.data['d']}) than "
        f"{exact.formulation} (n={exact.data['n']}, d={exact.data['d']}): it would bound another "
        "problem. A factor of a kernel matrix with fewer columns than its rank, or a centred one, "
        "is other data too: its value can be above that of the kernel. Give all rows one GramData"
    )


def exact_problem(name: str) -> str:
    """The problem at the end of what an entry relaxes, is the dual of, or restates."""
    entry = CATALOGUE[name]
    above = entry.relaxes or entry.dual_of or entry.restates
    return name if above is None else exact_problem(above)


def _bounded_by(entry: Entry) -> set[str]:
    """Names an entry bounds from below: itself, what it relaxes, and through its primal."""
    found = _same_problem(entry.name)
    for name in (entry.relaxes, entry.dual_of):
        if name is not None:
            found |= _bounded_by(CATALOGUE[name])
    return found


def _same_problem(name: str) -> set[str]:
    """Entries that state the same problem in the same objective."""
    root = CATALOGUE[name].restates or name
    return {root, *(e.name for e in CATALOGUE.values() if e.restates == root)}
