"""What each solver can take, under which limits, and how to get it."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from types import MappingProxyType
from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.printing import Printed
from tightmargin.solvers.engines.running import Limits, default_threads
from tightmargin.solvers.errors import (
    NumberError,
    ProblemClassError,
    RefusedError,
    SizeLimitError,
    SolverNotInstalledError,
)
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.conic import Multipliers
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.dual import worthwhile
from tightmargin.solvers.model.exponential import exponential_form
from tightmargin.solvers.model.reader import PsdRow, StandardForm
from tightmargin.solvers.model.residuals import coefficient_outside

UNSUPPORTED: tuple[tuple[str, str], ...] = (
    (
        "osqp, proxqp, daqp",
        "QP only; OSQP and ProxQP need tens of times as long as PIQP for six digits, DAQP is for "
        "small dense ones",
    ),
    ("ecos, qoco", "what Clarabel takes but for semidefinite rows; PIQP is faster on QP"),
    ("cvxopt, csdp, sdpa", "SDP, as Clarabel and SCS; GPL, or an executable that reads a file"),
    (
        "highs hipo, pdlp",
        "methods of HiGHS for large LP and QP; HiPO needs highspy[extras], and neither was faster "
        "than Clarabel at ten thousand points",
    ),
    (
        "copt, xpress, cplex",
        "commercial; free up to 2000, 200 and 1000 variables, COPT and Xpress call a local "
        "optimum of a non-convex model a solution; Gurobi covers the same classes",
    ),
    ("knitro, ipopt, baron", "a licence or an executable; Knitro and Ipopt find local optima"),
    ("glpk, cbc, scip-sdp", "HiGHS replaces the first two; SCIP-SDP has no wheel"),
    ("cuopt, cupdlpx", "need a GPU of one maker"),
)

# They start from values of integer variables; no solver of ours takes a start of anything else.
TAKE_STARTS = ("scip", "highs", "gurobi")

LP, QP, SOCP, SDP = ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP
MILP, MIQP, MISOCP = ProblemClass.MILP, ProblemClass.MIQP, ProblemClass.MISOCP
EXP, LRCP, NONCONVEX = ProblemClass.EXP, ProblemClass.LRCP, ProblemClass.NONCONVEX


@dataclass(frozen=True, repr=False)
class SolverInfo(Printed):
    """Capabilities of one solver.

    Attributes
    ----------
    package : str
        Module to import.
    distribution : str
        Name to install.
    classes : frozenset
    coefficients : (float, float)
        Row coefficients outside this open interval are silently dropped or rejected by the
        solver, so the model is refused.
    licence : str
    tolerance : float
        How far its optimum may be from the true one, relative to max(1, |optimum|).
    tolerance_because : str
        Where that comes from.
    tolerance_on_cones : float or None
        The same for SOCP and MISOCP models, where it is larger.
    limits : callable(form) -> str
        Sentence naming the exceeded limit, or an empty string.
    unlicensed : callable() -> str
        Why the solver finds no licence here, or an empty string.
    by_name : frozenset
        Classes of which it takes some models only, when it is named; not asked where all solvers
        of a class are. HiGHS gets the squares of mixed-integer models as tangents.
    """

    name: str
    package: str
    distribution: str
    classes: frozenset[ProblemClass]
    coefficients: tuple[float, float]
    licence: str
    tolerance: float
    tolerance_because: str
    tolerance_on_cones: float | None = None
    limits: Callable[[StandardForm], str] = lambda form: ""
    unlicensed: Callable[[], str] = lambda: ""
    by_name: frozenset[ProblemClass] = frozenset()

    @property
    def installed(self) -> bool:
        """Whether the package can be imported here."""
        try:
            return importlib.util.find_spec(self.package) is not None
        except ImportError:  # an import hook that keeps it away
            return False

    @property
    def broken(self) -> str:
        """Why an installed package cannot be imported, or an empty string."""
        try:
            importlib.import_module(self.package)
        except Exception as error:  # whatever a damaged installation raises is the answer
            return f"{type(error).__name__}: {error}"
        return ""

    @property
    def free(self) -> bool:
        """Whether it solves models of any size without a licence."""
        return "free" in self.licence

    def tolerance_for(self, problem_class: str) -> float:
        """Tolerance on models of a class."""
        if self.tolerance_on_cones is not None and problem_class in (SOCP, MISOCP):
            return self.tolerance_on_cones
        return self.tolerance

    @property
    def version(self) -> str:
        """Installed version, or an empty string."""
        return version(self.distribution) if self.installed else ""


@cache
def gurobi_is_restricted() -> bool:
    """Whether Gurobi runs under the size-limited licence of its wheel: asked by a probe model."""
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
        model.addMVar(2001)
        try:
            model.optimize()
        except gurobipy.GurobiError:
            return True
    return False


@cache
def mosek_unlicensed() -> str:
    """Why MOSEK finds no licence, in its own words; an empty string when it does."""
    import mosek

    with mosek.Env() as env:
        try:
            env.checkoutlicense(mosek.feature.pts)
        except mosek.Error as error:
            return mosek.Env.getcodedesc(error.errno)[1].rstrip(".")
    return ""


def _gurobi_limits(form: StandardForm) -> str:
    """Limits of the wheel's licence, found by trying models on both sides of each of them.

    Linear and quadratic rows count together; a row with two different sides costs a column more.
    """
    rows = len(form.rows) + len(form.quadratic)
    most = 200 if form.is_quadratic else 2000
    if max(form.n, rows) <= most // 2 or not gurobi_is_restricted():
        return ""
    two_sided = np.isfinite(form.row_lower) & np.isfinite(form.row_upper)
    columns = form.n + int((two_sided & (form.row_lower != form.row_upper)).sum())
    if columns > most:
        kind = "quadratic models" if form.is_quadratic else "linear models"
        extra = "" if columns == form.n else f" ({columns - form.n} of them for two-sided rows)"
        return f"{columns} variables{extra}, and its restricted licence takes {most} in {kind}"
    return f"{rows} rows, and its restricted licence takes 2000" if rows > 2000 else ""


SOLVERS = {
    info.name: info
    for info in (
        SolverInfo(
            "highs", "highspy", "highspy", frozenset({LP, QP, MILP}), (1e-9, 1e15), "MIT, free",
            1e-6, "rows and reduced costs within 1e-7, integers within 1e-6",
            by_name=frozenset({MIQP}),
        ),
        SolverInfo(
            "clarabel", "clarabel", "clarabel", frozenset({LP, QP, SOCP, SDP, EXP}), (0.0, np.inf),
            "Apache 2.0, free", 1e-6, "it stops at a gap and residuals of 1e-8 of its scaled model",
        ),
        SolverInfo(
            "scip", "pyscipopt", "pyscipopt",
            frozenset({LP, QP, SOCP, EXP, MILP, MIQP, MISOCP, LRCP, NONCONVEX}), (1e-9, 1e15),
            "Apache 2.0, free", 1e-5,
            "a quadratic objective becomes a row, and rows are met by cuts to 1e-8; the square "
            "root in a cone makes 1e-4 of that",
            1e-4,
        ),
        SolverInfo(
            "gurobi", "gurobipy", "gurobipy",
            frozenset({LP, QP, SOCP, MILP, MIQP, MISOCP, LRCP, NONCONVEX}), (1e-13, 1e15),
            "commercial; the wheel solves small models", 1e-6,
            "rows within 1e-6, and the barrier method to 1e-6 of a norm where rows are quadratic",
            1e-5,
            limits=_gurobi_limits,
        ),
        SolverInfo(
            "scs", "scs", "scs", frozenset({LP, QP, SOCP, SDP}), (0.0, np.inf), "MIT, free",
            1e-5, "operator splitting: the last digits come slowly",
        ),
        SolverInfo(
            "piqp", "piqp", "piqp", frozenset({QP}), (0.0, np.inf), "BSD 2-clause, free",
            1e-6, "it stops at absolute residuals of 1e-8 of its scaled model",
        ),
        SolverInfo(
            "mosek", "mosek", "mosek", frozenset({LP, QP, SOCP, SDP, MILP, MIQP, MISOCP}),
            (1e-12, 1e20), "commercial; exports without one", 1e-6,
            "it stops at a gap and residuals of 1e-8 of its scaled model",
            unlicensed=mosek_unlicensed,
        ),
    )
}  # fmt: skip


def solver_named(name: str) -> SolverInfo:
    """Look a solver up; ValueError, with the nearest name, when there is none."""
    if isinstance(name, str) and name in SOLVERS:
        return SOLVERS[name]
    hint = did_you_mean(name, SOLVERS)
    raise ValueError(f"unknown solver {name!r}; choose auto, {', '.join(SOLVERS)}{hint}")


# --- What all engines do alike --------------------------------------------------------------------


# Every solver here reads a bound of this size as no bound, and then calls the model unbounded.
INFINITE = 1e20


def own_names(limits: Limits, **names: str) -> dict[str, Any]:
    """Limits that are set, under the solver's names for them: time_limit="max_seconds", say."""
    values = {name: getattr(limits, field) for field, name in names.items()}
    kinds = {name: float if field == "time_limit" else int for field, name in names.items()}
    return {name: kinds[name](value) for name, value in values.items() if value is not None}


