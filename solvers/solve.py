"""solve(model, solver="auto"): one flag for the solver, one result, every number re-checked."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import Origin
from tightmargin.solvers.attempts import (
    Outcome,
    beside_ours,
    by_its_constants,
    run_attempts,
    second_choice,
    standing,
    start_values,
    told_of_start,
    with_second_opinion,
)
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.disjunctive import without_disjunctions
from tightmargin.solvers.edits.edit import as_edit_of_its_base, set_anew, unedited_origin
from tightmargin.solvers.edits.premises import (
    Premises,
    about_the_problem,
    by_a_copy,
    premises_of,
    stands_for_itself,
)
from tightmargin.solvers.edits.rederive import Rederived, is_rederived, rederived, with_room_for
from tightmargin.solvers.edits.searches import read_edit
from tightmargin.solvers.engines.registry import ChosenSolver, choose
from tightmargin.solvers.engines.running import (
    Deadline,
    Limits,
    checked_limits,
    clock,
    ends_within,
    hidden,
    refuse_bad_budget,
    uninterrupted,
    within_limit,
)
from tightmargin.solvers.errors import RefusedError
from tightmargin.solvers.findings import (
    LEFT_TO_A_METHOD,
    by_method,
    by_model_method,
    describe,
    found_automatically,
    gone_on,
    load,
    refuse_unknown_words,
    remarks_on,
    result_of,
    result_of_finding,
    settings_of,
    why_no_duals,
)
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status, in_sense
from tightmargin.solvers.model.convexity import binary_product
from tightmargin.solvers.model.names import load_start, load_suffixes, point_with
from tightmargin.solvers.model.reader import StandardForm, refuse_bad_params, refuse_other_objects
from tightmargin.solvers.model.residuals import refuse_overflow
from tightmargin.solvers.model.restated import representable
from tightmargin.solvers.model.rewrites import (
    added_blocks,
    expanded_constant,
    is_disjunctive,
    is_hidden,
    refuse_unread_terms,
    without_gaps,
    without_norms,
    without_quotients,
    words_on,
)
from tightmargin.solvers.registry import (
    AUTO,
    BRANCH_AND_BOUND,
    DIRECT,
    OWN,
    SCHEDULER,
    WORKERS,
    Method,
    automatic_method,
    method_named,
    method_of_any,
    refuse_solver_beside,
    remark_on,
)
from tightmargin.solvers.result import SolveResult, refuse_bad_path, versions
from tightmargin.solvers.result_proof import with_proof
from tightmargin.solvers.tree.method import (
    budget,
    by_tree,
    goes_first,
    is_worth_a_proof,
    proof_first,
    with_tree,
    without_options,
)

# --- An edited model as it goes to a solver: with its own M, and what is to be asked of the result


@dataclass(frozen=True, eq=False)
class AsSolved:
    """A model, or a copy of it with other M.

    Attributes
    ----------
    model, form
        What is solved, and its arrays.
    origin : Origin or None
        Where it came from if it is as it was built, M apart.
    premises : Premises or None
        What is to be asked of a result.
    words : str
        What was derived again, or why it was not.
    copied : str
        What the copy has of its own; empty for the model as it stands.
    """

    model: pyo.ConcreteModel
    form: StandardForm
    origin: Origin | None
    premises: Premises | None
    words: str = ""
    copied: str = ""

    def said(self, result: SolveResult) -> SolveResult:
        """A result that says what was derived again, if anything was."""
        parts = (self.words, result.message)
        result = replace(result, message="; ".join(part for part in parts if part))
        return by_a_copy(result, self.copied) if self.copied else result


def as_written(model: pyo.ConcreteModel) -> AsSolved:
    """A model without disjunctions and quotients, with the M that it has."""
    stated, form = representable(model)
    return AsSolved(stated, form, unedited_origin(model, form), None)


def as_solved(written: AsSolved, limits: Limits) -> AsSolved:
    """A model ready to be solved: an exact one whose M was derived, with M derived again.

    A relaxation stands for itself, and a model whose M `rederive` has set is right as it stands.
    """
    model, form, origin = written.model, written.form, written.origin
    if origin is not None and not set_anew(model.origin, origin):
        return written
    established = is_rederived(model, form)
    again = None
    if not (established or stands_for_itself(model)):
        again = rederived(model, form, limits)
    if not isinstance(again, Rederived):
        words = f"big_m was not derived again for the edited model: {again}" if again else ""
        premises = premises_of(model, form, established=established)
        return AsSolved(model, form, origin, premises, words)
    model, form = again.model, again.form
    premises = premises_of(model, form, established=True)
    origin = unedited_origin(model, form)
    return AsSolved(model, form, origin, premises, again.words, again.copied)


# --- What of an outcome is said of the problem, edited or not, as the result that a user gets ----


FINISHED = (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)  # nobody asks how it went


def own_result(
    model: pyo.ConcreteModel, case: Case, premises: Premises | None, outcome: Outcome
) -> SolveResult:
    """What was found and proven without a solver's claim."""
    result = described(model, case, premises, outcome, "", OWN)
    return replace(result, solver=OWN, version=versions()[OWN])


