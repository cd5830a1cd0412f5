"""A cut: a linear row over named variables, with everything needed to derive it again.

A cut is written for the polytope Q of extended_nu_svc_polar,

    <coefficients, point> <= rhs    for every point with objective -nu rho + sum c_i xi_i <= 1

that is still of interest. All of Q's variables scale together with the objective, so in models
where the norm is held instead (extended_nu_svc, _reverse, _linearised) the same cut reads

    <coefficients, point> <= rhs (-nu rho + sum c_i xi_i),

which is linear as well; `add_to` writes whichever a model needs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.cuts.cut.model_rows import elements_of, level_of
from tightmargin.cuts.cut.origin import CutOrigin
from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import number_text
from tightmargin.printing import Page, Printed, value_text

SCHEMA = "tightmargin/cuts/2"


class InvalidCutError(Exception):
    """A cut removes a point that it must keep, or does not follow from its origin.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.cutting_plane(data, nu=0.1)
    >>> try:
    ...     tm.cuts.verify_cut(found.cuts[-1], found.problem, found.cuts)
    ... except tm.cuts.InvalidCutError as error:
    ...     print(error)
    """


class Kind(StrEnum):
    """What a cut is."""

    CONCAVITY = "concavity"
    FACIAL = "facial"


@dataclass(frozen=True, eq=False, repr=False)
class Cut(Printed):
    """<coefficients, point> <= rhs, scaled to a largest coefficient of 1.

    Attributes
    ----------
    kind : Kind
    coefficients : mapping
        Arrays by variable name: "w", and "b", "rho", "xi" where the cut has them.
    rhs : float
    origin : CutOrigin
    round, number : int
        Round of the outer loop, and place among its cuts; -1 outside of one.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.cutting_plane(data, nu=0.1)
    >>> cut = found.cuts[0]
    >>> cut.kind.value, sorted(cut.coefficients)
    ('concavity', ['w'])
    """

    kind: Kind
    coefficients: Mapping[str, Array]
    rhs: float
    origin: CutOrigin
    round: int = -1
    number: int = -1
    _norm: float = field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        entries = np.concatenate([np.ravel(part) for part in self.coefficients.values()])
        object.__setattr__(self, "_norm", float(np.linalg.norm(entries)))

    def _page(self) -> Page:
        told = ((word, value_text(part)) for word, part in self.coefficients.items())
        facts = [(f"coefficients of {word}", text) for word, text in told]
        facts += [("right side", number_text(self.rhs)), ("depth", number_text(self.origin.depth))]
        return Page(f"Cut: {self.name}, <coefficients, point> <= {number_text(self.rhs)}", facts)

    @property
    def name(self) -> str:
        """How the cut is called in models and messages."""
        return f"{self.kind}_cut_{self.number}"

    @property
    def norm(self) -> float:
        """Euclidean length of all coefficients."""
        return self._norm

    def violation(self, point: Mapping[str, ArrayLike]) -> float:
        """<coefficients, point> - rhs at values by variable name: positive where the cut removes.

        Raises
        ------
        ValueError
            A variable of the cut that has no value, or one of another shape.
        """
        total = -self.rhs
        for name, part in self.coefficients.items():
            if name not in point:
                raise ValueError(f"{self.name} has the variable {name}, and the point does not")
            value = np.asarray(point[name], dtype=np.float64)
            if value.shape != part.shape:
                raise ValueError(f"{self.name}: {name} has shape {part.shape}, got {value.shape}")
            total += float(np.sum(part * value))
        return total

    def size_at(self, point: Mapping[str, ArrayLike]) -> float:
        """|rhs| + sum |coefficient value|: what a violation is small or large against."""
        return abs(self.rhs) + sum(
            float(np.sum(np.abs(part * np.asarray(point[name], dtype=np.float64))))
            for name, part in self.coefficients.items()
        )

    def numbered(self, number: int, round_: int) -> Cut:
        """Copy with its place in a loop."""
        return replace(self, number=number, round=round_)

    def add_to(
        self, model: pyo.ConcreteModel, *, name: str | None = None, level: Any = None
    ) -> pyo.Constraint:
        """Add the cut to a Pyomo model that has its variables, as an ordinary constraint.

        Parameters
        ----------
        level : number or expression, optional
            What -nu rho + sum c_i xi_i is held below, which multiplies the right-hand side. Known
            for the entries of the extended nu family; 1 for a model of unknown origin.

        Raises
        ------
        ValueError
            A variable that is missing or of another length, a model of other data or parameters,
            or of an entry that does not say its level.
        """
        title = self.name if name is None else name
        if model.find_component(title) is not None:
            raise ValueError(f"the model has a component {title}: give the cut another name")
        constraint = pyo.Constraint(expr=self.relation(model, level))
        model.add_component(title, constraint)
        return constraint

    def relation(self, model: pyo.ConcreteModel, level: Any = None) -> Any:
        """The cut over the variables of a model, which is left as it is; see `add_to`."""
        parts = dict(self.coefficients)
        found = {key: elements_of(model, key, part) for key, part in parts.items()}
        if level is None:
            level = level_of(model, self.origin.problem)
        if isinstance(level, dict):  # one double a variable: the numbers of a cut are its own
            for key, share in level.items():
                parts[key] = np.ravel(parts.get(key, 0.0)) - self.rhs * share
                found[key] = elements_of(model, key, share)
            level = 0.0
        body = pyo.quicksum(
            factor * variable
            for key, part in parts.items()
            for factor, variable in zip(np.ravel(part).tolist(), found[key], strict=True)
            if factor != 0
        )
        return body <= self.rhs * level

    def to_json(self) -> dict[str, Any]:
        """Plain dictionary; infinities as null."""
        origin = self.origin
        return {
            "kind": str(self.kind),
            "coefficients": {name: part.tolist() for name, part in self.coefficients.items()},
            "rhs": self.rhs,
            "round": self.round,
            "number": self.number,
            "origin": origin.to_json(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Cut:
        """Read what `to_json` wrote.

        Raises
        ------
        ValueError
            Missing or malformed entries.
        """
        try:
            origin = CutOrigin.from_json(document["origin"])
            coefficients = {
                str(name): np.array(part, dtype=np.float64)
                for name, part in document["coefficients"].items()
            }
            read = cls(
                Kind(document["kind"]), coefficients, float(document["rhs"]), origin,
                int(document["round"]), int(document["number"]),
            )  # fmt: skip
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise ValueError(f"not a cut: {error!r}") from None
        numbers = [
            read.rhs,
            *(x for part in coefficients.values() for x in np.ravel(part).tolist()),
        ]
        if not all(math.isfinite(number) for number in numbers):
            raise ValueError("not a cut: a coefficient or the right-hand side is not finite")
        return read


def save_cuts(cuts: Sequence[Cut], path: str | Path) -> Path:
    """Write cuts as plain JSON.

    Parameters
    ----------
    cuts : sequence of Cut
        What to write, such as the cuts of a result.
    path : str or path
        Of the file, which is returned.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.cutting_plane(data, nu=0.1)
    >>> tm.cuts.save_cuts(found.cuts, "cuts.json").name
    'cuts.json'
    """
    path = Path(path)
    document = {"schema": SCHEMA, "cuts": [cut.to_json() for cut in cuts]}
    path.write_text(json.dumps(document, allow_nan=False, indent=1), encoding="utf-8")
    return path


def load_cuts(path: str | Path) -> tuple[Cut, ...]:
    """Read cuts that `save_cuts` wrote.

    Parameters
    ----------
    path : str or path
        Of the file.

    Raises
    ------
    ValueError
        The file is truncated, altered beyond reading, or of another schema.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.cutting_plane(data, nu=0.1)
    >>> len(tm.cuts.load_cuts(tm.cuts.save_cuts(found.cuts, "cuts.json"))) == len(found.cuts)
    True
    """
    try:
        document = json.loads(Path(path).read_bytes())
        if document["schema"] != SCHEMA:
            raise ValueError(f"schema {document['schema']!r}, expected {SCHEMA!r}")
        return tuple(Cut.from_json(entry) for entry in document["cuts"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a readable list of cuts: {error}") from None
