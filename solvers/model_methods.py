"""Methods for models of a kind that arrays show: foreign ones, and edited ones of the catalogue.

A method of a formulation (solvers/registry.py) knows the paper's problem behind a model; one of
these knows the arrays and nothing else, and what it finds is proven of the model as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tightmargin.printing import Printed
from tightmargin.solvers.attempts import Outcome, standing
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.engines.registry import solver_named, unknown_option
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.registry import AUTO, BRANCH_AND_BOUND, DIRECT, method_of_any


@dataclass(frozen=True, eq=False, repr=False)
class ModelMethod(Printed):
    """A method of ours for models of a kind.

    name: the word after method=; formulations may have a method of the same name.
    run(case) -> Outcome.
    title: what it does, in a sentence.
    refuses(case) -> str: why it does not take a model; empty when it does.
    automatic(case) -> str: why method="auto" tries it before a solver, with what was measured;
        empty when it does not.
    options: names that it takes in options=.
    nodes: the most that it takes where "auto" tries it before a solver.
    """

    name: str
    run: Callable[[Case], Outcome]
    title: str
    refuses: Callable[[Case], str]
    automatic: Callable[[Case], str] = lambda case: ""
    options: tuple[str, ...] = ()
    nodes: int = 2_000


LEFT_TO_A_METHOD = "auto left it to a method: "
_METHODS: dict[str, ModelMethod] = {}


def register_model_method(method: ModelMethod) -> None:
    """Offer a method for models of a kind.

    Raises ValueError: the name is taken.
    """
    if method.name in _METHODS or method.name in (AUTO, DIRECT, BRANCH_AND_BOUND):
        raise ValueError(f"method {method.name!r} cannot be registered: the name is taken")
    _METHODS[method.name] = method


def model_methods() -> tuple[ModelMethod, ...]:
    """Every registered one."""
    return tuple(_METHODS.values())


def refuse_unknown_words(solvers: Iterable[Any], method: str) -> None:
    """Raise ValueError for a name that is none, before anything is sought for an edited model."""
    for name in solvers:
        if name not in (AUTO, None):
            solver_named(name)
    if method not in (AUTO, DIRECT, BRANCH_AND_BOUND) and method not in _METHODS:
        method_of_any(method, _METHODS)


def by_model_method(word: str, case: Case, *, free: bool) -> Outcome | None:
    """What a method for models of this kind finds; None where a solver is asked first.

    word: a method, or "auto": that asks a solver about a model which takes the method many nodes.
    free: whether "auto" may choose.
    Raises ValueError: the method takes no such model, or has no such option.
    """
    if case.origin is not None:
        return None
    if word == AUTO:
        return _tried(case) if free else None
    method = _METHODS.get(word)
    if method is None:
        return None
    refusal = method.refuses(case)
    if refusal:
        raise ValueError(f"method {word} does not take this model: {refusal}; take {DIRECT}")
    for name in case.limits.options:
        if name not in method.options:
            raise unknown_option(f"method {word}", name, method.options)
    return method.run(case)


def _tried(case: Case) -> Outcome | None:
    """The outcome of the method that "auto" takes, where it proves the model within its nodes."""
    found = _automatic(case)
    if found is None:
        return None
    method, why = found
    limits = replace(case.limits, options={"node_limit": method.nodes})
    outcome = method.run(replace(case, limits=limits))
    limit = case.limits.time_limit
    stopped = outcome.claim.status is Status.INTERRUPTED
    stopped = stopped or (limit is not None and outcome.seconds >= limit)
    if not (outcome.found.certificate.verdict.closed or stopped):
        return None
    return _told(outcome, f"{LEFT_TO_A_METHOD}{why}")


def gone_on(case: Case, claimed: Outcome) -> Outcome | None:
    """What "auto" finds after a solver's mere claim, by a method without a limit of nodes.

    None where there is no such method, or where it ends with less than the solver.
    """
    found = _automatic(case)
    if found is None:
        return None
    outcome = found[0].run(case)
    stopped = outcome.claim.status is Status.INTERRUPTED
    if not stopped and standing(outcome.found) <= standing(claimed.found):
        return None
    return _told(outcome, f"auto took the method up again after a solver: {found[1]}")


def _automatic(case: Case) -> tuple[ModelMethod, str] | None:
    """The method that "auto" takes, and why."""
    named = ((method, method.automatic(case)) for method in _METHODS.values())
    return next(((method, why) for method, why in named if why), None)


def _told(outcome: Outcome, why: str) -> Outcome:
    message = f"{why}; {outcome.claim.message}"
    return replace(outcome, claim=replace(outcome.claim, message=message))
