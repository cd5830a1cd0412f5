"""How far each relaxation of the 0-1 loss is from the proven optimum: the main study.

Two instances, eight relaxations from the weakest to the strongest, one exact optimum. Any other
relaxations can be run on any other data as well; experiments/gap_study/ladder.py has many more.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tightmargin.experiments.data.loading import load_for
from tightmargin.experiments.data.preparation import PREPROCESSING, prepare
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.gap_study.bound_order import order_violations
from tightmargin.experiments.gap_study.comparing import compare, refuse_unrelated
from tightmargin.experiments.gap_study.gap_table import Comparison
from tightmargin.experiments.gap_study.rungs import (
    GapEffort,
    Outcomes,
    Problem,
    Rung,
)
from tightmargin.experiments.progress import Say
from tightmargin.formulations.catalogue import CATALOGUE, entry_named
from tightmargin.formulations.data.multiclass_data import BuilderData
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.engines.registry import capable, solver_named
from tightmargin.solvers.errors import ProblemClassError

EXACT = Rung("zero_one_big_m", {"big_m": "derived"}, "0-1 optimum")

# Weakest first, as far as that is known beforehand.
RELAXATIONS = (
    Rung("zero_one_relaxed", {"big_m": 1000}, "big-M, M = 1000"),
    Rung("zero_one_hinge", {"big_m": "derived"}, "hinge loss, derived M"),
    Rung("zero_one_relaxed", {"big_m": "derived"}, "big-M, derived M"),
    Rung("conic_fixed", {"strengthening": "inverse_norm"}, "conic, gamma by norm"),
    Rung("conic_fixed", {"strengthening": "equal"}, "conic, gamma equal"),
    Rung("conic_fixed", {"strengthening": "scaled"}, "conic, gamma scaled"),
    Rung("conic_sdp_dual", {}, "SDP, dual form"),
    Rung("conic_sdp", {}, "SDP"),
)


@dataclass(frozen=True)
class Instance:
    """A data set with everything that fixes its optimum.

    Attributes
    ----------
    name, title : str
        Short, for tables; and for headings and pictures.
    spec : str
        See tightmargin.experiments.data.specs.
    settings : mapping
        Preprocessing, and hyperparameters common to all rows.
    label, positive : str or None
        As for tightmargin.experiments.data.specs.load.
    """

    name: str
    title: str
    spec: str
    settings: Mapping[str, Any]
    label: str | None = None
    positive: str | None = None


# Two features on which the classes overlap. Chosen so that no hyperplane with w = 0 is optimal,
# SCIP proves the optimum in 5 to 35 s, and cones of directions confirm it.
BREAST_CANCER = Instance(
    "breast cancer",
    "Wisconsin breast cancer, 120 points, worst radius and worst texture",
    "sklearn:breast_cancer,n=120,features=20+21,stratify,seed=0",
    {"normalise": "zscore", "penalty": 0.5},
)
# Cepeda, Gomez & Han 2024, section 5.1.1: a tenth of the points is a far and mislabelled cluster.
CLUSTERED = Instance(
    "clustered outliers",
    "Synthetic, 60 points with clustered outliers, sigma = 0.5",
    "synthetic:clustered,n=60,d=2,sigma=0.5,seed=1",
    {"penalty": 1.0},
)
INSTANCES = (BREAST_CANCER, CLUSTERED)
# Small enough for the whole ladder; again no optimum has w = 0.
LADDER_INSTANCES = (
    Instance(
        "breast cancer",
        "Wisconsin breast cancer, 60 points, two features",
        "sklearn:breast_cancer,n=60,features=20+21,stratify,seed=0",
        {"normalise": "zscore", "penalty": 0.5},
    ),
    CLUSTERED,
    Instance(
        "spread outliers",
        "Synthetic, 30 points with spread outliers, sigma = 0.4",
        "synthetic:spread,n=30,d=2,sigma=0.4,seed=7",
        {"penalty": 1.0},
    ),
)


@dataclass(frozen=True, eq=False)
class GapStudy:
    """An instance with its gap table: row k of the comparison belongs to rung k.

    Attributes
    ----------
    left_out : tuple of str
        A sentence for every rung that was not solved, and why.
    """

    instance: Instance
    prepared: Prepared
    exact: Rung
    rungs: tuple[Rung, ...]
    comparison: Comparison
    left_out: tuple[str, ...] = ()

    @cached_property
    def complaints(self) -> list[str]:
        """Bounds in an impossible order: one of the two numbers is wrong."""
        data = self.prepared.data
        points = data if isinstance(data, TrainingData) else None
        return [*self.comparison.violations(), *order_violations(self.comparison.rows, points)]


def run(
    instance: Instance,
    rungs: Sequence[Rung] = RELAXATIONS,
    *,
    exact: Rung = EXACT,
    solver: str = "auto",
    progress: Say = lambda text: None,
    effort: GapEffort | None = None,
    exact_time: float | None = None,
    **limits: Any,
) -> Iterator[GapStudy]:
    """Study an instance; yields the study so far after the exact solve and after every row.

    An interrupted run keeps what was yielded.

    Parameters
    ----------
    progress : callable(str)
        Told what is being solved.
    effort : GapEffort, optional
        What rungs that need something computed may spend on it.
    exact_time : float, optional
        Seconds for the exact problem; time_limit otherwise.
    limits
        time_limit, threads, seed and log as in solve(), include_uncertified as in compare().

    Raises
    ------
    ValueError
        Unknown names or hyperparameters, or a row that bounds another problem than the exact one:
        before anything is solved.
    """
    preprocessing = {k: v for k, v in instance.settings.items() if k in PREPROCESSING}
    common = {k: v for k, v in instance.settings.items() if k not in PREPROCESSING}
    for rung in rungs:
        refuse_unrelated(entry_named(rung.formulation), exact.formulation)
    names = dict.fromkeys(rung.formulation for rung in (exact, *rungs))
    raw = load_for(names, instance.spec, label=instance.label, positive=instance.positive)
    prepared = prepare(raw, preprocessing)
    reasons = [rung.why_skipped(prepared.data) for rung in rungs]
    left_out = tuple(f"{r.name}: {why}" for r, why in zip(rungs, reasons, strict=True) if why)
    rungs = [rung for rung, why in zip(rungs, reasons, strict=True) if not why]
    for rung in (exact, *rungs):
        _refuse_other_data(rung, prepared.data)
        _refuse_other_solver(rung, solver)
    for rung in rungs:
        _refuse_other_problem(rung, exact, common)
    options: dict[str, Any] = {"parameters": common, "solver": solver, **limits}
    progress(f"{instance.name}: {exact.name}")
    own = options if exact_time is None else {**options, "time_limit": exact_time}
    comparison = compare(prepared.data, [], exact=(exact.formulation, exact.parameters), **own)
    comparison = replace(comparison, exact_label=exact.name)
    study = GapStudy(instance, prepared, exact, (), comparison, left_out)
    yield study
    assert comparison.exact is not None
    steps = (
        _steps(study, effort or GapEffort(), progress) if any(rung.need for rung in rungs) else None
    )
    for k, rung in enumerate(rungs, start=1):
        progress(f"{instance.name}: {rung.name} ({k} of {len(rungs)})")
        found, seconds = ({}, 0.0) if steps is None else steps.parameters(rung)
        (row,) = compare(
            prepared.data,
            [(rung.formulation, {**rung.parameters, **found})],
            exact=comparison.exact,
            labels={0: rung.name},
            **options,
        ).rows
        row = replace(row, seconds=row.seconds + seconds)
        comparison = replace(comparison, rows=(*comparison.rows, row))
        study = replace(study, rungs=(*study.rungs, rung), comparison=comparison)
        yield study


def _steps(study: GapStudy, effort: GapEffort, progress: Say) -> Outcomes:
    """What the exact problem of a study lets rungs compute."""
    exact, data = study.comparison.exact, study.prepared.data
    assert exact is not None
    assert isinstance(data, TrainingData), "rungs that need something computed read points"
    words = exact.parameters
    name = study.instance.name
    problem = Problem(
        data, words["penalty"], words["intercept"], effort, lambda text: progress(f"{name}: {text}")
    )
    return Outcomes(problem)


def _refuse_other_data(rung: Rung, data: BuilderData) -> None:
    entry = entry_named(rung.formulation)
    if not isinstance(data, entry.takes):
        able = [e.name for e in CATALOGUE.values() if isinstance(data, e.takes)]
        raise ValueError(
            f"{entry.name} reads points, not a kernel matrix: leave kernel out, or take one of "
            f"{', '.join(able)}"
        )


def _refuse_other_solver(rung: Rung, solver: str) -> None:
    if solver == "auto":
        return
    info, wanted = solver_named(solver), entry_named(rung.formulation).problem_class
    if wanted not in info.classes | info.by_name:
        raise ProblemClassError(
            f"{rung.name}: {solver} cannot take {wanted} models; installed solvers that can: "
            f"{', '.join(capable(wanted)) or 'none'}"
        )


# Hyperparameters that say how a problem is written down, not which problem it is.
_WRITING = (
    "big_m", "incumbent", "strengthening", "intercept_bound", "transformation", "both_sides",
    "slack_bounds", "conflicts", "products", "partners", "groups", "sides", "norm",
)  # fmt: skip
# b without a price costs no more than b with one, and b = 0 is one of its values: a problem
# bounds those after it from below.
_LOOSER_FIRST = ("free", "penalised", "none")


def _refuse_other_problem(rung: Rung, exact: Rung, common: Mapping[str, Any]) -> None:
    """Refuse a row whose own settings make it bound another problem than the exact one."""
    declared = entry_named(exact.formulation).parameters
    for word, own_declaration in entry_named(rung.formulation).parameters.items():
        if word in _WRITING or word not in declared:
            continue
        own = {**common, **rung.parameters}.get(word, own_declaration.default)
        wanted = {**common, **exact.parameters}.get(word, declared[word].default)
        looser = word == "intercept" and own in _LOOSER_FIRST[: _LOOSER_FIRST.index(wanted) + 1]
        if wanted is inspect.Parameter.empty and own is not wanted:
            raise ValueError(
                f"{rung.name}: the exact problem, {exact.formulation}, has no {word}; give it to "
                f"all with --set {word}={own}, or name several with --solver to compare solvers"
            )
        if own != wanted and not looser:
            raise ValueError(
                f"{rung.name} has {word}={own} and the exact problem {word}={wanted}: it would "
                f"bound another problem; set {word} for all with --set"
            )