def unused(solver: str, limits: Limits, *names: str) -> str:
    """What is added to a message on settings that a solver does not have; empty for none."""
    values = {name: getattr(limits, name) for name in names}
    if values.get("threads") == default_threads():
        values["threads"] = None  # the default is no request
    missing = [name for name, value in values.items() if value is not None]
    return f"; {solver} has no {' and no '.join(missing)} to set" if missing else ""


def with_iterate(
    claim: Claim, x: Array, z: Array, duals: Callable[[], Multipliers], value: float, bound: float
) -> Claim:
    """A claim with the last iterate of a solver, its multipliers `duals()` from z, where finite."""
    status = claim.status
    with_point = (Status.OPTIMAL, Status.INACCURATE, Status.INTERRUPTED)
    if status in with_point and np.isfinite(x).all() and np.isfinite(z).all():
        # Short of the end the dual objective is that of a point that is not dual feasible.
        proven = bound if status is Status.OPTIMAL else None
        return replace(claim, x=x, duals=duals(), bound=proven, objective=value)
    if status is Status.INACCURATE:
        return replace(claim, status=Status.LIMIT_NO_SOLUTION)
    return claim


def refuse_huge_bounds(solver: str, form: StandardForm, infinite: float = INFINITE) -> None:
    """Raise NumberError for a bound or a side that the solver would read as infinite."""
    sides = (
        ("lower bound", form.lower, form.columns),
        ("upper bound", form.upper, form.columns),
        ("lower side", form.row_lower, form.rows),
        ("upper side", form.row_upper, form.rows),
    )
    for kind, numbers, owners in sides:
        huge = np.flatnonzero(np.isfinite(numbers) & (np.abs(numbers) >= infinite))
        if huge.size:
            k = int(huge[0])
            raise NumberError(
                f"{solver} would read the {kind} {numbers[k]:g} of {owners.name(k)} as infinite: "
                "leave it out (None) if there is none, or scale the model"
            )


