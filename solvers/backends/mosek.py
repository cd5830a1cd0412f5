"""MOSEK through Fusion: files without any licence, solutions with one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.backends.base import refuse_huge_bounds
from tightmargin.solvers.backends.choice import capable, choose
from tightmargin.solvers.backends.mosek_model import FusionModel, fusion_model, model_name, sentence
from tightmargin.solvers.backends.options import unknown_option
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.canonical_form.classification import Classification, classify
from tightmargin.solvers.canonical_form.conic_form import Multipliers, unpack
from tightmargin.solvers.errors import LicenceError
from tightmargin.solvers.execution.claim import Claim, Status
from tightmargin.solvers.execution.deadline import within_deadline
from tightmargin.solvers.execution.interrupts import reported, supervised
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.standard_form.standard_form import StandardForm, standard_form
from tightmargin.solvers.transformations.epigraphs import without_norms
from tightmargin.solvers.transformations.quotients import without_quotients

FORMATS = (".ptf", ".task", ".cbf", ".jtask")
COLUMN = "# column"  # a comment of cbf files, which have no names of their own

_STATUS = {
    "optimal": Status.OPTIMAL,
    "integer_optimal": Status.OPTIMAL,
    "prim_and_dual_feas": Status.FEASIBLE,
    "prim_feas": Status.FEASIBLE,
    "prim_infeas_cer": Status.INFEASIBLE,
    "dual_infeas_cer": Status.INFEASIBLE_OR_UNBOUNDED,  # a point may not exist either
}
# What MOSEK knows of the problem when it has no solution of a kind above.
_PROBLEM_STATUS = {
    "prim_infeas": Status.INFEASIBLE,
    "prim_infeas_or_unbounded": Status.INFEASIBLE_OR_UNBOUNDED,
}
_WITH_POINT = (Status.OPTIMAL, Status.FEASIBLE)


def export_conic(model: pyo.ConcreteModel, path: str | Path) -> Path:
    """Write a model as a .ptf, .task, .cbf or .jtask file; needs no licence.

    Raises
    ------
    ValueError
        Another suffix, or disjunctions, which must be transformed first.
    OSError
        The file cannot be written.
    ProblemClassError, SolverNotInstalledError, NumberError
        MOSEK cannot represent the model.
    """
    target = without_norms(without_quotients(model))  # its parts know it as long as it is held
    form = standard_form(target)
    return export_form(form, classify(form), path)


def export_form(form: StandardForm, classification: Classification, path: str | Path) -> Path:
    """Like export(), for a model already read."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"the file name must end in {', '.join(FORMATS)}, got {path.name!r}")
    choose("mosek", classification.problem_class, form)
    suffix = path.suffix.lower()
    with fusion_model(form, classification, form.sense) as written, path.open("wb") as file:
        if suffix == ".cbf":
            task = written.model.getTask()
            names = [task.getvarname(j) for j in range(task.getnumvar())]
            lines = (f"{COLUMN} {j} {' '.join(name.split())}\n" for j, name in enumerate(names))
            file.write("".join(lines).encode())
        written.model.writeTaskStream(suffix[1:], file)
    return path


def run(form: StandardForm, classification: Classification, limits: Limits) -> Claim:
    """Solve a convex or mixed-integer convex model.

    Raises
    ------
    LicenceError
        Naming what writes the model to a file, and the free solvers that take it.
    """
    import mosek
    from mosek import fusion

    refuse_huge_bounds("mosek", form)
    _refuse_unknown_options(limits.options, mosek)
    problem = SOLVERS["mosek"].unlicensed()
    if problem:
        raise _without_licence(form, classification, problem)
    with fusion_model(form, classification, 1) as written:
        _set_parameters(written.model, form, within_deadline(limits), fusion)

        def work() -> None:
            if limits.log:
                written.model.setLogHandler(sys.stdout)
            written.model.solve()

        try:
            finished = supervised(work, written.model.breakSolver, log=limits.log, name="mosek")
        except fusion.OptimizeError as error:
            if "icense" in str(error):
                raise _without_licence(form, classification, sentence(str(error))) from error
            return Claim(Status.ERROR, message=sentence(str(error)))
        return reported(_claim(written, form, mosek), finished)


