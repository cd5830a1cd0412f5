"""A file of another program as a Pyomo model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyomo.environ as pyo

from tightmargin.solvers.canonical_form.cone_recognition import Shape, read_rows
from tightmargin.solvers.files import mosek_format
from tightmargin.solvers.files.cbf_format import read_cbf
from tightmargin.solvers.files.helper_columns import without_helper_columns
from tightmargin.solvers.files.lp_format import read_lp
from tightmargin.solvers.files.mps_format import read_mps
from tightmargin.solvers.files.program import Program
from tightmargin.solvers.files.program_model import program_model
from tightmargin.solvers.files.sdpa_format import SUFFIX, read_sdpa
from tightmargin.solvers.standard_form.standard_form import standard_form

_LINEAR: dict[str, Callable[[str], Program]] = {".lp": read_lp, ".mps": read_mps}
_CONIC: dict[str, Callable[[str, frozenset[str]], Program]] = {
    ".cbf": read_cbf, SUFFIX: read_sdpa,
}  # fmt: skip
READ = (*_LINEAR, *_CONIC, *mosek_format.FORMATS)


def read_model(file: str | Path) -> pyo.ConcreteModel:
    """Read an lp, mps, cbf, dat-s, task, jtask or ptf file into a Pyomo model.

    Every number is the double nearest to what is written, a sum of several (a side less a constant
    left of the row, a side and its range) as well. Sides of rows from 1e30 on are none, and bounds
    from 1e20 on in lp and mps files. What solvers read differently is refused: in mps files second
    sets of RHS, RANGES or BOUNDS, entries and bounds that come twice; in lp files `x free` after an
    upper bound, bounds of binaries beyond 0 and 1 that come after them. Second-order cones become
    quadratic rows, of columns of their own (`..._entry`) where nothing else shows the cone,
    semidefinite ones `tm.psd` rows, rows of one variable bounds where the format has no others, and
    the column above a quadratic objective that conic formats need becomes the objective again.

    Parameters
    ----------
    file : str or path
        Its suffix is the format. MOSEK reads task, jtask and ptf files and needs no licence.

    Returns
    -------
    ConcreteModel
        Foreign, without origin. `w[0]` and `w(0)` are `model.w[0]`; formats without names give
        `model.column[0]` and so on, unless our export left the names in comments.

    Raises
    ------
    ValueError
        Another suffix, or a part of the file that is not read; nothing is passed over.
    FileNotFoundError
        There is no such file.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> model = tm.conic_sdp(data, penalty=1.0)
    >>> bool(tm.same_model(model, tm.read_model(tm.export(model, "conic_sdp.cbf"))))
    True
    """
    path = Path(file)
    suffix = path.suffix.lower()
    if suffix not in READ:
        raise ValueError(f"the file must end in {', '.join(READ)}; got {str(file)!r}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    lifted: frozenset[str] = frozenset()
    while True:
        program = _program(path, suffix, lifted)
        program.refuse_odd_numbers()
        program = without_helper_columns(program, conic=suffix not in _LINEAR)
        program.state_signs()
        model, rows = program_model(program, path.stem)
        bent = _bent_cones(model, program, rows)
        if bent <= lifted:
            return model
        lifted |= bent


def _program(path: Path, suffix: str, lifted: frozenset[str]) -> Program:
    if suffix in mosek_format.FORMATS:
        return mosek_format.read_mosek(path, lifted)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is no text in UTF-8: {error.reason}") from error
    return _LINEAR[suffix](text) if suffix in _LINEAR else _CONIC[suffix](text, lifted)


def _bent_cones(model: pyo.ConcreteModel, program: Program, rows: list[Any]) -> frozenset[str]:
    """Cones whose quadratic rows are not seen to be convex."""
    if not any(row.is_cone for row in program.rows):
        return frozenset()
    form = standard_form(model)
    readings = zip(form.quadratic, read_rows(form), strict=True)
    bent = {id(row.data) for row, reading in readings if reading.shape is not Shape.CONVEX}
    return frozenset(
        row.name
        for row, constraint in zip(program.rows, rows, strict=True)
        if row.is_cone and id(constraint) in bent
    )
