"""MOSEK through Fusion: files without any licence, solutions with one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray
from pyomo.core.base.component_namer import index_repr

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.cones import order
from tightmargin.solvers.engines.registry import (
    SOLVERS,
    capable,
    choose,
    own_names,
    refuse_huge_bounds,
    unknown_option,
)
from tightmargin.solvers.engines.running import Limits, reported, supervised, within_deadline
from tightmargin.solvers.errors import LicenceError, NumberError, ProblemClassError
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.conic import Block, ConicForm, Multipliers, conic_form, unpack
from tightmargin.solvers.model.convexity import ROUNDING, Classification, classify
from tightmargin.solvers.model.reader import StandardForm, standard_form
from tightmargin.solvers.model.residuals import negligible
from tightmargin.solvers.model.rewrites import without_norms, without_quotients

# --- A model as a MOSEK Fusion model, in whole blocks, each one Fusion call on a sparse matrix ---
#     columns        one variable for each kind of bound
#     linear rows    one constraint for each kind of side
#     cones          one constraint for those of a size: rotated where p^2 <= s z is plain to see
#     semidefinite   one constraint each
#     1/2 x'P x      (t, 1, L x) in a rotated cone with L'L = P, and t in the objective
# Columns and rows carry their Pyomo names, so that a .ptf file reads margin[3], z[0], outer.


INFINITY = 1e16  # MOSEK drops a side or a bound from here on
EPIGRAPH = "objective_epigraph"


@dataclass(frozen=True, eq=False)
class Cones:
    """Cones of one kind and size; `turn` (k, k) leads from our rows of each to those of the file.

    With (a, b, c) for a >= ||(b, c)|| and (f, g, h) for 2 f g >= ||h||^2, the rotated cones have
    f = (a + b) / 4, g = (a - b) / 2, h = c / 2: then p^2 <= s z reads (s / 2, z, p).
    """

    kind: str
    blocks: tuple[Block, ...]
    turn: sp.csr_matrix


@dataclass(frozen=True, eq=False)
class FusionModel:
    """A Fusion model and what its parts stand for."""

    model: Any
    columns: (
        Index  # of the form, behind the variables: after MOSEK's constant 1, before an epigraph
    )
    rows: Index
    cones: tuple[Cones, ...]  # in the order of the task, after the cone of an epigraph
    has_epigraph: bool


@contextmanager
def fusion_model(
    form: StandardForm, classification: Classification, sense: int
) -> Iterator[FusionModel]:
    """Fusion model of a standard form, released at the end; sense -1 states a maximisation."""
    import mosek
    from mosek import fusion

    if not form.n:
        raise ProblemClassError("mosek needs a variable that is not fixed")
    refuse_huge_bounds("mosek", form, INFINITY)
    with fusion.Model(model_name(form)) as model:
        try:
            written = _write(model, form, conic_form(form, classification), sense, fusion)
        except mosek.Error as error:
            raise NumberError(f"mosek refuses the model: {sentence(error.msg)}") from error
        yield written


def model_name(form: StandardForm) -> str:
    """Name of the model, fit for a file."""
    name = str(form.columns[0].model().name)
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)


def sentence(message: str) -> str:
    """First line of a message of MOSEK without its code and full stop."""
    line = message.strip().partition("\n")[0]
    return (line.partition("): ")[2] or line).rstrip(".")


def _write(
    model: Any, form: StandardForm, conic: ConicForm, sense: int, fusion: Any
) -> FusionModel:
    task, mul = model.getTask(), fusion.Expr.mul
    groups = _by_kind(form.lower, form.upper, form.integer)
    variables = []
    for group in groups:
        domain = _domain(form.lower[group], form.upper[group], fusion)
        domain = fusion.Domain.integral(domain) if form.integer[group[0]] else domain
        variables.append(model.variable(len(group), domain))
    x = fusion.Var.vstack(variables)
    columns = np.concatenate(groups)
    names = form.columns.names()
    names = [names[j] for j in columns]
    for j, name in enumerate(names, start=1):
        task.putvarname(j, name)
    A = _cleaned(form.A)[:, columns]
    sides = _by_kind(form.row_lower, form.row_upper, np.zeros(A.shape[0], dtype=bool))
    for group in sides:
        domain = _domain(form.row_lower[group], form.row_upper[group], fusion)
        model.constraint(mul(_matrix(A[group], fusion), x), domain)
    cost = fusion.Expr.dot(sense * form.objective.a[columns], x)
    cost = fusion.Expr.add(cost, sense * form.objective.constant)
    numbers = 0
    if form.objective.Q.nnz:
        root = _cleaned(square_root(form.P))[:, columns]
        t = model.variable(1, fusion.Domain.unbounded())
        epigraph = fusion.Expr.vstack(t, 1.0, mul(_matrix(root, fusion), x))
        model.constraint(epigraph, fusion.Domain.inRotatedQCone())
        cost = fusion.Expr.add(cost, mul(float(sense), t))
        numbers += 1 + root.nnz
    K = (-conic.A).tocsr()[:, columns]
    cones = _cones(conic, K)
    for part in cones:
        numbers += _add_cones(model, part, K, conic.b, x, fusion)
    towards = fusion.ObjectiveSense.Minimize if sense > 0 else fusion.ObjectiveSense.Maximize
    model.objective("objective", towards, cost)
    if (task.getnumanz(), task.getaccfnumnz()) != (A.nnz, numbers):
        raise NumberError(
            f"mosek took {task.getnumanz()} of {A.nnz} coefficients of the linear rows and "
            f"{task.getaccfnumnz()} of {numbers} of the cones (it drops magnitudes up to 1e-12): "
            "scale the data, or use clarabel for continuous convex models"
        )
    rows = np.concatenate([*sides, np.zeros(0, dtype=np.int64)])
    written = FusionModel(model, columns, rows, cones, form.objective.Q.nnz > 0)
    _name(task, form, written)
    return written


def _by_kind(lower: Array, upper: Array, integer: NDArray[np.bool_]) -> list[Index]:
    """Positions by which of the two sides are there, equal sides and integers apart."""
    sides = 2 * np.isfinite(lower) + np.isfinite(upper) + (lower == upper)
    kind = 2 * sides + integer
    return [np.flatnonzero(kind == k) for k in np.unique(kind)]


def _domain(lower: Array, upper: Array, fusion: Any) -> Any:
    """Fusion's domain for sides of one kind."""
    if lower[0] == upper[0]:
        return fusion.Domain.equalsTo(lower)
    match bool(np.isfinite(lower[0])), bool(np.isfinite(upper[0])):
        case True, False:
            return fusion.Domain.greaterThan(lower)
        case False, True:
            return fusion.Domain.lessThan(upper)
        case False, False:
            return fusion.Domain.unbounded()
    return fusion.Domain.inRange(lower, upper)