def _without_licence(
    form: StandardForm, classification: Classification, problem: str
) -> LicenceError:
    free = [n for n in capable(classification.problem_class) if "free" in SOLVERS[n].licence]
    return LicenceError(
        f"mosek finds no licence ({problem}); tm.export(model, "
        f"'{model_name(form)}.ptf') writes the model for a machine that has one, and solvers that "
        f"take it without one are {', '.join(free) or 'not installed'}"
    )


def _refuse_unknown_options(options: Mapping[str, Any], mosek: Any) -> None:
    known = {
        _fusion_name(repr(parameter))
        for kind in (mosek.iparam, mosek.dparam, mosek.sparam)
        for parameter in kind.values
    }
    for name in options:
        if name not in known:
            raise unknown_option("mosek", name, known)


def _fusion_name(name: str) -> str:
    """mio_tol_rel_gap is mioTolRelGap in Fusion."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _set_parameters(model: Any, form: StandardForm, limits: Limits, fusion: Any) -> None:
    settings: dict[str, Any] = {}
    if form.integer.any():
        settings["mioTolRelGap"] = 1e-9
    if limits.time_limit is not None:
        settings["optimizerMaxTime"] = float(limits.time_limit)
    if limits.nodes is not None and form.integer.any():
        settings["mioMaxNumBranches"] = int(limits.nodes)
    if limits.threads is not None:
        settings["numThreads"] = int(limits.threads)
    if limits.seed is not None:
        settings["mioSeed"] = int(limits.seed)
    for name, value in (settings | dict(limits.options)).items():
        try:
            model.setSolverParam(name, value)
        except (fusion.ParameterError, ValueError) as error:
            raise ValueError(f"mosek cannot take {name}={value!r}: {error}") from error


def _claim(written: FusionModel, form: StandardForm, mosek: Any) -> Claim:
    task = written.model.getTask()
    kinds = (mosek.soltype.itg, mosek.soltype.bas, mosek.soltype.itr)
    there = [kind for kind in kinds if task.solutiondef(kind)]
    if not there:
        return Claim(Status.LIMIT_NO_SOLUTION, message="mosek returned no solution")
    kind = max(there, key=lambda kind: repr(task.getsolsta(kind)) in _STATUS)
    solution, problem = repr(task.getsolsta(kind)), repr(task.getprosta(kind))
    message = f"{solution}, {problem}"
    status = _STATUS.get(solution) or _PROBLEM_STATUS.get(problem)
    integer = bool(form.integer.any())
    if status is None:
        # The last iterate of an interior point method: the certificate will tell.
        status = Status.LIMIT_NO_SOLUTION if integer else Status.INACCURATE
    bound = task.getdouinf(mosek.dinfitem.mio_obj_bound) if integer else task.getdualobj(kind)
    if status not in (*_WITH_POINT, Status.INACCURATE):
        bound = bound if integer and status is Status.LIMIT_NO_SOLUTION else None
        return Claim(status, bound=bound, message=message)
    x = np.empty(form.n)
    x[written.columns] = np.array(task.getxx(kind))[1 : form.n + 1]
    duals = None if integer else _multipliers(written, form, task, kind)
    return Claim(status, x=x, duals=duals, bound=bound, message=message)


def _multipliers(written: FusionModel, form: StandardForm, task: Any, kind: Any) -> Multipliers:
    rows, bounds = np.zeros(len(form.rows)), np.zeros(form.n)
    rows[written.rows] = task.gety(kind)
    reduced = np.array(task.getslx(kind)) - np.array(task.getsux(kind))
    bounds[written.columns] = reduced[1 : form.n + 1]
    cones: dict[int, Array] = {}
    at = int(written.has_epigraph)
    for part in written.cones:
        for block in part.blocks:
            z = part.turn.T @ np.array(task.getaccdoty(kind, at))
            cones[id(block.data)] = unpack(z) if part.kind == "semidefinite" else z
            at += 1
    return Multipliers(rows, bounds, cones)