def described(
    model: pyo.ConcreteModel,
    case: Case,
    premises: Premises | None,
    outcome: Outcome,
    reason: str,
    solver: str,
) -> SolveResult:
    """What of an outcome is said of the problem, with everything that a reader must know."""
    target, form, limits, claim = case.model, case.form, case.limits, outcome.claim
    found = outcome.found
    if premises is not None:
        found = about_the_problem(case, found, premises)
    load(case, found, model)
    result = result_of(target, form, case.classification, claim, found)
    notes = remarks_on(
        target,
        result.values,
        integer=bool(form.integer.any()),
        solver=solver,
        options=limits.options,
    )
    product = "" if found.certificate.verdict.closed else _product(case)
    parts = (*notes.sentences, product, remark_on(case.origin), reason, claim.message)
    facts = {**result.certificate.facts, **notes.facts}
    if claim.trace and (form.integer.any() or claim.status not in FINISHED):
        facts["trace"] = in_sense(claim.trace, form.sense)
    if found.x is not None and found.ray is None and not result.duals:
        facts |= why_no_duals(form, case.classification, solver)
    return replace(
        result,
        certificate=replace(result.certificate, facts=facts),
        seconds=outcome.seconds,
        options=limits.options,
        message="; ".join(part for part in parts if part),
        log=claim.log,
        **settings_of(limits),
    )


def _product(case: Case) -> str:
    """What to write for a product with a binary, where only that is not convex as it stands."""
    return "" if case.classification.relaxes_to_convex else binary_product(case.form)


# --- An edited model solved by a search of its family that keeps what the edit adds --------------
# The search knows no M: its bound is one on the edited problem, whose points include those of the
# model as it is written, and of a copy of it with any other M. Its point is put to the kernel as a
# point of the model as it is written. Where a derived M cuts it off, M is derived again from it.


def searched_edit(
    written: AsSolved, model: pyo.ConcreteModel, word: str, limits: Limits
) -> tuple[Case, SolveResult] | None:
    """What a search proves of an edited model; None where that is for others to do.

    Parameters
    ----------
    written : AsSolved
        Edited, without disjunctions and quotients, with the M that it has.
    model : ConcreteModel
        The user's.
    word : str
        A method, or "auto": that gives up a model that the search does not finish by itself, but
        where its options are named, which no solver has.

    Raises
    ------
    ValueError
        The method takes other edits than this.
    """
    try:
        read = read_edit(written.model, written.form, word)
    except ValueError as refusal:
        if word == AUTO:
            return None
        raise ValueError(
            f"method {word} does not take this edit: {refusal}; take {BRANCH_AND_BOUND} or {DIRECT}"
        ) from None
    if read is None:
        return None
    began = time.perf_counter()
    finding = read.run(limits)
    why = f"auto left it to a method: {read.why}" if read.why else ""
    case = Case(written.model, Subject(written.form), None, limits, automatic=word == AUTO)
    result = result_of_finding(finding, (why,), model, case)
    if result.objective is None and finding.status is Status.OPTIMAL:
        x = point_with(written.model, written.form, np.zeros(written.form.n), finding.values)
        again = with_room_for(written.model, written.form, x)
        if again is not None:
            case = Case(again.model, Subject(again.form), None, limits, automatic=word == AUTO)
            result = result_of_finding(finding, (again.words, why), model, case)
            result = by_a_copy(result, again.copied)
    result = replace(result, seconds=time.perf_counter() - began)
    if result.certificate.verdict.closed or result.status is Status.INTERRUPTED:
        return case, result
    stopped = limits.time_limit is not None and result.seconds >= limits.time_limit
    return (case, result) if word != AUTO or stopped or limits.options else None