# --- Options passed through to a solver: a misspelt name is an error, never ignored --------------


def unknown_option(solver: str, name: str, known: Iterable[str]) -> ValueError:
    """Error for an option the solver does not have, with the nearest names."""
    return ValueError(f"{solver} has no option {name!r}{did_you_mean(name, known, 3)}")


def refused_option(solver: str, name: str, value: Any, known: Iterable[str]) -> ValueError:
    """Error for an option that the solver did not accept: its name, or else its value."""
    names = list(known)
    if name not in names:
        return unknown_option(solver, name, names)
    return ValueError(f"{solver} cannot take {value!r} for its option {name}")


def apply_options(solver: str, settings: Any, options: Mapping[str, Any]) -> None:
    """Set attributes of a settings object, refusing names and values it does not take."""
    for name, value in options.items():
        known = [word for word in dir(settings) if word[0] != "_"]
        if not hasattr(settings, name):
            raise unknown_option(solver, name, known)
        try:
            setattr(settings, name, value)
        except (TypeError, ValueError, OverflowError):
            raise refused_option(solver, name, value, known) from None


# --- Which solver goes first when the user names none, by class and size, and why ----------------
# Only free solvers are chosen: those that need a licence run when they are named. Size is the
# larger of the numbers of rows and columns, so that a problem and its dual count alike. The
# evidence beside each number is CPU seconds of one thread until the objective is right to 1e-6, on
# linear and C-SVC machines of n overlapping normal points with d features.


