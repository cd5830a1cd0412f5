"""What --method can mean for a formulation: searches and heuristics of our own, beside a solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from tightmargin.cuts.methods import SEARCHED, SEARCHES, solve_by_search
from tightmargin.cuts.nu_path.engines import SOLVERS_THAT_SEARCH
from tightmargin.solvers.matrix.methods import (
    MATRIX_SEARCH,
    SEARCHED_MATRIX,
    solve_by_matrix_search,
)
from tightmargin.solvers.model_building import entry_named
from tightmargin.solvers.multiclass.heuristic_methods import (
    ALTERNATING,
    BOUNDED_RANK,
    DCA,
    TRUNCATED,
    solve_by_alternating,
    solve_by_dca,
)
from tightmargin.solvers.multiclass.methods import (
    SEARCHED_CLASSES,
    TRUNCATED_SEARCH,
    solve_by_truncated_search,
)
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.rigorous_svm.methods import SEARCHED_RSVM, solve_by_rsvm
from tightmargin.solvers.rigorous_svm.path.path_result import METHODS as RSVM_METHODS
from tightmargin.solvers.soft_margin.methods import DESCENDED, SGD, solve_by_sgd
from tightmargin.solvers.zero_one.methods import (
    CONFLICT_SEARCH,
    SEARCHED_ZERO_ONE,
    solve_by_conflicts,
)

AUTO, DIRECT = "auto", "direct"


@dataclass(frozen=True)
class Methods:
    """Methods of our own for some formulations.

    Attributes
    ----------
    entries, names : tuple of str
        Formulations, and the words after --method; "auto" among them is taken when none is named.
    run : callable(model, **limits) -> SolveResult
        Takes time_limit, threads and seed, and the word as its second argument where `named`.
    help : str
        For solve --help.
    named : bool
        Whether `run` has several methods and is told which.
    free_only : bool
        Whether "auto" is for a free intercept alone.
    ends_near_zero : bool
        Whether optima may be nearly 0, so that `run` takes an absolute gap.
    """

    entries: tuple[str, ...]
    names: tuple[str, ...]
    run: Callable[..., SolveResult]
    help: str
    named: bool = False
    free_only: bool = False
    ends_near_zero: bool = False


OWN = (
    Methods(
        tuple(SEARCHED),
        tuple(SEARCHES),
        solve_by_search,
        "For the extended nu-SVC and its forms auto (by default), branch-and-cut, hull and "
        "cutting-plane prove the global optimum; local proves nothing; scip or gurobi gets the "
        "model.",
        named=True,
        ends_near_zero=True,
    ),
    Methods(
        SEARCHED_ZERO_ONE,
        (CONFLICT_SEARCH,),
        solve_by_conflicts,
        f"For the 0-1 loss {CONFLICT_SEARCH} proves the optimum without a solver.",
    ),
    Methods(
        SEARCHED_RSVM,
        tuple(RSVM_METHODS),
        solve_by_rsvm,
        f"For the rigorous SVM with a free intercept {', '.join(RSVM_METHODS)} (auto by default) "
        "prove it.",
        named=True,
        free_only=True,
        ends_near_zero=True,
    ),
    Methods(
        DESCENDED,
        (SGD,),
        solve_by_sgd,
        f"{SGD} descends to the soft margin without intercept.",
    ),
    Methods(
        TRUNCATED,
        (DCA,),
        solve_by_dca,
        f"{DCA} (truncated hinge) and {ALTERNATING} (bounded rank) give a good point and no proof, "
        "with the bound of a relaxation.",
    ),
    Methods(
        SEARCHED_CLASSES,
        (TRUNCATED_SEARCH,),
        solve_by_truncated_search,
        f"{TRUNCATED_SEARCH} proves the optimum of the truncated hinge without a solver.",
    ),
    Methods(BOUNDED_RANK, (ALTERNATING,), solve_by_alternating, ""),
    Methods(
        SEARCHED_MATRIX,
        (MATRIX_SEARCH,),
        solve_by_matrix_search,
        f"{MATRIX_SEARCH} proves the optimum for ranks 1 and one below full, without a solver.",
    ),
)

HELP = " ".join(
    ("direct: the whole model goes to the solver.", *(own.help for own in OWN if own.help))
)


def methods_of(name: str) -> tuple[str, ...]:
    """Every word that --method takes for a formulation."""
    words = [word for own in _of(name) for word in own.names]
    by_solver = SOLVERS_THAT_SEARCH if name in SEARCHED else ()
    return (DIRECT, *words, *by_solver)


def own_method(name: str, method: str, *, absolute_gap: float = 0.0) -> Callable[..., SolveResult]:
    """What runs a method that is not direct: a function of the model and its limits."""
    for own in _of(name):
        if method in own.names:
            run = _told(own, method) if own.named else own.run
            if not absolute_gap:
                return run
            if not own.ends_near_zero:
                raise ValueError(f"--absolute-gap: no optimum that {method} proves is nearly 0")
            return partial(run, absolute_gap=absolute_gap)
    raise ValueError(f"{name} has no method {method!r}; it has {', '.join(methods_of(name))}")


def _told(own: Methods, method: str) -> Callable[..., SolveResult]:
    return lambda model, **limits: own.run(model, method, **limits)


def chosen_method(
    name: str, method: str | None, solver: str, *, by_solver: bool, intercept: str = "free"
) -> tuple[str, str]:
    """Method and solver of a solve.

    Parameters
    ----------
    by_solver : bool
        Whether something was asked for that only a solver has: a second one, or its own process.
    intercept : str
        Of the model; the methods of the rigorous SVM take the free one.

    Returns
    -------
    (method, solver)
        The method is "direct" or a word of `OWN`.

    Raises
    ------
    ValueError
        A method that does not belong to the formulation, or to what else was asked for.
    """
    able = methods_of(entry_named(name).name)
    if method is None:
        ours = any(
            AUTO in own.names and (not own.free_only or intercept == "free") for own in _of(name)
        )
        method = AUTO if ours and solver == "auto" and not by_solver else DIRECT
    if method not in able:
        raise ValueError(f"{name} has no method {method!r}; it has {', '.join(able)}")
    if method in SOLVERS_THAT_SEARCH:
        if solver not in ("auto", method):
            raise ValueError(f"--method {method} and --solver {solver} name two solvers: leave one")
        return DIRECT, method
    if method != DIRECT and (solver != "auto" or by_solver):
        raise ValueError(
            f"--method {method} is a search of our own: --solver, --second-solver and --isolate "
            f"belong to --method {DIRECT}"
        )
    return method, solver


def _of(name: str) -> Iterator[Methods]:
    return (own for own in OWN if name in own.entries)
