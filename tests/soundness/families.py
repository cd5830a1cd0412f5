"""Every family of cases by name, and one case of it by seed and number."""

from __future__ import annotations

import functools
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.soundness import (
    by_scip,
    catalogue,
    edited,
    fitted,
    foreign,
    forged,
    inexact,
    model_files,
    planted,
    searches,
)
from tests.soundness.judge import REFUSALS, Case, wrong

Draw = Callable[[np.random.Generator, int], Case]

FAMILIES: dict[str, Draw] = {
    **{name: functools.partial(catalogue.entry_case, name) for name in catalogue.GROUPS},
    "estimators": catalogue.estimator_case, "fitted": fitted.fitted_case,
    "fits": inexact.fit_case, "edited": edited.edited_case,
    "edited_convex": edited.convex_case, "tables": edited.table_case,
    "planted_optimum": planted.optimal_case, "planted_infeasible": planted.infeasible_case,
    "planted_unbounded": planted.unbounded_case, "vertices": planted.vertex_case,
    "balls": foreign.ball_case, "thin_cones": foreign.thin_case,
    "touching_cones": foreign.touching_case, "curved_rows": by_scip.curved_case,
    "matrices": foreign.matrix_case, "nearly_convex": foreign.nearly_convex_case,
    "bilinear": foreign.bilinear_case, "curves": foreign.curve_case,
    "chains": foreign.chain_case, "slopes": foreign.slope_case,
    "constants": foreign.empty_case, "inexact_numbers": inexact.inexact_case,
    "integer_boxes": planted.box_case, "parity": planted.parity_case,
    "domains": planted.domain_case, "disjunctions": planted.disjunctive_case,
    "integers_beside_psd": planted.beside_psd_case, "nu_searches": searches.searches_case,
    "edited_sphere": by_scip.sphere_case, "searches": searches.search_case,
    "searched_models": searches.searched_case, "paths": searches.path_case,
    "forged": forged.forged_case, "model_files": model_files.file_case,
    "new_points": fitted.names_case,
}  # fmt: skip

# Families of more than one problem, such as entries by turns or many kinds of edits, and long ones.
WEIGHTS = {
    "edited": 2, "edited_convex": 2, "planted_optimum": 2, "conic": 2, "zero_one": 2,
    "hinge": 2, "paths": 3, "searches": 2, "searched_models": 2, "fitted": 2, "forged": 6,
    "inexact_numbers": 2, "model_files": 4, "nearly_convex": 0.5, "nu_searches": 0.25,
    "edited_sphere": 0.25, "curved_rows": 0.5,
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What became of one case."""

    family: str
    number: int
    name: str
    certified: int = 0  # answers that are true and certified
    open: int = 0  # and those that claim less
    refused: str = ""  # the sentence of a refusal
    crashed: str = ""  # an exception that is none
    false: tuple[str, ...] = ()  # answers that contradict the truth, with the contradictions


def case_of(family: str, seed: int, number: int) -> Case:
    """One case; the same on every machine and whatever other cases ran before."""
    rng = np.random.default_rng([seed, zlib.crc32(family.encode()), number])
    with warnings.catch_warnings(action="ignore"):  # of the witnesses
        return FAMILIES[family](rng, number)


def outcome_of(family: str, seed: int, number: int) -> Outcome:
    """Ask the product and judge what it says."""
    case = case_of(family, seed, number)
    outcome = functools.partial(Outcome, family, number, case.name)
    try:
        with warnings.catch_warnings(action="ignore"):
            answers = case.ask()
    except REFUSALS as refusal:
        return outcome(refused=f"{refusal}"[:200])
    except Exception as error:
        return outcome(crashed=f"{type(error).__name__}: {error}"[:300])
    false, true = [], []
    for answer in answers:
        found = wrong(answer.said, answer.truth) + ([answer.extra] if answer.extra else [])
        if found:
            false.append(f"{answer.label}: {'; '.join(found)}")
        else:
            true.append(answer.certified)
    return outcome(sum(true), len(true) - sum(true), false=tuple(false))


def cases_of(family: str, cases: int) -> int:
    """How many belong to a family where there are so many of each of weight 1."""
    return max(1, round(cases * WEIGHTS.get(family, 1)))