SECOND = "second_solver"  # the fact that says it was heard
ASKED_ONCE = "nobody else takes such a model, so that the second solver is the first"
_LONG = 1.0  # seconds beside a solver's that are worth a sentence


def solve(
    model: pyo.ConcreteModel,
    solver: str = AUTO,
    method: str = AUTO,
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,
    warm_start: Mapping[str, ArrayLike] | SolveResult | None = None,
    log: bool = False,
    live: bool = True,
    second_solver: str | None = None,
    absolute_gap: float = 0.0,
    proof: str | Path | None = None,
    prove: float | bool | None = None,
) -> SolveResult:
    """Solve a Pyomo model, ours, edited or foreign, and certify the result.

    Parameters
    ----------
    model : ConcreteModel
        Constructed; values and multipliers of the result are loaded into it.
    solver : str
        "auto", "highs", "clarabel", "scip", "gurobi", "scs", "piqp" or "mosek". The class of the
        model is decided first; a solver that cannot take it is refused by name with the ones that
        can.
    method : str
        "direct" sends the whole model to a solver. Other words are methods of ours for a
        formulation as it is built, such as "conflict-search" or "branch-and-cut"; they need no
        solver. "auto" takes the method that was measured to be best there, unless a solver,
        options of one or a start is named, and says so in `message`; models that
        are edited or foreign go to a solver, but for edits that a method takes along, such as rows
        of w and b in a 0-1 model. "branch-and-bound" takes and proves every mixed-integer model
        that is convex once integrality is dropped; "auto" uses it beside a solver, see `prove`.
    time_limit : float, optional
        Seconds, for the solve and its proof together; checks may take a second more, or a tenth.
        Without it a solve goes on until it is proven or nothing is left to try, and no clock
        decides what becomes of it; Ctrl-C keeps what there is.
        `message` says how long both took where the proof took long, and names the call of a
        library that could not be stopped where one ended later still. A model stopped by the
        limit keeps its incumbent and bound, as after Ctrl-C.
    threads, seed : int, optional
        Passed on and recorded.
    options : mapping, optional
        The solver's own option names, or the method's; unknown ones are errors.
    warm_start : mapping or SolveResult, optional
        Arrays by variable name to start from; of a result, of another model perhaps, those of
        variables that this model has. SCIP, HiGHS and Gurobi start from integer variables;
        `message` says where a start had no effect.
    log : bool
        Show the solver's log.
    live : bool
        After two seconds show bound, best point, gap, nodes and clock in one line, on standard
        error and only on a terminal. False shows nothing; the environment variable
        TIGHTMARGIN_LIVE=0 does that for every function.
    second_solver : str, optional
        Another solver that gets the model as well. What it claims goes into the certificate's
        facts, a disagreement into its reason; two claims that agree are still no proof. Beside
        "auto" it changes neither method nor proof; only the first solver is another one where
        "auto" has a choice.
    absolute_gap : float
        In the units of the objective: a proven gap of so much is closed too. An optimum of 0 has
        nothing that a gap could be small beside. It is recorded in the certificate's facts.
    proof : str or path, optional
        A .json or .json.gz file for the proof, that anybody can check without this project
        (docs/proof_files.md). Where a search of a family proved the result, a tree is grown for the
        file, within `prove` seconds, or within some nodes. `message` says whether there is a
        file, and why not.
    prove : float or bool, optional
        Seconds that branch and bound may take to prove what a solver merely claims of a
        mixed-integer model. By default it goes on until that is proven, where solver and method
        are "auto"; True says the same for a solver that is named, whatever method proves such a
        model, and False turns it off. What is left of `time_limit` is the most. An edited model of
        the catalogue is proven first, and a solver is asked only where that takes more than a
        moment.

    Returns
    -------
    SolveResult
        Values are also loaded into the model's variables, and multipliers of linear rows into its
        Suffix `dual`, reduced costs into its Suffix `rc`. `solver` is "tightmargin" where a method
        of ours found it.

    Raises
    ------
    TypeError
        Anything but a Pyomo model that is constructed.
    ValueError
        Bad hyperparameters, two objectives, an unknown solver, method or option, a method that
        does not take the model.
    NumberError, DomainError, ProblemClassError, SizeLimitError, SolverNotInstalledError, \
    LicenceError
        Refusals before any solver starts; each says what would work.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> result = tm.solve(tm.zero_one_big_m(data, penalty=1.0, big_m="derived"))
    >>> result.certificate.verdict.value, result.solver
    ('CERTIFIED', 'tightmargin')
    """
    refuse_other_objects("solve", model)
    limits = checked_limits(time_limit, threads, seed, log, options, absolute_gap)
    refuse_bad_budget(prove)
    refuse_solver_beside(method, solver=solver != AUTO or second_solver is not None)
    refuse_unknown_words((solver, second_solver), method)
    refuse_bad_path(proof)
    words = (solver, second_solver, method, warm_start, proof, prove)
    began = clock()
    shared, within = within_limit(limits), ends_within(limits.time_limit)
    with hidden(unless=live), within as deadline, as_edit_of_its_base(model) as renamed:
        result = _solved(model, shared, *words)
    result = replace(result, time_limit=limits.time_limit)
    result = _told_of_time(result, clock() - began, deadline)
    return replace(result, **describe(model)) if renamed else result