# nu machine with |w_j| <= 1: simplex on the dual form 0.17 s where Clarabel takes 0.46 s at
# n=1e4, d=10; 0.48 and 4.7 s at n=2e4, d=30; 4.1 and 6.8 s at n=1e5, d=10; 6.6 and 21.7 s at
# n=1e5, d=30.
DUAL_SIMPLEX_SIZE = 200_000
# The same as it is written, where the dual form has nothing to save: 0.07 s and 0.04 s at n=1e3,
# d=10; 1.4 and 0.35 s at n=3e3, d=30; 3.9 and 0.46 s at n=1e4, d=10.
SIMPLEX_SIZE = 20_000
# C-SVC: Clarabel 0.27 s, PIQP 0.17 s at n=3e3, d=30; 1.46 and 0.81 s at n=1e4, d=30. Below, the
# difference is a few hundredths of a second, and Clarabel also proves that a QP is infeasible.
PIQP_SIZE = 3_000
# Entries of a dense matrix: at order 120 (7,381 of them) Clarabel takes 3 GB, and its memory grows
# with the fourth power of the order. Patterns with fewer entries it splits.
PSD_ENTRIES, PSD_SHARE = 7_500, 0.3

ORDER: dict[ProblemClass, tuple[str, ...]] = {
    LP: ("highs", "clarabel", "scip", "scs", "gurobi", "mosek"),
    # HiGHS last: its active-set method needs 0.4 s at n=1e3, d=10, and more than 40 s at d=100.
    QP: ("clarabel", "piqp", "scs", "scip", "gurobi", "mosek", "highs"),
    SOCP: ("clarabel", "scs", "scip", "gurobi", "mosek"),
    SDP: ("clarabel", "scs", "mosek"),
    EXP: ("clarabel", "scip"),
    MILP: ("highs", "scip", "gurobi", "mosek"),
    MIQP: ("scip", "gurobi", "mosek"),
    MISOCP: ("scip", "gurobi", "mosek"),
    LRCP: ("scip", "gurobi"),
    NONCONVEX: ("scip", "gurobi"),
}
CLOCKLESS = ("piqp",)  # no time limit can stop them


_REASONS = {
    (QP, "highs"): "the last resort for a QP, slow from a thousand points on",
    (SOCP, "clarabel"): "an interior point method is accurate on cones",
    (SDP, "clarabel"): "an interior point method is accurate on cones",
    (EXP, "clarabel"): "it has an exponential cone for exp and log",
    (EXP, "scip"): "it encloses exp and log",
    (MILP, "highs"): "branch and cut for linear models",
    (MIQP, "scip"): "branch and cut for quadratic models too",
    (MISOCP, "scip"): "branch and cut for quadratic models too",
    (LRCP, "scip"): "it proves global bounds on models that are not convex",
    (NONCONVEX, "scip"): "it proves global bounds on models that are not convex",
}
_SIZED_REASONS = {
    (LP, "highs", False): "simplex ends at a vertex, and is fast at this size",
    (LP, "clarabel", True): "an interior point method is faster at this size",
    (QP, "clarabel", False): (f"reliable, and quick up to {PIQP_SIZE} rows or columns"),
    (QP, "clarabel", True): "reliable at any size",
    (SDP, "scs", True): "an interior point method needs gigabytes for such a matrix",
    (QP, "piqp", True): f"the fastest above {PIQP_SIZE} rows or columns",
}


def size_of(form: StandardForm) -> int:
    """The larger of the numbers of rows and columns."""
    return max(form.n, len(form.rows) + len(form.quadratic) + len(form.psd))