def _matrix(matrix: sp.csr_matrix, fusion: Any) -> Any:
    parts = matrix.tocoo()
    i, j = parts.row.astype(np.int32), parts.col.astype(np.int32)
    return fusion.Matrix.sparse(*matrix.shape, i, j, parts.data)


def _cleaned(matrix: sp.csr_matrix) -> sp.csr_matrix:
    """Copy without the entries that are rounding beside others of their row."""
    matrix = matrix.tocsr(copy=True)
    matrix.data[negligible(matrix)] = 0.0
    matrix.eliminate_zeros()
    return matrix


def square_root(P: sp.csc_matrix) -> sp.csr_matrix:
    """L with L'L = P, for a semidefinite P."""
    diagonal = P.diagonal()
    unit = sp.identity(len(diagonal), format="csr")
    if P.nnz == np.count_nonzero(diagonal):
        return sp.diags(np.sqrt(diagonal[diagonal > 0])) @ unit[diagonal > 0]
    support = np.unique(P.indices)
    values, vectors = np.linalg.eigh(P[support][:, support].toarray())
    kept = values > ROUNDING * len(values) * values[-1]
    return sp.csr_matrix((vectors[:, kept] * np.sqrt(values[kept])).T) @ unit[support]


def _cones(conic: ConicForm, K: sp.csr_matrix) -> tuple[Cones, ...]:
    """Cones by size and kind, semidefinite ones last."""
    groups: list[Cones] = []
    sizes: dict[int, list[Block]] = {}
    for block in conic.blocks_of("soc"):
        sizes.setdefault(block.size, []).append(block)
    for size, blocks in sizes.items():
        rotated = _are_rotated(np.array([block.start for block in blocks]), size, K)
        turns = {"quadratic": sp.identity(size, format="csr")}
        if rotated.any():
            corner, rest = [[0.25, 0.25], [0.5, -0.5]], 0.5 * np.identity(size - 2)
            turns["rotated"] = sp.block_diag((corner, rest), format="csr")
        for kind, turn in turns.items():
            pairs = zip(blocks, rotated, strict=True)
            chosen = tuple(
                block for block, is_rotated in pairs if is_rotated == (kind == "rotated")
            )
            if chosen:
                groups.append(Cones(kind, chosen, turn))
    for block in conic.blocks_of("psd"):
        # MOSEK reads a lower triangle column by column.
        by_column = np.lexsort(np.tril_indices(order(block.size)))
        groups.append(
            Cones("semidefinite", (block,), sp.identity(block.size, format="csr")[by_column])
        )
    return tuple(groups)


