"""What a method of ours found, as a claim that is checked like that of a solver, and a result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import spsolve

from tightmargin.formulations.catalogue import Origin, origin_now
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.class_labels import recorded_classes, recorded_features
from tightmargin.formulations.data.point_weights import recorded_weights
from tightmargin.formulations.data.training_data import GramData, TrainingData, least_errors
from tightmargin.formulations.reliances import RAMP, TRUNCATED, ZERO_ONE
from tightmargin.printing import Printed
from tightmargin.solvers.attempts import Outcome, standing
from tightmargin.solvers.certify.case import Case, Certified
from tightmargin.solvers.certify.certify import certify_point
from tightmargin.solvers.certify.multipliers import BOUND_POINT
from tightmargin.solvers.disjunctive import copy_values
from tightmargin.solvers.engines.registry import solver_named, unknown_option
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.conic import Multipliers
from tightmargin.solvers.model.convexity import Classification, Cone
from tightmargin.solvers.model.names import (
    load_values,
    multipliers_by_name,
    named_duals,
    named_ray,
    named_values,
    point_with,
)
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.plain_json import plain
from tightmargin.solvers.proof_files.write import Evidence
from tightmargin.solvers.registry import (
    AUTO,
    BRANCH_AND_BOUND,
    DIRECT,
    OWN,
    Finding,
    Method,
    automatic_method,
    method_of_any,
    remark_on,
)
from tightmargin.solvers.result import EXACT_BOUND, EXACT_UPPER, Certificate, SolveResult, versions

# --- A claim that was checked, as the result that a user gets ------------------------------------


def settings_of(limits: Limits) -> dict[str, Any]:
    """What a result records of how it was asked for."""
    return {
        "threads": limits.threads,
        "seed": limits.seed,
        "time_limit": limits.time_limit,
        "versions": versions(),
    }


def result_of(
    model: pyo.ConcreteModel,
    form: StandardForm,
    classification: Classification,
    claim: Claim,
    found: Certified,
) -> SolveResult:
    """Result in the model's own sense: a maximisation gets its sign back."""
    certificate, sense = found.certificate, form.sense
    signed = replace(
        certificate,
        upper=_signed(certificate.upper, sense),
        bound=_signed(certificate.bound, sense),
        solver_bound=_signed(certificate.solver_bound, sense),
        facts={**certificate.facts, **_signed_ends(certificate, sense)},
    )
    described = describe(model)
    return SolveResult(
        status=found.status,
        objective=_signed(found.objective, sense),
        bound=signed.bound,
        values={} if found.x is None else named_values(model, form, found.x),
        duals=named_duals(form, claim.duals) if found.proof is None else _farkas(form, found),
        ray={} if found.ray is None else named_ray(model, form, found.ray),
        certificate=signed,
        solver="",
        problem_class=str(classification.problem_class),
        _evidence=evidence_of(form, classification, found),
        **described,
    )


def evidence_of(form: StandardForm, classification: Classification, found: Certified) -> Evidence:
    """What of a claim is proven, for a file."""
    gap = found.certificate.facts.get("absolute_gap", 0.0)
    assert isinstance(gap, float)
    proof = found.written if found.absence is None else found.absence
    return Evidence.of(form, classification, found.point, proof, gap)


def _farkas(form: StandardForm, found: Certified) -> dict[str, Any]:
    """Multipliers that prove a model infeasible: of the least violation, whatever the sense."""
    return named_duals(replace(form, sense=1), found.proof)


def describe(model: pyo.ConcreteModel) -> dict[str, Any]:
    """Formulation, hyperparameters and data of a model, for the record of its result."""
    if not isinstance(getattr(model, "origin", None), Origin):
        return {"formulation": "", "parameters": {}, "data": {}}
    origin = origin_now(model)
    data = origin.data
    return {
        "formulation": origin.entry,
        "parameters": dict(origin.parameters),
        "data": {"spec": data.spec, "n": data.n, "d": data.d, "sha256": data.sha256}
        | recorded_classes(data)
        | recorded_weights(data)
        | recorded_features(data),
    }


def _signed_ends(certificate: Certificate, sense: int) -> dict[str, str]:
    """The proven ends that are kept as fractions, in the model's own sense."""
    ends = {name: certificate.facts.get(name) for name in (EXACT_UPPER, EXACT_BOUND)}
    return {name: str(sense * Fraction(end)) for name, end in ends.items() if isinstance(end, str)}