def is_large(problem_class: ProblemClass, form: StandardForm) -> bool:
    """Whether a model is beyond the size at which another method takes over."""
    match problem_class:
        case ProblemClass.LP:
            return size_of(form) > (DUAL_SIMPLEX_SIZE if worthwhile(form) else SIMPLEX_SIZE)
        case ProblemClass.QP:
            return size_of(form) > PIQP_SIZE
        case ProblemClass.SDP:
            return needs_gigabytes(form)
    return False


def needs_gigabytes(form: StandardForm) -> bool:
    """Whether a semidefinite row takes an interior-point method more memory than there may be."""
    return any(len(row.g) > PSD_ENTRIES and _is_dense(row) for row in form.psd)


def _is_dense(row: PsdRow) -> bool:
    """Whether a matrix has too many nonzeros to be split along its pattern."""
    used = int(np.count_nonzero((np.diff(row.F.indptr) > 0) | (row.g != 0)))
    return used > PSD_SHARE * len(row.g)


def order(problem_class: ProblemClass, form: StandardForm) -> tuple[str, ...]:
    """Solvers for a model, first choice first."""
    names = ORDER[problem_class]
    if not is_large(problem_class, form):
        return names
    first = {LP: "clarabel", QP: "piqp", SDP: "scs"}[problem_class]
    return (first, *(name for name in names if name != first))


def reason(name: str, problem_class: ProblemClass, form: StandardForm) -> str:
    """What speaks for a solver, to follow its name and a colon."""
    key = (problem_class, name)
    known = _REASONS.get(key) or _SIZED_REASONS.get((*key, is_large(problem_class, form)))
    return known or f"it takes {problem_class} models without a licence"


# --- Which solver gets a model: the one that is named, checked, or the one that is preferred ------


_QUADRATIC = "gurobi"  # its interface takes what is not convex up to degree two


def capable(problem_class: ProblemClass) -> list[str]:
    """Installed solvers for a class that find their licence, preferred first."""
    infos = (SOLVERS[name] for name in ORDER[problem_class])
    return [i.name for i in infos if i.installed and not i.broken and not i.unlicensed()]


@dataclass(frozen=True)
class ChosenSolver:
    """The solver that gets a model, and why."""

    info: SolverInfo
    why: str = ""  # empty when the user named it
    how: str = ""  # such as "in dual form"

    @property
    def reason(self) -> str:
        """One sentence for the result; empty when the user named the solver."""
        way = f" {self.how}" if self.how else ""
        return f"auto took {self.info.name}{way}: {self.why}" if self.why else ""


def _no_exponential_cone(form: StandardForm) -> str:
    """Why the exponential cone does not hold a model beyond degree two; empty where it does."""
    read = exponential_form(form)
    if read is None:
        return f"{form.nonlinear[0].name} is not quadratic"
    if form.integer.any():
        return "its exponential cone takes no integers beside it"
    if read.form.nonlinear:
        return f"{read.form.nonlinear[0].name} is not convex by the exponential cone"
    kind = classify(read.form)
    return "" if kind.convex else kind.reason