def _solved(
    model: pyo.ConcreteModel,
    limits: Limits,
    solver: str,
    second_solver: str | None,
    method: str,
    warm_start: Mapping[str, ArrayLike] | SolveResult | None,
    proof: str | Path | None,
    prove: float | bool | None,
) -> SolveResult:
    """Solve a model by what its origin says of it, all words being known."""
    named = solver != AUTO
    load_start(model, start_values(model, warm_start))
    target = model
    if is_disjunctive(model):
        refuse_bad_params(model)
        target = without_disjunctions(model)
    with uninterrupted("reading the model"):
        plain = without_quotients(without_gaps(target))
        written = as_written(without_norms(plain))
    refuse_unread_terms(written.form.nonlinear)
    if hasattr(model, "origin"):  # rows of somebody else's may be what is tried out
        refuse_overflow(written.form)
    added = added_blocks(plain, written.model)
    # Processes are no matter of a solver: whatever auto takes shares its work among them.
    meant_for_solver = set(limits.options) - {WORKERS, SCHEDULER}
    free = method == AUTO and not (named or meant_for_solver or warm_start)
    left = within_limit(limits)
    asked = method not in (AUTO, DIRECT, BRANCH_AND_BOUND)
    second = None if named else _second_of_auto(second_solver, written, limits)
    if written.origin is None and (asked or (free and prove is not False)):
        searched = searched_edit(written, model, method, left)
        if searched is not None:
            case, result = searched
            result = _heard(second, case, result)
            result = told_of_start(result, case.form, method) if warm_start else result
            return _handed_over(model, with_proof(proof, case, result, prove), added)
    ready = as_solved(written, within_limit(limits))
    origin, premises = ready.origin, ready.premises
    # An M that was derived for another price leaves the model as the statement it is.
    free = free and origin is not None and premises is None
    left = within_limit(limits)
    expanded = sum((expanded_constant(block) for block in added), Fraction(0))
    case = Case(ready.model, Subject(ready.form), origin, left, automatic=free, expanded=expanded)
    open_to_us = not (named or limits.options or warm_start or prove is False)
    outcome = by_model_method(method, case, free=open_to_us)
    own, why = (None, "") if outcome else _method(method, ready.model, origin, free=free)
    if outcome is not None:
        result = own_result(model, case, premises, outcome)
    elif own is not None:
        result = by_method(own, why, model, case)
    elif not case.form.n:
        result = own_result(model, case, premises, by_its_constants(case))
    elif method == BRANCH_AND_BOUND or (not named and case.classification.mixed_semidefinite):
        result = own_result(model, case, premises, by_tree(case))  # no solver takes the latter
    else:
        first = method == AUTO and not named
        proving = first if prove is None else prove
        result = _by_solver(
            solver, second_solver, model, case, premises, proving,
            first=first, going_on=method == AUTO and open_to_us,
        )  # fmt: skip
    result = _heard(second, case, result)
    result = replace(ready.said(result), time_limit=limits.time_limit)
    if warm_start:
        result = told_of_start(result, case.form, "" if own is None else own.name)
    return _handed_over(model, with_proof(proof, case, result, prove), added)