def _signed(value: float | None, sense: int) -> float | None:
    return None if value is None or not np.isfinite(value) else sense * value + 0.0  # never -0.0


# --- What a reader of a result must know besides the numbers: facts, with a sentence for most ----
# least_errors    points of both labels in one place; no classifier makes fewer errors
# active_bounds   bounds on the hyperplane that hold the optimum back binding_big_m   rows that a
# big-M holds at z_i = 1: it may have cut the optimum off big_m_slack     margin that an indicator
# within the solver's tolerance of 0 buys for nothing no_duals        why a result with a point has
# no multipliers kernel_shift    number added to the diagonal of a kernel matrix that was not
# semidefinite components      of a kernel matrix, where w has one entry for each of them


Values = Mapping[str, NDArray[np.float64]]
Note = tuple[str, Any, str]  # name of the fact, the fact, its sentence

SWITCHED = (*ZERO_ONE, *RAMP, *TRUNCATED)  # whose "big_m" is known to be an M; others' is not

AT_BOUND = 1e-6
LARGEST_SLACK = 1e-3  # of the margin, which is 1
# Option that says how far from 0 and 1 an integer may be, with its default.
INTEGRALITY = {
    "highs": ("mip_feasibility_tolerance", 1e-6),
    "scip": ("numerics/feastol", 1e-6),
    "gurobi": ("IntFeasTol", 1e-5),
    "mosek": ("MSK_DPAR_MIO_TOL_ABS_RELAX_INT", 1e-5),
}


