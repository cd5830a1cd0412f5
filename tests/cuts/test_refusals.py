"""What the searches, cuts, separators and paths of this room refuse, by a word that must appear."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.cuts import Kind, scaled_cut, separated
from tests.inside.formulations import closed_slack_bounds, pair_norms
from tests.inside.solvers import choice, tail_difference
from tests.inside.solvers import simplicial_halves as halves
from tests.references.reference_solutions import points
from tests.support import concave_models as models
from tests.support.point_clouds import below_nu_bar, cloud
from tests.support.separations import cover, master
from tightmargin.formulations import TrainingData
from tightmargin.solvers import NumberError

Row = tuple[Callable[[], Any], type[BaseException], str]
DATA = cloud(1, 30, 2)
NU = below_nu_bar(DATA, 0.5)
WIDE = cloud(1, 60, 8)
DOUBLED = TrainingData(np.column_stack([DATA.X, DATA.X[:, 0]]), DATA.y)
SEPARABLE = points("separable", 0)
EIGHT = TrainingData(np.random.default_rng(0).standard_normal((8, 2)), [1, -1] * 4)
WEIGHTED = tm.TrainingData(EIGHT.X, EIGHT.y, sample_weight=np.arange(1.0, 9.0))


def refused(call: Any, word: str, error: type[BaseException] = ValueError, **words: Any) -> Row:
    return partial(call, **words), error, word


def rows(call: Any, *cases: tuple[str, dict[str, Any]], **same: Any) -> list[Row]:
    return [refused(call, word, **same | words) for word, words in cases]


SEARCHES: list[Row] = []
for search in (tm.cuts.branch_and_cut, tm.cuts.hull_search, tm.cuts.cutting_plane):
    SEARCHES += rows(
        search,
        ("extended_nu_svc_ball", {"nu": below_nu_bar(DATA, 1.1)}),
        ("at nu_bar", {"nu": below_nu_bar(DATA, 1.0)}),
        ("the classes are separable", {"data": SEPARABLE, "nu": 0.3}),
        ("affinely dependent", {"data": DOUBLED, "nu": 0.1}),
        ("tolerance", {"tolerance": 0.0}),
        ("time_limit", {"time_limit": 0.0}),
        data=DATA, nu=NU,
    )  # fmt: skip
SEARCHES += rows(
    partial(tm.cuts.branch_and_cut, DATA, nu=NU),
    ("absolute in", {"absolute": -1.0}), ("starts", {"starts": 0}),
    ("node_limit", {"node_limit": 0}), ("cut_limit", {"cut_limit": -1}), ("seed", {"seed": -1}),
    ("start must hold 2 finite numbers", {"start": [[1.0, np.nan]]}),
    ("debug_solution: a weight of 0", {"debug_solution": [0.0, 0.0]}),
)  # fmt: skip
SEARCHES += rows(
    tm.cuts.hull_search,
    ("take branch_and_cut", {"data": WIDE, "nu": below_nu_bar(WIDE, 0.5)}),
    ("round_limit", {"round_limit": 0}),
    ("start must hold 2 finite numbers", {"start": [1.0, 2.0, 3.0]}),
    ("has no direction", {"start": [0.0, 0.0]}),
    data=DATA, nu=NU,
)  # fmt: skip
SEARCHES += rows(
    partial(tm.cuts.cutting_plane, DATA, nu=NU),
    ("strategy", {"strategy": "facial"}), ("space", {"space": "w"}), ("starts", {"starts": 0}),
    ("seed", {"seed": -1}), ("2 finite", {"debug_solution": [1.0]}),
    ("no direction", {"debug_solution": [0.0, 0.0]}),
    ("projected", {"strategy": "literal", "space": "lifted"}), ("least_depth", {"least_depth": 2}),
)  # fmt: skip


def never(*given: Any) -> Any:
    raise AssertionError("nothing to search for")


def profile(nus: list[float]) -> Any:
    path = tm.cuts.extended_nu_path(points("separable", 2), [0.95], engine=never)
    return tm.cuts.cvar_profile(path, nus)


PATHS = rows(
    tm.cuts.extended_nu_path,
    ("nus is empty", {"nus": []}), ("nu must lie in (0, 1]", {"nus": [0.3, 1.2]}),
    ("nu must be a positive", {"nus": [0.0]}), ("tolerance must lie above 0", {"tolerance": 0.0}),
    ("method must be one of auto", {"engine": "luck"}), ("rank 2 of 3", {"data": DOUBLED}),
    data=DATA, nus=[0.3], engine=never,
)  # fmt: skip
PATHS += rows(
    profile,
    ("nu must lie in (0, 0.95]", {"nus": [0.5, 0.96]}),
    ("nu must lie in (0, 0.95]", {"nus": [0.0]}),
)


def as_built(change: Callable[[Any], Any] | None = None) -> pyo.ConcreteModel:
    model = tm.extended_nu_svc(DATA, nu=NU)
    if change is not None:
        change(model)
    return model


def with_row(build: Callable[[Any], Any]) -> Callable[[], pyo.ConcreteModel]:
    return lambda: as_built(lambda m: setattr(m, "more", pyo.Constraint(expr=build(m))))


def at_nu_bar() -> pyo.ConcreteModel:
    return tm.extended_nu_svc_reverse(DATA, nu=tm.theory.nu_range(DATA).nu_bar)


def solving(model: Callable[[], pyo.ConcreteModel], word: str, **words: Any) -> Row:
    return lambda: tm.solve(model(), **words), ValueError, word


MODELS = [
    solving(with_row(lambda m: m.w[0] >= 0), "as it was built", method="hull"),
    solving(lambda: tm.c_svc(DATA, C=1.0), "c_svc has no method 'hull'; it has", method="hull"),
    solving(as_built, "did you mean hull", method="hul"),
    solving(as_built, "there is no method 'cuts'", method="cuts"),
    solving(at_nu_bar, "a solver gets the model", method="hull"),
    solving(as_built, "takes no time limit", method="local", time_limit=3.0),
    solving(as_built, "time_limit", method="hull", time_limit=-1.0),
    solving(lambda: tm.extended_nu_svc_polar(DATA, nu=0.9), "extended_nu_svc_ball"),
    solving(lambda: tm.extended_nu_svc_reverse(DATA, nu=0.9), "extended_nu_svc_ball"),
    solving(
        with_row(lambda m: m.w[0] * m.w[1] <= 0.1),
        "does not take this model: row more is neither convex nor reverse", method="branch-and-cut",
    ),
    solving(
        lambda: as_built(lambda m: setattr(m.w[0], "domain", pyo.Integers)),
        "w[0] is integer", method="branch-and-cut",
    ),
]  # fmt: skip


TEN = points("overlapping", 1, n=10)


def edited_robust() -> pyo.ConcreteModel:
    model = tm.extended_robust_svc(TEN, nu=0.6, mu=0.1)
    model.z[0].fix(0)
    return model


def tail(top: float = 1.0, **words: Any) -> Any:
    stated = {"most": 4, "left_out": 1, "in_ball": 2, "box": 1.0} | words
    return tail_difference(np.full((9, 3), top), **stated)


def halved_often() -> None:
    cone = np.eye(2, dtype=object).astype(np.int64)
    for _ in range(140):  # Fibonacci's numbers
        cone = halves(cone, 0, 1, 0)[0][:, ::-1]


FIFTEEN = tm.TrainingData(np.random.default_rng(0).standard_normal((8, 15)), [1, -1] * 4)
ROBUST = rows(
    tm.cuts.robust_search,
    ("mu must be a whole number", {"mu": 0.15}), ("mu must be below nu", {"nu": 0.1}),
    ("intercept", {"intercept": "some"}), ("gap", {"gap": 0.0}),
    ("nu + mu must be below", {"nu": 0.9, "intercept": "free"}),
    ("incumbent", {"incumbent": (np.zeros(3), 0.0)}),
    ("weight", {"data": WEIGHTED, "mu": 1 / 8}),
    ("15 numbers", {"data": FIFTEEN, "nu": 0.5, "mu": 0.0, "intercept": "none"}),
    data=TEN, nu=0.6, mu=0.2,
)  # fmt: skip
ROBUST += [
    solving(
        lambda: tm.extended_robust_svc(FIFTEEN, nu=0.5, mu=0.125),
        "16 numbers, and the search takes 14 at most", method="robust-search",
    ),
    solving(
        edited_robust, "robust-search takes a model of extended_robust_svc as",
        method="robust-search",
    ),
    refused(tm.extended_robust_svc, "weight", data=WEIGHTED, nu=0.9, mu=0.5),
    *rows(
        tail, ("does not hold", {"most": 1}), ("does not hold", {"left_out": 9}),
        ("in the ball", {"in_ball": 0}), ("coordinates in the ball, -1", {"box": -1.0}),
        ("entries above 1", {"top": 2.0}),
    ),
    refused(lambda: halves(np.eye(4), 1, 1, 0), "between generators"),
    refused(halved_often, "finely"),
]  # fmt: skip


def nowhere() -> Any:
    start = closed_slack_bounds(EIGHT, penalty=1.0, intercept="penalised", slack=1e-4)
    wrong = replace(start, upper=np.zeros(8), proof="stated")
    return tm.cuts.tighten(EIGHT, penalty=1.0, intercept="penalised", bounds=wrong)


BOUNDS = closed_slack_bounds(EIGHT, penalty=1.0, intercept="penalised")
TIGHTENING = rows(
    tm.cuts.tighten,
    ("penalty must be a positive finite number", {"penalty": 0.0}),
    ("did you mean free", {"intercept": "fre"}),
    ("relaxation must be one of both, qp, sdp", {"relaxation": "sdpp"}),
    ("rounds must be a whole number not below 0, got -1", {"rounds": -1}),
    ("rounds must be a whole number not below 0, got 1.5", {"rounds": 1.5}),
    ("slack must be at least 0.0001, got nan", {"slack": float("nan")}),
    ("slack must be at least 0.0001, got 0.0: a cutoff at", {"slack": 0.0}),
    ("time_limit must be a positive finite number", {"time_limit": -1.0}),
    ("incumbent must be", {"incumbent": (np.zeros(5), 0.0)}),
    data=EIGHT, penalty=1.0, intercept="free",
)  # fmt: skip
TIGHTENING += [
    refused(nowhere, "bounds hold at no optimum"),
    *rows(
        partial(separated, BOUNDS, EIGHT, penalty=1.0, intercept="penalised"),
        ("z must be 8 finite numbers", {"z": np.zeros(3)}),
        ("z must be 8 finite numbers", {"z": np.full(8, np.nan)}),
    ),
    refused(partial(tm.cuts.with_conflicts, BOUNDS, EIGHT), "penalty must be",
            penalty=-1.0, intercept="penalised"),
    refused(partial(pair_norms, EIGHT, "fixed"), "intercept must be one of"),
]  # fmt: skip


@functools.cache
def cut(space: str) -> tm.cuts.Cut:
    return tm.cuts.cutting_plane(DATA, nu=NU, round_limit=2, starts=1, space=space).cuts[0]


def scaling(numbers: list[float], rhs: float, word: str) -> Row:
    row = {"w": np.array(numbers)}
    return lambda: scaled_cut(Kind.CONCAVITY, row, rhs, cut("projected").origin), NumberError, word


def added(space: str, model: Callable[[], pyo.ConcreteModel], word: str, times: int = 1) -> Row:
    def call() -> None:
        built = model()
        for _ in range(times):
            cut(space).add_to(built, name="first")

    return call, ValueError, word


def foreign() -> pyo.ConcreteModel:
    model = pyo.ConcreteModel()
    model.w = pyo.Var(range(3))
    return model


CUTS = [
    scaling([1.0, 1e-10], 1.0, "least coefficient 1e-10"),
    scaling([1.0, np.nan], 1.0, "largest coefficient nan"),
    scaling([np.inf, 1.0], 1.0, "largest coefficient inf"),
    scaling([0.0, 0.0], 1.0, "largest coefficient 0.0"),
    scaling([1e-6, 0.0], 1e10, "right-hand side 1e+16"),
    scaling([1.0, 0.0], np.nan, "the side nan"),
    *rows(
        lambda **point: cut("lifted").violation(point),
        ("variable xi", {"w": [1.0, 2.0]}), ("w has shape", {"w": [1.0], "xi": np.zeros(30)}),
        b=0.0, rho=0.0,
    ),
    added("lifted", lambda: tm.extended_nu_svc_polar(DATA, nu=NU * 1.01), "other data"),
    added("lifted", lambda: tm.extended_nu_svc(cloud(2, 30, 2), nu=NU), "other data"),
    added("lifted", lambda: tm.min_cvar(DATA, beta=1 - NU), "no variable rho"),
    added("projected", lambda: tm.min_cvar(DATA, beta=1 - NU), "pass level"),
    added("projected", foreign, "2 coefficients for w, the model 3"),
    added("lifted", lambda: tm.extended_nu_svc_polar(DATA, nu=NU), "a component first", times=2),
]  # fmt: skip


SQUARE, ROWS_9, ROWS_11 = (models.Polytope(np.ones((1, n)), np.ones(1), 1.0) for n in (2, 9, 11))
PROGRAM = models.concave_model(SQUARE, np.diag([1.0, 0.0]), np.zeros(2))
NINE = models.concave_model(ROWS_9, np.diag(np.arange(1.0, 10)), np.zeros(9))
QUADRATIC_ROW = models.lrcp_model(ROWS_9, np.ones(9), np.eye(9), np.zeros(9), 1.0)
ELEVEN = models.concave_model(ROWS_11, np.eye(11), np.zeros(11))


def minimising(change: Callable[[pyo.ConcreteModel], Any], objective: Any, word: str) -> Row:
    """A model of two variables in [0, 1] with one thing in it that is refused."""

    def call() -> Any:
        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(2), bounds=(0, 1))
        model.far = pyo.Constraint(expr=change(model))
        model.goal = pyo.Objective(expr=objective(model))
        return tm.cuts.minimise_concave(model)

    return call, ValueError, word


def whole(m: Any) -> Any:
    m.whole = pyo.Var(within=pyo.Integers, bounds=(0, 3))
    return m.whole <= 2


convex = lambda m: m.x[0] + m.x[1] <= 2  # noqa: E731
square = lambda m: -(m.x[0] ** 2)  # noqa: E731


def function_of(f: Any, gradient: Any, word: str, error: Any = ValueError, **words: Any) -> Row:
    """A function of Python over the square, or over a model that is given."""

    def call() -> Any:
        model = words.pop("model", None) or models.linear_model(SQUARE)
        given = {"variables": model.x} | words
        if "objective" in given:
            model.goal = pyo.Objective(expr=given.pop("objective")(model))
        return tm.cuts.minimise_concave(model, f, gradient, **given)

    return call, error, word


minus_square = lambda x: -float(x @ x)  # noqa: E731
slope = lambda x: -2 * x  # noqa: E731


def two_reasons() -> Any:
    model = models.concave_model(SQUARE, np.eye(2), np.zeros(2))
    model.far = pyo.Constraint(expr=model.x[0] ** 2 + model.x[1] ** 2 >= 1)
    return tm.cuts.solve_lrcp(model)


CONCAVE = [
    refused(two_reasons, "a quadratic objective"),
    minimising(whole, square, "variable whole is integer"),
    minimising(convex, lambda m: square(m) + 0.5 * m.x[1] ** 2, "the objective is not concave"),
    minimising(convex, lambda m: -(m.x[0] ** 3), "beyond degree two"),
    minimising(
        lambda m: m.x[0] ** 2 - m.x[1] ** 2 <= 1, square,
        "row far is neither convex nor reverse convex",
    ),
    minimising(lambda m: (1, m.x[0] ** 2 + m.x[1] ** 2, 2), square, "row far is not convex"),
    minimising(lambda m: m.x[0] ** 2 + m.x[1] ** 2 >= 1, square, "row far is not convex"),
    minimising(convex, lambda m: m.x[0] + m.x[1], "the model is convex"),
    refused(partial(tm.cuts.minimise_concave, "model"), "got str", TypeError),
    *rows(
        partial(tm.cuts.minimise_concave, PROGRAM),
        ("node_limit", {"options": {"node_limit": 0}}),
        ("node_limits", {"options": {"node_limits": 3}}),
        ("did you mean inner-hull", {"method": "inner-hul"}),
        ("cut_limit", {"method": "cutting-plane", "options": {"cut_limit": -1}}),
        ("strategy must be one of concavity, literal",
         {"method": "cutting-plane", "options": {"strategy": "facial"}}),
    ),
    refused(
        partial(tm.cuts.minimise_concave, ELEVEN), "11 variables", method="cutting-plane"
    ),
    refused(
        partial(tm.cuts.minimise_concave, NINE), "9 concave directions", method="inner-hull"
    ),
    refused(partial(tm.cuts.solve_lrcp, QUADRATIC_ROW), "a quadratic row", method="inner-hull"),
    refused(partial(tm.cuts.solve_lrcp, PROGRAM), "0 reverse convex rows"),
    function_of(lambda x: float(x @ x), lambda x: 2 * x, "not concave between"),
    function_of(minus_square, lambda x: 2 * x, "gradient: the tangent"),
    function_of(lambda x: math.nan, lambda x: x, "the function is nan"),
    function_of(minus_square, lambda x: [1.0], "gradient must give 2"),
    function_of(minus_square, None, "gradient must be a function", TypeError),
    function_of(3, slope, "objective must be a function", TypeError),
    function_of(minus_square, slope, "variables", variables=None),
    function_of(minus_square, slope, "method direct takes no function", method="direct"),
    function_of(minus_square, slope, "an objective of its own", objective=lambda m: m.x[0]),
    function_of(
        minus_square, slope, "empty, or unbounded",
        model=models.linear_model(models.Polytope(np.ones((1, 2)), np.ones(1), None)),
    ),
]  # fmt: skip


def benders(word: str, *names: str, data: Any = EIGHT, binary: bool = True, **words: Any) -> Row:
    def call() -> Any:
        model = master(8, binary=binary)
        given = [getattr(model, name) for name in names or ("z", "norm2")]
        return tm.cuts.combinatorial_benders(data, *given, **{"intercept": "free"} | words)

    return call, ValueError, word


LOSS = tm.zero_one_big_m(EIGHT, penalty=0.7, big_m=50.0, intercept="penalised")
ALONG = tm.extended_nu_svc_polar(DATA, nu=NU)
ALONG.objective.deactivate()
ALONG.along = pyo.Objective(expr=-ALONG.w[0] - ALONG.w[1])


def no_vertices(*, integer: bool) -> Any:
    model = ALONG.clone()
    if integer:
        model.k = pyo.Var(within=pyo.Binary)
        model.tie = pyo.Constraint(expr=model.k + model.w[0] <= 100)
    return tm.separate(model, tm.cuts.concavity(model, known=[1.0, 0.0]), engine="branch-and-bound")


SEPARATORS = [
    benders("z must be a variable with 8 elements", "norm2", "norm2"),
    benders("norm2 must be a single variable", "z", "z"),
    benders("intercept", intercept="some"),
    benders("z must be binary", binary=False),
    benders("weight", data=WEIGHTED),
    *rows(
        lambda model, z, cutoff: tm.cuts.conflicts(model, z, cutoff=cutoff),
        ("cutoff must be", {"cutoff": math.inf}), ("z must be binary", {"z": LOSS.w}),
        ("must be a variable of the model", {"model": LOSS.clone()}),
        model=LOSS, z=LOSS.z, cutoff=1.0,
    ),
    refused(partial(no_vertices, integer=False), "no integer variables",
            tm.errors.ProblemClassError),
    refused(partial(no_vertices, integer=True), "take engine=live or highs or sc"),
    refused(partial(tm.cuts.concavity, tm.c_svc(DATA, C=1.0)),
            "must be one of extended_nu_svc_polar", known=[1.0, 0.0]),
    refused(partial(tm.cuts.facial, ALONG), "known", known=[1.0, 0.0, 0.0]),
]  # fmt: skip


def separating(model: Any = None, **words: Any) -> Any:
    own, two = cover()
    return tm.separate(own if model is None else model, **{"f": two} | words)


def answering(answer: Callable[[Any], Any], error: type[BaseException], word: str) -> Row:
    """A separator named `odd` that returns what is no list of rows."""

    def call() -> Any:
        model, _ = cover()

        def odd(point: Any) -> Any:
            return answer(model)

        return tm.separate(model, odd)

    return call, error, word


FLAT = pyo.ConcreteModel()
FLAT.x = pyo.Var(bounds=(0, 1))
FLAT.objective = pyo.Objective(expr=FLAT.x)
SDP = tm.conic_sdp(tm.TrainingData([[0.0], [1.0]], [-1, 1]), penalty=1.0)

SEPARATING = rows(
    separating,
    ("z has 3 elements, got 2", {"debug": {"z": [1, 1]}}),
    ("no variable 'zz'", {"debug": {"zz": [1, 1, 0]}}), ("no number for z[0]", {"debug": {}}),
    ("no point of the model", {"debug": {"z": [2, 1, 1]}}),
    ("must map variable names", {"debug": [1, 1, 0]}), ("engine", {"engine": "cplex"}),
    ("tolerance must lie", {"tolerance": 0}), ("row_limit must be", {"row_limit": 0}),
    ("time_limit must be positive", {"time_limit": -1}), ("prove must be", {"prove": "yes"}),
    ("no_such", {"options": {"no_such": 1}}), ("f is an empty sequence", {"f": []}),
)  # fmt: skip
SEPARATING += rows(
    separating,
    ("engine live is for linear programs", {"engine": "live"}),
    ("no integer variables", {"model": FLAT, "engine": "branch-and-bound"}),
    ("scip cannot take SDP models", {"model": SDP, "engine": "scip"}),
    ("highs cannot take SDP models", {"model": SDP, "engine": "highs"}),
    ("this model is of class SDP", {"model": SDP, "engine": "live"}),
    error=tm.errors.ProblemClassError,
)
SEPARATING += [
    refused(separating, "f must be a function", TypeError, f=3),
    answering(lambda m: None, TypeError, "odd returned NoneType: it must return a list"),
    answering(lambda m: m.z[0] >= 1, TypeError, "it must return a list of rows"),
    answering(lambda m: [0 >= 1], TypeError, "two numbers were compared"),
    answering(lambda m: ["z >= 1"], TypeError, "is of type str"),
    answering(lambda m: [m.z[0] * m.z[1] >= 1], ValueError, "is not linear"),
    answering(lambda m: [m.z[0] - m.z[0] >= 1], ValueError, "no variable that is free"),
    answering(lambda m: [float("nan") * m.z[0] >= 1], ValueError, "nan"),
    answering(lambda m: [m.z[0] + LOSS.z[1] >= 1], ValueError, "variable z[1] of another model ("),
]

TABLE = [
    *SEARCHES, *PATHS, *MODELS, *ROBUST, *TIGHTENING, *CUTS, *CONCAVE, *SEPARATORS, *SEPARATING,
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "word"), TABLE, ids=[row[2] for row in TABLE])
def test_it_is_refused_by_name(
    call: Callable[[], Any], error: type[BaseException], word: str
) -> None:
    with pytest.raises(error, match=re.escape(word)):
        call()


def test_a_missing_gurobi_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_absence", lambda info: f"{info.name} is not installed")
    model, two = cover()
    with pytest.raises(tm.errors.SolverNotInstalledError, match="gurobi is not installed"):
        tm.separate(model, two, engine="gurobi")
