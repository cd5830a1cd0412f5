"""What each solver can take, under which limits, and how to get it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from formulations.catalogue import ProblemClass
from solvers.errors import NumberError, ProblemClassError, SizeLimitError, SolverNotInstalledError
from solvers.standard_form import StandardForm

LP, QP, SOCP, SDP = ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP
MILP, MIQP, MISOCP = ProblemClass.MILP, ProblemClass.MIQP, ProblemClass.MISOCP
LRCP, NONCONVEX = ProblemClass.LRCP, ProblemClass.NONCONVEX


@dataclass(frozen=True)
class SolverInfo:
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
    limits : callable(form) -> str
        Sentence naming the exceeded limit, or an empty string.
    unlicensed : callable() -> str
        Why the solver finds no licence here, or an empty string.
    """

    name: str
    package: str
    distribution: str
    classes: frozenset[ProblemClass]
    coefficients: tuple[float, float]
    licence: str
    limits: Callable[[StandardForm], str] = lambda form: ""
    unlicensed: Callable[[], str] = lambda: ""

    @property
    def installed(self) -> bool:
        """Whether the package can be imported here."""
        return importlib.util.find_spec(self.package) is not None

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
    rows = len(form.rows) + len(form.quadratic)
    most = 200 if form.is_quadratic else 2000
    if max(form.n, rows) <= min(most, 2000) or not gurobi_is_restricted():
        return ""
    if form.n > most:
        kind = "quadratic models" if form.is_quadratic else "linear models"
        return f"{form.n} variables, and its restricted licence takes {most} in {kind}"
    return f"{rows} rows, and its restricted licence takes 2000" if rows > 2000 else ""


SOLVERS = {
    info.name: info
    for info in (
        SolverInfo(
            "highs", "highspy", "highspy", frozenset({LP, QP, MILP}), (1e-9, 1e15), "MIT, free"
        ),
        SolverInfo(
            "clarabel", "clarabel", "clarabel", frozenset({LP, QP, SOCP, SDP}), (0.0, np.inf),
            "Apache 2.0, free",
        ),
        SolverInfo(
            "scip", "pyscipopt", "pyscipopt",
            frozenset({LP, QP, SOCP, MILP, MIQP, MISOCP, LRCP, NONCONVEX}), (1e-9, 1e15),
            "Apache 2.0, free",
        ),
        SolverInfo(
            "gurobi", "gurobipy", "gurobipy",
            frozenset({LP, QP, SOCP, MILP, MIQP, MISOCP, LRCP, NONCONVEX}), (1e-13, 1e15),
            "commercial; the wheel solves small models", _gurobi_limits,
        ),
        SolverInfo(
            "scs", "scs", "scs", frozenset({LP, QP, SOCP, SDP}), (0.0, np.inf), "MIT, free"
        ),
        SolverInfo("piqp", "piqp", "piqp", frozenset({QP}), (0.0, np.inf), "BSD 2-clause, free"),
        SolverInfo(
            "mosek", "mosek", "mosek", frozenset({LP, QP, SOCP, SDP, MILP, MIQP, MISOCP}),
            (1e-12, 1e20), "commercial; exports without one", unlicensed=mosek_unlicensed,
        ),
    )
}  # fmt: skip

# First choice first; measured in design, see README.
PREFERENCE: dict[ProblemClass, tuple[str, ...]] = {
    LP: ("highs", "clarabel", "scip", "gurobi", "scs", "mosek"),
    QP: ("clarabel", "scip", "gurobi", "piqp", "scs", "highs", "mosek"),
    SOCP: ("clarabel", "scs", "scip", "gurobi", "mosek"),
    SDP: ("clarabel", "scs", "mosek"),
    MILP: ("highs", "scip", "gurobi", "mosek"),
    MIQP: ("scip", "gurobi", "mosek"),
    MISOCP: ("scip", "gurobi", "mosek"),
    LRCP: ("scip", "gurobi"),
    NONCONVEX: ("scip", "gurobi"),
}