@dataclass(frozen=True)
class Remarks:
    """Facts by the names above, and what they mean.

    facts: for the certificate; only what there is something to say about.
    sentences: for the message.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()


def remarks_on(
    model: pyo.ConcreteModel,
    values: Values,
    *,
    integer: bool,
    solver: str,
    options: Mapping[str, Any],
) -> Remarks:
    """Notes on a solved model of the catalogue, edited or not; none on a foreign one.

    values: arrays by variable name, as in a result; empty when there is no point.
    integer: whether the model has integer variables.
    solver, options: who solved it, and the options given: they say what passes for an integer.
    """
    if not isinstance(getattr(model, "origin", None), Origin):
        return Remarks()
    origin = origin_now(model)
    found: list[Note] = [_contradictions(origin), _kernel_shift(origin)]
    if values:
        found.append(_components(origin, values))
        found += [_active_bounds(model, origin, values), _binding(origin, values)]
    if integer:
        found.append(_slack(origin, solver, options))
    kept = [(name, fact, text) for name, fact, text in found if fact]
    return Remarks({name: fact for name, fact, _ in kept}, tuple(text for *_, text in kept))


def why_no_duals(form: StandardForm, classification: Classification, solver: str) -> dict[str, str]:
    """The fact `no_duals`, for a result with a point and without multipliers."""
    if not (len(form.rows) or form.quadratic or form.psd):
        return {}
    if form.integer.any():
        reason = "no multipliers: a model with integers has none"
    elif not classification.convex:
        reason = "no multipliers: those of a model that is not convex prove nothing"
    else:
        reason = (
            f"no multipliers: {solver} returns none for {classification.problem_class} models; "
            "clarabel does"
        )
    return {"no_duals": reason}


def _contradictions(origin: Origin) -> Note:
    count = least_errors(origin.data)
    text = (
        f"points of both labels lie in one place: every classifier makes at least {count} "
        f"error{'s' if count > 1 else ''}"
    )
    return "least_errors", count, text


def _components(origin: Origin, values: Mapping[str, Any]) -> Note:
    """How many eigenvalues of a kernel matrix are no rounding: all of them are kept."""
    data = origin.data
    count = data.d if isinstance(data, GramData) and "w" in values else 0
    return "components", count, f"the kernel matrix has {count} components, all of which w has"


def _kernel_shift(origin: Origin) -> Note:
    data = origin.data
    if not isinstance(data, GramData):
        return "kernel_shift", 0.0, ""
    text = (
        f"{data.shift:.6g} was added to the diagonal of the kernel matrix, whose smallest "
        f"eigenvalue was {data.smallest_eigenvalue:.6g}"
    )
    return "kernel_shift", float(data.shift), text


def _active_bounds(model: pyo.ConcreteModel, origin: Origin, values: Values) -> Note:
    names = _at_bounds_of_hyperplane(model)
    if _intercept_bound_is_active(origin, model, values):
        names.append("intercept_bound")
    text = f"{', '.join(names)}: a bound is active and the optimum depends on it"
    return "active_bounds", names, text


def _at_bounds_of_hyperplane(model: pyo.ConcreteModel) -> list[str]:
    """Elements of w and b at a bound that was put on them; those of a builder are proven."""
    found = []
    for component in (model.find_component("w"), model.find_component("b")):
        if component is None or component.ctype is not pyo.Var:
            continue
        for x in component.values():
            if x.fixed or x.value is None or _is_a_builders(x):
                continue
            size = AT_BOUND * max(1.0, abs(x.value))
            if any(end is not None and abs(x.value - end) <= size for end in x.bounds):
                found.append(x.name)
    return found


def _is_a_builders(x: Any) -> bool:
    """Whether the bounds of a variable are expressions of a Param, as those derived here are."""
    return all(
        end is None or not isinstance(end, int | float | np.number) for end in (x.lower, x.upper)
    )


def _intercept_bound_is_active(origin: Origin, model: pyo.ConcreteModel, values: Values) -> bool:
    if model.find_component("intercept_bound") is None:
        return False
    limit = pyo.value(model.intercept_bound) ** 2
    if "W" in values and not (values["w"].any() or np.any(values.get("b", 0.0))):
        return False  # of no hyperplane the optimum is 0, whatever the bound
    if "W" in values:
        return bool(values["W"][-1, -1] >= limit * (1 - AT_BOUND))
    return bool("beta" in values and limit * values["beta"] > AT_BOUND)


def _binding(origin: Origin, values: Values) -> Note:
    if origin.entry not in (*ZERO_ONE, *RAMP) or "z" not in values or "w" not in values:
        return "binding_big_m", 0, ""
    big_m = np.broadcast_to(origin.parameters["big_m"], origin.data.n)
    b = float(values["b"]) if "b" in values else 0.0
    score = origin.data.y * (origin.data.factor @ values["w"] + b) + values.get("xi", 0.0)
    held = (values["z"] >= 1 - AT_BOUND) & (score <= 1 - big_m + AT_BOUND * np.maximum(1.0, big_m))
    count = int(held.sum())
    text = f"M holds {count} row{'s' if count > 1 else ''} at z = 1: a larger M may be better"
    return "binding_big_m", count, text


def _slack(origin: Origin, solver: str, options: Mapping[str, Any]) -> Note:
    if origin.entry not in SWITCHED or solver not in INTEGRALITY:
        return "big_m_slack", 0.0, ""
    option, default = INTEGRALITY[solver]
    tolerance = float(options.get(option, default))
    largest = float(np.max(origin.parameters["big_m"]))
    slack = largest * tolerance
    text = (
        f"M = {largest:.6g} is large for {solver}, to which z = {tolerance:g} is 0: that buys "
        f"{slack:.3g} of the margin 1; derive M, or lower {option}"
    )
    return "big_m_slack", slack if slack >= LARGEST_SLACK * (1 - 1e-9) else 0.0, text


def certified_finding(case: Case, finding: Finding) -> tuple[Claim, Certified]:
    """The finding as a claim, and what of it stands.

    The bound that it proves counts beside that of its multipliers on the model; no solver is asked.
    """
    x = point_with(case.model, case.form, np.zeros(case.form.n), finding.values)
    duals = _multipliers(case, finding) if finding.multipliers else None
    claim = Claim(
        finding.status, x, duals, message=finding.message, lemma=finding.bound, searched=True,
    )  # fmt: skip
    found = certify_point(case, claim, closing=False)
    facts = {**found.certificate.facts, "engine": finding.engine, **finding.facts}
    own = finding.bound is not None and found.certificate.bound_method == finding.bound.words
    if finding.bound_values and own:
        # So that the multipliers of a saved file prove the bound again.
        at = point_with(case.model, case.form, np.zeros(case.form.n), finding.bound_values)
        facts[BOUND_POINT] = plain(named_values(case.model, case.form, at))
    return claim, replace(found, certificate=replace(found.certificate, facts=facts))


def _multipliers(case: Case, finding: Finding) -> Multipliers:
    """Of the rows as the finding names them; of cones and bounds what stationarity leaves.

    Beside a semidefinite row, which has more than one such multiplier, the cones are named as well.
    """
    form = case.form
    named = multipliers_by_name(finding.multipliers, form, case.classification)
    if form.psd:
        return named
    rows = named.rows
    rest = form.objective.a - form.A.T @ rows
    cones: dict[int, Array] = {}
    for row, reading in zip(form.quadratic, case.classification.readings, strict=True):
        if reading.cone is not None:
            z = _of_cone(reading.cone, rest[reading.cone.index])
            rest[reading.cone.index] -= reading.cone.A.T @ z
            cones[id(row.data)] = z
    bounded = np.isfinite(form.lower) | np.isfinite(form.upper)
    return Multipliers(rows, np.where(bounded, rest, 0.0), cones)


def _of_cone(cone: Cone, rest: Array) -> Array:
    """The z of least norm with A'z = rest, in the cone where its first entry is free."""
    A = sp.csc_matrix(cone.A)
    z = np.asarray(A @ spsolve(sp.csc_matrix(A.T @ A), rest))
    if not cone.A[0].any():
        z[0] = np.linalg.norm(z[1:])
    return z


