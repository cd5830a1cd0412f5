"""Global searches below nu_bar behind one signature, for Algorithm 11 to call.

Each engine is bound to the weights of the loss, the treatment of the intercept and its limits, and
is then a function of the data, nu and weights to start from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.cuts.inner_hull.hull_search import hull_search
from tightmargin.cuts.outer_loop.cutting_plane import cutting_plane
from tightmargin.cuts.search.result import SearchResult
from tightmargin.cuts.spatial_branching.branch_and_cut import branch_and_cut
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.nu.extended import extended_nu_svc
from tightmargin.formulations.parameters import one_of
from tightmargin.solvers.solve import solve


class Search(NamedTuple):
    """What an engine found for one nu below nu_bar.

    weight (k,): w, or (w, b) with a penalised intercept; of any length but 0.
    objective: of extended_nu_svc at its direction.
    bound: on the optimum over ||w|| = 1: proven.
    stop: why the search ended, in a word.
    claimed_bound: a higher bound that is a solver's word.
    """

    weight: Array
    objective: float
    bound: float
    stop: str
    claimed_bound: float | None = None


# (data, nu, weights of norm 1 to start from, best first) -> what was found
Engine = Callable[[TrainingData, float, Sequence[Array]], Search]


@dataclass(frozen=True)
class ProvingEngine:
    """A search whose bounds are proven, as those of this project are; a plain function claims."""

    search: Engine

    def __call__(self, data: TrainingData, nu: float, starts: Sequence[Array]) -> Search:
        """Search."""
        return self.search(data, nu, starts)


SOLVERS_THAT_SEARCH = ("scip", "gurobi")
METHODS = ("auto", "branch-and-cut", "hull", "cutting-plane", *SOLVERS_THAT_SEARCH)
HULL_UP_TO = 3  # dimensions, for "auto": beyond, the facets of a hull may be too many


def search_engine(
    method: str,
    *,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
) -> ProvingEngine:
    """Bind an engine to its problem.

    method: one of `METHODS`; "auto" is the hull up to three dimensions, and branch and cut beyond
        and where Qhull gives up.
    tolerance: relative gap that ends a search; the solvers have their own.
    time_limit: seconds for each nu.
    Raises ValueError: a method that is not known.
    """
    one_of("method", method, METHODS)
    common: dict[str, Any] = {
        "class_balance": class_balance,
        "intercept": intercept,
        "tolerance": tolerance,
        "time_limit": time_limit,
    }

    def by_boxes(data: TrainingData, nu: float, starts: Sequence[Array]) -> Search:
        start = _rows(starts)
        return _search(branch_and_cut(data, nu=nu, start=start, absolute=0.0, **common))

    def by_hull(data: TrainingData, nu: float, starts: Sequence[Array]) -> Search:
        return _search(hull_search(data, nu=nu, start=_rows(starts), absolute=0.0, **common))

    def automatic(data: TrainingData, nu: float, starts: Sequence[Array]) -> Search:
        many = data.d + (intercept == "penalised") > HULL_UP_TO
        return (by_boxes if many else by_hull)(data, nu, starts)

    def by_cuts(data: TrainingData, nu: float, starts: Sequence[Array]) -> Search:
        found = cutting_plane(data, nu=nu, **common)
        return Search(found.best.weight, found.best.objective, found.bound, str(found.stop))

    def by_solver(data: TrainingData, nu: float, starts: Sequence[Array]) -> Search:
        model = extended_nu_svc(data, nu=nu, class_balance=class_balance, intercept=intercept)
        found = solve(model, method, time_limit=time_limit)
        if found.objective is None:
            raise RuntimeError(f"{method} found no point at nu = {nu:g}: {found.message}")
        weight = np.asarray(found.values["w"], dtype=np.float64)
        if intercept == "penalised":
            weight = np.append(weight, found.values["b"])
        proven = -np.inf if found.bound is None else found.bound
        claimed = found.certificate.solver_bound
        return Search(weight, found.objective, proven, str(found.status), claimed)

    engines: dict[str, Engine] = {
        "auto": automatic,
        "branch-and-cut": by_boxes,
        "hull": by_hull,
        "cutting-plane": by_cuts,
    }
    return ProvingEngine(engines.get(method, by_solver))


def _rows(starts: Sequence[Array]) -> Array | None:
    return np.array(starts) if len(starts) else None


def _search(found: SearchResult) -> Search:
    return Search(found.best.weight, found.objective, found.bound, str(found.stop))
