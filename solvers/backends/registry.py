"""What each solver can take, under which limits, and how to get it."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

import numpy as np

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.printing import Printed
from tightmargin.solvers.standard_form.standard_form import StandardForm

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