def by_method(own: Method, why: str, model: pyo.ConcreteModel, case: Case) -> SolveResult:
    """Run a method of ours on a model as it was built, and judge what it found."""
    refuse_other_options(own, case.limits)
    if own.draws and case.limits.seed is None:
        case = replace(case, limits=replace(case.limits, seed=0))
    assert case.origin is not None
    said = (why, remark_on(case.origin))
    began = time.perf_counter()
    finding = own.run(_as_it_reads(own, case.origin), case.limits)
    result = result_of_finding(finding, said, model, case)
    return replace(result, seconds=time.perf_counter() - began)


def found_automatically(case: Case) -> Outcome | None:
    """What the method that "auto" takes finds of a model as it was built; None without one."""
    taken = None if case.origin is None else automatic_method(case.origin)
    if taken is None or case.origin is None:
        return None
    own, why = taken
    began = time.perf_counter()
    finding = own.run(_as_it_reads(own, case.origin), case.limits)
    claim, found = certified_finding(case, finding)
    message = f"proven by {own.name}: {why}" if found.certificate.verdict.closed else claim.message
    took = time.perf_counter() - began
    return Outcome(replace(claim, message=message), found, "", took)


def _as_it_reads(own: Method, origin: Origin) -> Origin:
    """The origin, with dense points where the method needs them."""
    if own.keeps_sparse or not isinstance(origin.data, TrainingData):
        return origin
    return replace(origin, data=origin.data.dense_for(f"method {own.name}", "take method=direct"))


def refuse_other_options(own: Method, limits: Limits) -> None:
    """Raise ValueError for options that a method does not have."""
    for name in limits.options:
        if name not in own.options:
            raise unknown_option(f"method {own.name}", name, own.options)


def result_of_finding(
    finding: Finding, said: Sequence[str], model: pyo.ConcreteModel, case: Case
) -> SolveResult:
    """A finding judged like a solver's claim; its point is loaded into the model.

    said: for the message, before what the finding says itself.
    """
    began = time.perf_counter()
    claim, found = certified_finding(case, finding)
    load(case, found, model)
    message = finding.message if found.objective is not None else finding.no_point
    known = versions()
    result = result_of(case.model, case.form, case.classification, claim, found)
    notes = remarks_on(
        case.model,
        result.values,
        integer=bool(case.form.integer.any()),
        solver=finding.solver,
        options=case.limits.options,
    )
    facts = {**result.certificate.facts, **notes.facts}
    parts = (*notes.sentences, *said, message or finding.message)
    return replace(
        result,
        certificate=replace(result.certificate, facts=facts),
        solver=finding.solver,
        version=finding.version or known[OWN],
        seconds=time.perf_counter() - began,
        options=finding.options or case.limits.options,
        message="; ".join(part for part in parts if part),
        **settings_of(case.limits),
    )


def load(case: Case, found: Certified, model: pyo.ConcreteModel) -> None:
    """Put a point into the variables of a model, and of the copy of it that was solved."""
    if found.x is not None:
        load_values(case.form, found.x)
        if case.model is not model:
            copy_values(case.model, model)


# --- Methods for models of a kind that arrays show: foreign ones, and edited ones -----------------
# A method of a formulation (solvers/registry.py) knows the paper's problem behind a model; one of
# these knows the arrays and nothing else, and what it finds is proven of the model as it stands.


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
