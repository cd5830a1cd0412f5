"""The outer loop of Takeda & Sugiyama's Algorithm 10, on the polytope where cuts are meaningful.

Each round looks for a local solution, the longest weight along itself on what the cuts have left
of P, and cuts it off; when the linear relaxation has no point left, nothing is longer than gamma
and the best point is optimal. As printed the algorithm leaves open what is done at a vertex that
only cuts make, adds inhomogeneous cuts to a program normalised by <w_ref, w> = 1, and ends when "no
face remains", for which it has no test; see cuts/relaxation/relaxation.py,
cuts/generation/facial.py and, for such a test, cuts/generation/remaining_faces.py.

Where rounding leaves the cuts no way on, as in a polytope that is a needle, branch and cut over
boxes goes on from the best point, and the result says so.

    strategy "concavity"   a concavity cut at every vertex
    strategy "literal"     concavity cuts at corners of P, facial cuts at its proper faces, and a
                           concavity cut wherever no facial cut can be had; `no_face_left` is where
                           it stops, and what follows proves that nothing is left
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from tightmargin.cuts.cut.polar_problem import polar_problem
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult
from tightmargin.cuts.outer_loop.run import LoopRun
from tightmargin.cuts.search.run import given_weights
from tightmargin.formulations.data.training_data import GramData, TrainingData, reads_dense_points
from tightmargin.formulations.parameters import one_of
from tightmargin.solvers.engines.running import checked_limits

STRATEGIES = ("concavity", "literal")
SPACES = ("projected", "lifted")


@reads_dense_points
def cutting_plane(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
    strategy: str = "concavity",
    space: str = "projected",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    round_limit: int = 100_000,
    starts: int = 5,
    least_depth: float = 1e-6,
    seed: int = 0,
    debug_solution: ArrayLike | None = None,
) -> CuttingPlaneResult:
    """Solve the extended nu-SVC to a proven global optimum by cuts alone.

    Practical for up to three features, and four with few points; what is reached grows
    exponentially beyond.

    Parameters
    ----------
    data : TrainingData or GramData
        Points and labels; of a kernel matrix its factor has the points.
    nu : float
        Below nu_bar, where the problem is not convex; `tm.theory.nu_range` has it.
    class_balance : "uniform", "balanced" or array (n,)
        Weights c_i of the losses, as for extended_nu_svc.
    intercept : "free", "penalised" or "none"
        As for extended_nu_svc.
    seed : int
        Of what is drawn at random; the same seed gives the same result.
    strategy : "concavity" or "literal"
        See the module's docstring.
    space : "projected" or "lifted"
        Cuts over w, or over (w, b, rho, xi). At nu_max, where a class gives all its weight and its
        level may rise at no cost, there are only cuts over w.
    tolerance : float
        Relative: a solution better by less than that may be cut off.
    time_limit : float, optional
        Seconds; the best point and a proven bound are returned all the same, as after Ctrl-C.
    round_limit : int
        Most cuts.
    starts : int
        Local searches before the first cut.
    least_depth : float
        Distance from a vertex to its cut over gamma, or violation there over the size of the row's
        terms: cuts with less of both are refused, and where there are no others boxes go on.
    debug_solution : array (k,) or (m, k), optional
        Weights whose directions are known, that of an optimum say. Each cut is checked to keep
        those that are better than all cuts so far may lose, and a facial cut to keep any corner.

    Raises
    ------
    ValueError
        As extended_nu_svc_polar: nu at or above nu_bar, dependent features; bad arguments.
    InvalidCutError
        A cut that removes a known point, named with the point.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.cutting_plane(data, nu=0.1)
    >>> found.best.objective - found.bound < 1e-5
    True
    """
    one_of("strategy", strategy, STRATEGIES)
    one_of("space", space, SPACES)
    if strategy == "literal" and space == "lifted":
        raise ValueError("strategy=literal has its faces in the projected space: space=projected")
    limits = checked_limits(time_limit, None, seed)
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance must lie between 0 and 1, got {tolerance!r}")
    if not 0 <= least_depth < 1:
        raise ValueError(f"least_depth must lie in [0, 1), got {least_depth!r}")
    if starts < 1 or round_limit < 0:
        raise ValueError(
            "starts must be at least 1, and round_limit not negative; got "
            f"starts={starts!r}, round_limit={round_limit!r}"
        )
    problem = polar_problem(data, nu=nu, class_balance=class_balance, intercept=intercept)
    known = [
        problem.onto_boundary(point)
        for point in given_weights(problem, debug_solution, "debug_solution")
    ]
    if problem.hulls.exhausted:
        space = "projected"
    run = LoopRun(
        problem, strategy, space, tolerance, limits.time_limit, round_limit, starts, least_depth,
        seed, known,
    )  # fmt: skip
    return run.result()