def choose(
    solver: str,
    problem_class: ProblemClass,
    form: StandardForm,
    *,
    timed: bool = False,
    last: str | None = None,
    failed: Mapping[str, str] = MappingProxyType({}),
) -> ChosenSolver:
    """Resolve "auto" or check a named solver against the model, before anything is started.

    With a time limit (`timed`) "auto" takes a solver that it can stop; `last`, the solver of the
    second opinion, where no other can; and none that has `failed`, which says how each ended.

    Raises ValueError: unknown name.
    Raises SolverNotInstalledError, ProblemClassError, SizeLimitError, NumberError: each naming what
        would work.
    """
    info = None if solver == "auto" else solver_named(solver)

    # A semidefinite row beside integers or something that is not convex is for no solver.
    if form.psd and problem_class is not ProblemClass.SDP:
        beside = "something that is not convex: replace or relax that"
        if form.integer.any():
            name = form.columns.name(int(np.flatnonzero(form.integer)[0]))
            beside = (
                f'the integer variable {name}: take method="branch-and-bound", relax its domain to '
                "an interval"
            )
        raise ProblemClassError(
            f"no solver here takes the semidefinite row {form.psd[0].data.name} beside {beside}, "
            "or write the row with second-order cones"
        )
    if info is None:
        return _choose_automatically(problem_class, form, timed, last, failed)

    # The class, and for some solvers the model.
    known, why = problem_class in info.classes, ""
    beyond = known and form.nonlinear and info.name == _QUADRATIC
    if beyond:
        part = form.nonlinear[0]
        why = f"{part.name or part.ctype.__name__} is beyond degree two"
    elif not known and info.name == "clarabel" and form.nonlinear:
        why = _no_exponential_cone(form)
    elif not known and problem_class in info.by_name:
        Q = form.objective.Q
        known = Q.nnz == np.count_nonzero(Q.diagonal())
        why = "its objective has products of variables, and tangents are for squares alone"
    if beyond or not known:
        able = [n for n in capable(problem_class) if not (form.nonlinear and n == _QUADRATIC)]
        model = f"this {problem_class} model: {why}" if why else f"{problem_class} models"
        raise ProblemClassError(
            f"{info.name} cannot take {model}; installed solvers that can: "
            f"{', '.join(able) or 'none'}"
        )

    # What is installed, and the numbers.
    absent = _absence(info)
    if absent:
        raise SolverNotInstalledError(
            f"{absent}; installed solvers for {problem_class}: "
            f"{', '.join(capable(problem_class)) or 'none'}"
        )
    objection = _objection(info, problem_class, form)
    if objection is not None:
        raise objection
    return ChosenSolver(info)


def _absence(info: SolverInfo) -> str:
    """Why a solver cannot be called at all, with the command that mends it; empty if it can."""
    if not info.installed:
        return f"{info.name} is not installed (pip install {info.distribution})"
    if info.broken:
        mend = f"pip install --force-reinstall {info.distribution}"
        return f"{info.name} is installed and cannot be imported, {info.broken} ({mend})"
    return ""


def _choose_automatically(
    problem_class: ProblemClass,
    form: StandardForm,
    timed: bool,
    last: str | None,
    failed: Mapping[str, str],
) -> ChosenSolver:
    """The first free solver that is there and does not object; why the ones before it are not."""
    passed: list[str] = []  # solvers that are not taken, and why
    objections: list[RefusedError] = []
    for name in sorted(order(problem_class, form), key=lambda word: word == last):
        info = SOLVERS[name]
        if not info.free:
            continue
        if name in failed:
            passed.append(f"{name} {failed[name]}")
            continue
        if timed and name in CLOCKLESS:
            passed.append(f"no time limit can stop {name}")
            continue
        absent = _absence(info)
        objection = None if absent else _objection(info, problem_class, form)
        if not absent and objection is None:
            return ChosenSolver(info, "; ".join([reason(name, problem_class, form), *passed]))
        if objection is not None:
            objections.append(objection)
        passed.append((absent or str(objection)).partition(";")[0])
    if objections:
        raise objections[0]
    free = [SOLVERS[name].distribution for name in ORDER[problem_class] if SOLVERS[name].free]
    named = " or ".join(capable(problem_class))
    raise SolverNotInstalledError(
        f"no installed solver takes {problem_class} models{' of its own accord' if named else ''}; "
        f"install {' or '.join(free)}{f', or name {named}' if named else ''}"
    )


def _objection(
    info: SolverInfo, problem_class: ProblemClass, form: StandardForm
) -> RefusedError | None:
    limit = info.limits(form)
    if limit:
        others = [n for n in capable(problem_class) if not SOLVERS[n].limits(form)]
        return SizeLimitError(
            f"{info.name}: the model has {limit}; try {', '.join(others) or 'a smaller model'}"
        )
    low, high = info.coefficients
    entry = coefficient_outside(form, low, high)
    if entry:
        return NumberError(
            f"{info.name} would silently drop or reject {entry}; it keeps magnitudes between "
            f"{low:g} and {high:g}: scale the data (normalise=zscore), or use clarabel for "
            "continuous convex models"
        )
    return None