def _handed_over(
    model: pyo.ConcreteModel, result: SolveResult, added: list[pyo.Block]
) -> SolveResult:
    """The result in the user's terms, once a Suffix of theirs has its multipliers."""
    result = _without_hidden(result, added)
    empty = load_suffixes(model, {} if result.objective is None else result.duals)
    told = "; ".join(part for part in (result.message, empty) if part)
    return replace(result, message=told) if empty else result


def _told_of_time(result: SolveResult, seconds: float, deadline: Deadline) -> SolveResult:
    """The result with a sentence on the time beside the solver's, and on a limit not kept."""
    words = [result.message] if result.message else []
    if seconds - result.seconds >= _LONG:
        words.append(f"{seconds:.1f} s in all, {result.seconds:.1f} s of them in the solver")
    if deadline.words:
        words.append(deadline.words)
    return replace(result, message="; ".join(words))


def _method(
    word: str, model: pyo.ConcreteModel, origin: Origin | None, *, free: bool
) -> tuple[Method | None, str]:
    """The method of ours for a model, and why "auto" took it; None where a solver gets it."""
    if word == AUTO:
        # As it was written: "derived" says that an M keeps the problem, and its numbers do not.
        found = automatic_method(model.origin) if free and origin is not None else None
        return (None, "") if found is None else (found[0], f"auto left it to a method: {found[1]}")
    if word in (DIRECT, BRANCH_AND_BOUND):
        return None, ""
    written = getattr(model, "origin", None)
    entry = written.entry if isinstance(written, Origin) else None
    own = method_of_any(word) if entry is None else method_named(word, entry)
    if origin is None:
        raise ValueError(
            f"method {word} takes a model of {' or '.join(own.entries)} as it was built; an edited "
            f"or foreign model is for a solver, method={DIRECT}"
        )
    refusal = own.refusal(origin)
    if refusal:
        raise ValueError(f"method {word} does not take this model: {refusal}; take {DIRECT}")
    return own, ""


def _by_solver(
    solver: str,
    second_solver: str | None,
    model: pyo.ConcreteModel,
    case: Case,
    premises: Premises | None,
    prove: float | bool,
    *,
    first: bool,
    going_on: bool,
) -> SolveResult:
    """Send the whole model to a solver, certify its claim, and prove what is left of it."""
    began, timed = clock(), case.limits.time_limit is not None
    classification = case.classification
    kind = classification.problem_class
    choice = choose(solver, kind, case.form, timed=timed, last=second_solver)
    second = None
    if second_solver is not None and (solver != AUTO or choice.info.name != second_solver):
        second = _second(second_solver, choice, case)

    def ask(limits: Limits) -> Outcome:
        nonlocal choice
        outcome = run_attempts(choice, replace(case, limits=limits), automatic=solver == AUTO)
        if solver == AUTO and second is None:
            choice, outcome = _asked_others(choice, outcome, replace(case, limits=limits))
        return outcome

    if first and prove is not False and classification.has_integers and goes_first(case):
        outcome, claimed = proof_first(case, ask, prove)
        if claimed is None:
            return own_result(model, case, premises, outcome)
    else:
        outcome = ask(case.limits)
        if second is not None:
            outcome = with_second_opinion(choice, second, case, outcome)
        outcome = _proved(case, outcome, began, prove, named=solver != AUTO)
        more = _taken_up(case, outcome, began) if going_on else None
        if more is not None:
            return own_result(model, case, premises, more)
    reason = replace(choice, how=outcome.how).reason
    if second_solver is not None and second is None:
        reason += f"; {ASKED_ONCE}"
    result = described(model, case, premises, outcome, reason, choice.info.name)
    version = outcome.claim.version or choice.info.version
    return replace(result, solver=choice.info.name, version=version)


def _second_of_auto(name: str | None, written: AsSolved, limits: Limits) -> ChosenSolver | None:
    """The second solver beside "auto", refused before anything is solved."""
    if name is None or not written.form.n:
        return None
    return _second(name, None, Case(written.model, Subject(written.form), None, limits))


