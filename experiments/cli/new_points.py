"""New points for predict: files may have one class, or no labels at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tightmargin.experiments.data.labels import Labelling, named, signed
from tightmargin.experiments.data.specs import load, read_points
from tightmargin.experiments.data.tables import Table, from_table, read_table
from tightmargin.formulations.data.arrays import Array, real_array, refuse_non_finite


def new_points(
    spec: str, label: str | None, positive: str | None, *, several: bool = False
) -> tuple[Array, NDArray[Any] | None]:
    """Points and, when the file has them, labels.

    Parameters
    ----------
    several : bool
        Labels are names of classes, whatever they are; else -1 and +1.

    Returns
    -------
    array (m, d), array (m,) or None

    Raises
    ------
    ValueError
        Beginning with the spec; see tightmargin.experiments.data.specs.load.
    """
    labelling: Labelling = named if several else signed
    path = Path(spec).expanduser()
    try:
        if path.suffix.lower() == ".csv" and path.is_file():
            return _table(read_table(path), label, positive, labelling)
        if several:
            X, names = read_points(spec, labelling, label, positive)
            points = real_array("X", X)
            refuse_non_finite("X", points)
            return points, names
    except ValueError as error:
        raise ValueError(f"{spec}: {error}") from error
    found = load(spec, label=label, positive=positive)
    return found.X, found.y


def _table(
    table: Table, label: str | None, positive: str | None, labelling: Labelling
) -> tuple[Array, NDArray[Any] | None]:
    if label is not None or "y" in table.columns:
        return from_table(table, label or "y", positive, labelling=labelling)
    labelled = Table([*table.columns, "y"], [[*row, "1"] for row in table.rows], table.lines)
    return from_table(labelled, "y", None)[0], None
