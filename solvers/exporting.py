"""A model as a file that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyomo.environ as pyo
from pyomo.opt import ProblemFormat

from tightmargin.formulations.catalogue import Origin
from tightmargin.solvers.backends.mosek import FORMATS, export_conic
from tightmargin.solvers.disjunctive.transformation import is_disjunctive, transformed
from tightmargin.solvers.standard_form.readable import refuse_other_objects
from tightmargin.solvers.transformations.epigraphs import without_norms

WRITERS = {".lp": ProblemFormat.cpxlp, ".mps": ProblemFormat.mps, ".nl": ProblemFormat.nl}
SUFFIXES = (*WRITERS, *FORMATS)


def export(model: pyo.ConcreteModel, file: str | Path) -> Path:
    """Write a model under its own names, a disjunctive one after its transformation.

    Pyomo writes lp, mps and nl, and MOSEK the conic formats cbf, ptf, task and jtask, for which it
    needs no licence. An nl file gets its names beside it, as files ending in row and col; the other
    formats state absolute values and norms with variables above them.

    Parameters
    ----------
    model : ConcreteModel
        Ours, edited or foreign.
    file : str or path
        Its suffix is the format.

    Returns
    -------
    Path
        Of the file.

    Raises
    ------
    TypeError
        Anything but a Pyomo model that is constructed.
    ValueError
        Another suffix, or a model that the format cannot state.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> tm.export(tm.c_svc(data, C=1.0), "c_svc.lp").name
    'c_svc.lp'
    """
    refuse_other_objects("export", model)
    path = Path(file)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"the file must end in {', '.join(SUFFIXES)}, which names its format; "
                         f"got {str(file)!r}")  # fmt: skip
    if is_disjunctive(model):
        origin = getattr(model, "origin", None)
        named = origin.parameters if isinstance(origin, Origin) else {}
        model = transformed(model, str(named.get("transformation", "bigm")))
    if suffix in FORMATS:
        return export_conic(model, path)
    if suffix != ".nl":
        model = without_norms(model)
    labels: dict[str, Any] = {"symbolic_solver_labels": True}
    model.write(str(path), format=WRITERS[suffix], io_options=labels)
    return path