def capable(problem_class: ProblemClass) -> list[str]:
    """Installed solvers for a class that find their licence, preferred first."""
    return list(_capable(problem_class))


def _capable(problem_class: ProblemClass) -> Iterator[str]:
    """One at a time: asking the last ones for their licence takes a while."""
    for name in PREFERENCE[problem_class]:
        if SOLVERS[name].installed and not SOLVERS[name].unlicensed():
            yield name


def choose(solver: str, problem_class: ProblemClass, form: StandardForm) -> SolverInfo:
    """Resolve "auto" or check a named solver against the model, before anything is started.

    Raises
    ------
    ValueError
        Unknown name.
    SolverNotInstalledError, ProblemClassError, SizeLimitError, NumberError
        Each naming what would work.
    """
    if solver == "auto":
        return _choose_automatically(problem_class, form)
    if solver not in SOLVERS:
        raise ValueError(f"unknown solver {solver!r}; choose auto, {', '.join(SOLVERS)}")
    info = SOLVERS[solver]
    if problem_class not in info.classes:
        raise ProblemClassError(
            f"{solver} cannot take {problem_class} models; installed solvers that can: "
            f"{', '.join(capable(problem_class)) or 'none'}"
        )
    if not info.installed:
        raise SolverNotInstalledError(
            f"{solver} is not installed (pip install {info.distribution}); installed solvers for "
            f"{problem_class}: {', '.join(capable(problem_class)) or 'none'}"
        )
    objection = _objection(info, problem_class, form)
    if objection is not None:
        raise objection
    return info


def _choose_automatically(problem_class: ProblemClass, form: StandardForm) -> SolverInfo:
    objections = []
    for name in _capable(problem_class):
        objection = _objection(SOLVERS[name], problem_class, form)
        if objection is None:
            return SOLVERS[name]
        objections.append(objection)
    if objections:
        raise objections[0]
    names = " or ".join(SOLVERS[name].distribution for name in PREFERENCE[problem_class])
    raise SolverNotInstalledError(
        f"no installed solver takes {problem_class} models; install {names}"
    )


def _objection(
    info: SolverInfo, problem_class: ProblemClass, form: StandardForm
) -> Exception | None:
    limit = info.limits(form)
    if limit:
        others = [n for n in capable(problem_class) if not SOLVERS[n].limits(form)]
        return SizeLimitError(
            f"{info.name}: the model has {limit}; try {', '.join(others) or 'a smaller model'}"
        )
    low, high = info.coefficients
    entry = _coefficient_outside(form, low, high)
    if entry:
        return NumberError(
            f"{info.name} would silently drop or reject {entry}; it keeps magnitudes between "
            f"{low:g} and {high:g}: scale the data (normalise=zscore), or use clarabel for "
            "continuous convex models"
        )
    return None


def _coefficient_outside(form: StandardForm, low: float, high: float) -> str:
    """Name of a coefficient the solver would lose; those negligible in their row do not count."""
    costs = np.flatnonzero(np.abs(form.objective.a) >= high)
    if costs.size:
        j = int(costs[0])
        return f"the cost {form.objective.a[j]:.3g} of {form.columns[j].name} in the objective"
    sizes = np.abs(form.A.data)
    bad = np.flatnonzero(((sizes <= low) & ~negligible(form.A)) | (sizes >= high))
    if not bad.size:
        return ""
    k = int(bad[0])
    row = int(np.searchsorted(form.A.indptr, k, side="right") - 1)
    name = form.columns[form.A.indices[k]].name
    return f"the coefficient {form.A.data[k]:.3g} of {name} in row {form.rows[row].name}"


def negligible(A: sp.csr_matrix) -> NDArray[np.bool_]:
    """Rounding left by preprocessing: entries below 1e-9 and below 1e-13 of their row's largest."""
    sizes = np.abs(A.data)
    largest = np.zeros(A.shape[0])
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    np.maximum.at(largest, rows, sizes)
    return (sizes <= 1e-9) & (sizes < 1e-13 * largest[rows])
