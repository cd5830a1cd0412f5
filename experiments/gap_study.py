"""How far each relaxation of the 0-1 loss is from the proven optimum: the main study.

Two instances, eight relaxations from the weakest to the strongest, one exact optimum. `LADDER` is
the list of relaxations; it can be run on any other data as well.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

import numpy as np

from experiments.datasets import load
from experiments.preparation import PREPROCESSING, Prepared, prepare
from formulations.catalogue import CATALOGUE
from formulations.data import GramData, TrainingData
from solvers.algorithms.prepare import entry_named
from solvers.compare import compare, label_of
from solvers.comparison import Bound, Comparison, order_tolerance
from solvers.related import refuse_unrelated

Say = Callable[[str], None]


@dataclass(frozen=True)
class Rung:
    """One formulation with hyperparameters of its own, and what a reader calls it."""

    formulation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    @property
    def name(self) -> str:
        """The label, or else the catalogue name with the parameters."""
        return self.label or label_of((self.formulation, self.parameters))


EXACT = Rung("zero_one_big_m", {"big_m": "derived"}, "0-1 optimum")

# Weakest first, as far as that is known beforehand.
LADDER = (
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
        See experiments.datasets.
    settings : mapping
        Preprocessing, and hyperparameters common to all rows.
    label, positive : str or None
        As for experiments.datasets.load.
    """

    name: str
    title: str
    spec: str
    settings: Mapping[str, Any]
    label: str | None = None
    positive: str | None = None


# Two features on which the classes overlap. Chosen so that no hyperplane with w = 0 is optimal,
# SCIP proves the optimum in 5 to 35 s, and enumeration can confirm it.
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


@dataclass(frozen=True, eq=False)
class Study:
    """An instance with its gap table: row k of the comparison belongs to rung k."""

    instance: Instance
    prepared: Prepared
    exact: Rung
    rungs: tuple[Rung, ...]
    comparison: Comparison

    @property
    def complaints(self) -> list[str]:
        """Bounds in an impossible order: one of the two numbers is wrong."""
        return [*self.comparison.violations(), *order_violations(self.comparison.rows)]


def run(
    instance: Instance,
    rungs: Sequence[Rung] = LADDER,
    *,
    exact: Rung = EXACT,
    solver: str = "auto",
    say: Say = lambda text: None,
    **limits: Any,
) -> Iterator[Study]:
    """Study an instance; yields the study so far after the exact solve and after every row.

    An interrupted run keeps what was yielded.

    Parameters
    ----------
    say : callable(str)
        Told what is being solved.
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
    raw = load(instance.spec, label=instance.label, positive=instance.positive)
    prepared = prepare(raw, preprocessing)
    for rung in (exact, *rungs):
        _refuse_other_data(rung, prepared.data)
    for rung in rungs:
        refuse_unrelated(entry_named(rung.formulation), exact.formulation)
        _refuse_other_problem(rung, exact, common)
    options: dict[str, Any] = {"parameters": common, "solver": solver, **limits}
    say(f"{instance.name}: {exact.name}")
    comparison = compare(prepared.data, [], exact=(exact.formulation, exact.parameters), **options)
    comparison = replace(comparison, exact_label=exact.name)
    yield Study(instance, prepared, exact, (), comparison)
    assert comparison.exact is not None
    for k, rung in enumerate(rungs, start=1):
        say(f"{instance.name}: {rung.name} ({k} of {len(rungs)})")
        row = compare(
            prepared.data,
            [(rung.formulation, rung.parameters)],
            exact=comparison.exact,
            labels={0: rung.name},
            **options,
        ).rows
        comparison = replace(comparison, rows=(*comparison.rows, *row))
        yield Study(instance, prepared, exact, tuple(rungs[:k]), comparison)


def _refuse_other_data(rung: Rung, data: TrainingData | GramData) -> None:
    entry = entry_named(rung.formulation)
    if not isinstance(data, entry.takes):
        able = [e.name for e in CATALOGUE.values() if isinstance(data, e.takes)]
        raise ValueError(
            f"{entry.name} reads points, not a kernel matrix: leave kernel out, or take one of "
            f"{', '.join(able)}"
        )


# Hyperparameters that say how a problem is written down, not which problem it is.
_WRITING = (
    "big_m", "incumbent", "strengthening", "intercept_bound", "transformation", "both_sides",
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


def order_violations(rows: Sequence[Bound]) -> list[str]:
    """Pairs of rows in an impossible order: a certified bound above a stronger relaxation.

    The value of the stronger row is the objective of one of its feasible points, which no valid
    bound on a weaker row can exceed.
    """
    return [
        f"{weak.label}: bound {weak.bound:.9g} exceeds {strong.value:.9g}, the value of the "
        f"stronger {strong.label}"
        for weak, strong in permutations(rows, 2)
        if weak.bound is not None
        and strong.value is not None
        and is_weaker(weak, strong)
        and weak.bound > strong.value + order_tolerance(strong.value, strong.result)
    ]


_SDPS = ("conic_sdp", "conic_sdp_literal", "conic_sdp_dual")


def is_weaker(weak: Bound, strong: Bound) -> bool:
    """Whether theory puts the first relaxation below the second, on the same data.

    A larger M weakens; the hinge loss drops z <= 1 from the big-M relaxation; a fixed
    strengthening is one of those the SDP chooses from.
    """
    if any(row.result.certificate.level != "paper" for row in (weak, strong)):
        return False
    same = ("penalty", "intercept")
    if any(weak.parameters.get(word) != strong.parameters.get(word) for word in same):
        return False
    if strong.entry in _SDPS:
        return weak.entry == "conic_fixed"
    if (weak.entry, strong.entry) in (
        ("zero_one_relaxed", "zero_one_relaxed"),
        ("zero_one_hinge", "zero_one_relaxed"),
        ("zero_one_hinge", "zero_one_hinge"),
    ):
        large, small = weak.parameters["big_m"], strong.parameters["big_m"]
        return bool(np.all(np.asarray(large) >= np.asarray(small)))
    return False