def _heard(second: ChosenSolver | None, case: Case, result: SolveResult) -> SolveResult:
    """A result of ours with a second solver's claim, where no first one was heard with it."""
    if second is None or SECOND in result.certificate.facts or ASKED_ONCE in result.message:
        return result
    return beside_ours(second, case, result)


def _second(name: str, first: ChosenSolver | None, case: Case) -> ChosenSolver:
    timed = case.limits.time_limit is not None
    return second_choice(name, first, case.classification, case.form, timed=timed)


def _by_its_method(case: Case, outcome: Outcome, seconds: float | None) -> Outcome:
    """A claim of a named solver, proven by the method that "auto" would have taken."""
    verdict = outcome.found.certificate.verdict
    if verdict is Verdict.CERTIFIED or outcome.claim.status is Status.INTERRUPTED:
        return outcome
    case = without_options(case, seconds)
    if case.origin is None:
        ours = by_model_method(AUTO, case, free=True)
    else:
        ours = found_automatically(case)
    if ours is None or standing(ours.found) <= standing(outcome.found):
        return outcome
    certificate = replace(ours.found.certificate, solver_bound=outcome.claim.bound)
    words = (outcome.claim.message, ours.claim.message.removeprefix(LEFT_TO_A_METHOD))
    claim = replace(
        ours.claim,
        bound=outcome.claim.bound,
        message="; ".join(word for word in words if word),
        version=outcome.claim.version,
        log=outcome.claim.log,
    )
    found = replace(ours.found, certificate=certificate)
    return Outcome(claim, found, outcome.how, outcome.seconds + ours.seconds)


def _asked_others(
    choice: ChosenSolver, outcome: Outcome, case: Case
) -> tuple[ChosenSolver, Outcome]:
    """What the next free solvers say where those before them broke down, if there are any."""
    began, failed = clock(), {}
    kind, timed = case.classification.problem_class, case.limits.time_limit is not None
    while outcome.claim.status is Status.ERROR and outcome.found.status is Status.ERROR:
        failed[choice.info.name] = outcome.claim.message
        try:
            other = choose(AUTO, kind, case.form, timed=timed, failed=failed)
        except RefusedError:
            break  # nobody else takes it: what the last one said stands
        left = replace(case, limits=case.limits.without(clock() - began))
        choice, outcome = other, run_attempts(other, left, automatic=True)
    return choice, outcome


def _proved(
    case: Case, outcome: Outcome, began: float, prove: float | bool, *, named: bool
) -> Outcome:
    """What a solver has claimed, with the proof that a tree or a method of ours adds to it."""
    if outcome.found.certificate.verdict is Verdict.CERTIFIED:
        return outcome
    seconds = budget(case.limits.time_limit, clock() - began, prove)
    if seconds == 0:
        return outcome
    if is_worth_a_proof(case, outcome.found, outcome.claim):
        return with_tree(case, outcome, seconds)
    return _by_its_method(case, outcome, seconds) if named else outcome


def _taken_up(case: Case, outcome: Outcome, began: float) -> Outcome | None:
    """What the method of "auto" finds after a solver's mere claim that no tree can prove."""
    if not _is_open(outcome):
        return None
    seconds = budget(case.limits.time_limit, clock() - began, None)
    if seconds == 0:
        return None
    if outcome.found.searched or is_worth_a_proof(case, outcome.found, outcome.claim):
        return None
    return gone_on(replace(case, limits=replace(case.limits, time_limit=seconds)), outcome)


def _is_open(outcome: Outcome) -> bool:
    """Whether a solver has ended, and what it says is not proven."""
    stopped = outcome.claim.status is Status.INTERRUPTED
    return not (stopped or outcome.found.certificate.verdict is Verdict.CERTIFIED)


def _without_hidden(result: SolveResult, blocks: Sequence[pyo.Block]) -> SolveResult:
    """A result in the variables and rows of the user, with a word on those that were added."""
    if not blocks:
        return result

    def shown(arrays: Mapping[str, Any]) -> dict[str, Any]:
        return {name: array for name, array in arrays.items() if not is_hidden(name, blocks)}

    told = "; ".join(filter(None, map(words_on, blocks)))
    return replace(
        result,
        values=shown(result.values),
        duals=shown(result.duals),
        ray=shown(result.ray),
        message="; ".join(part for part in (result.message, told) if part),
    )