def _are_rotated(starts: Index, size: int, K: sp.csr_matrix) -> NDArray[np.bool_]:
    """Cones whose first two rows hold the same numbers up to sign: f + g and f - g, say."""
    if size < 3:  # Fusion has no smaller rotated cones
        return np.zeros(len(starts), dtype=bool)
    apart = (abs(K[starts]) - abs(K[starts + 1])).tocsr()
    apart.eliminate_zeros()
    return np.diff(apart.indptr) == 0


def _add_cones(model: Any, part: Cones, K: sp.csr_matrix, b: Array, x: Any, fusion: Any) -> int:
    """Add cones as one constraint; returns the number of their coefficients."""
    size = part.blocks[0].size
    rows = (np.array([block.start for block in part.blocks])[:, None] + np.arange(size)).ravel()
    turn = sp.kron(sp.identity(len(part.blocks)), part.turn, format="csr")
    matrix = _cleaned(turn @ K[rows])
    body = fusion.Expr.add(fusion.Expr.mul(_matrix(matrix, fusion), x), turn @ b[rows])
    domains = {
        "rotated": fusion.Domain.inRotatedQCone,
        "quadratic": fusion.Domain.inQCone,
        "semidefinite": fusion.Domain.inSVecPSDCone,
    }
    model.constraint(fusion.Expr.reshape(body, [len(part.blocks), size]), domains[part.kind]())
    return int(matrix.nnz)


def _name(task: Any, form: StandardForm, written: FusionModel) -> None:
    """Give rows and cones their Pyomo names."""
    if written.has_epigraph:
        name, taken = EPIGRAPH, set(form.columns.names())
        while name in taken:
            name += "_"
        task.putvarname(1 + form.n, name)
        task.putaccname(0, name)
    # Asking form.rows for a row would make it: its name is put together here.
    rows = [
        component.name + (index_repr(key) if component.is_indexed() else "")
        for component, key in form.rows.locations()
    ]
    for i, row in enumerate(written.rows.tolist()):
        task.putconname(i, rows[row])
    blocks = [block for part in written.cones for block in part.blocks]
    for k, block in enumerate(blocks, start=int(written.has_epigraph)):
        task.putaccname(k, block.data.name)


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

    Raises ValueError: another suffix, or disjunctions, which must be transformed first.
    Raises OSError: the file cannot be written.
    Raises ProblemClassError, SolverNotInstalledError, NumberError: MOSEK cannot represent the
        model.
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
    """Solve a convex or mixed-integer convex model; LicenceError where MOSEK finds no licence."""
    import mosek
    from mosek import fusion

    refuse_huge_bounds("mosek", form)
    known = set()  # mio_tol_rel_gap is mioTolRelGap in Fusion
    for kind in (mosek.iparam, mosek.dparam, mosek.sparam):
        for parameter in kind.values:
            first, *rest = repr(parameter).split("_")
            known.add(first + "".join(word.capitalize() for word in rest))
    for name in limits.options:
        if name not in known:
            raise unknown_option("mosek", name, known)
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


def _set_parameters(model: Any, form: StandardForm, limits: Limits, fusion: Any) -> None:
    settings = own_names(
        limits, time_limit="optimizerMaxTime", threads="numThreads", seed="mioSeed"
    )
    if form.integer.any():
        settings |= {"mioTolRelGap": 1e-9} | own_names(limits, nodes="mioMaxNumBranches")
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
