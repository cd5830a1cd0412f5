"""What a solved model prints: five lines, from what it is to what to look at next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tightmargin.number_words import (
    bound_text,
    count_text,
    number_text,
    proven_ends,
    short,
    with_bound,
)
from tightmargin.printing import Page, value_text
from tightmargin.solvers.proofs.verdict import Verdict

if TYPE_CHECKING:
    from tightmargin.solvers.result import Certificate, SolveResult

COPY, OF_THE_PROBLEM = "solved_copy", "bounds_edited_problem"
NOT_BOUNDED = "no bound of the problem it stands for"
BOUNDED = "the bound is one of the edited problem"
SETTINGS = 40  # characters of the hyperparameters in a title


def result_title(result: SolveResult) -> str:
    """The formulation with its class, its size and its hyperparameters."""
    data = result.data
    parts = [f"{result.formulation or 'a model'} ({result.problem_class or 'of unknown class'})"]
    if "n" in data:
        parts.append(count_text(data["n"], "point"))
    if "d" in data:
        parts.append(count_text(data["d"], "feature"))
    told = ((word, value_text(value)) for word, value in result.parameters.items())
    settings = ", ".join(f"{word} = {text}" for word, text in told if text)
    return ", ".join([*parts, *([short(settings, SETTINGS)] if settings else [])])


def result_page(result: SolveResult) -> Page:
    """What a solve amounts to."""
    facts = [
        (_value_word(result), _value(result)),
        ("verdict", verdict_line(result)),
        *problem_line(result.certificate),
        ("solver", f"{result.solver} {result.version}".strip() + f", {result.seconds:.2g} s"),
        ("next", ", ".join(_next(result))),
    ]
    return Page(f"SolveResult: {result_title(result)}", facts)


def _value_word(result: SolveResult) -> str:
    return "status" if result.objective is None else "objective"


def _value(result: SolveResult) -> str:
    if result.objective is None:
        told = "" if result.bound is None else f", proven bound {bound_text(result.bound)}"
        return f"{str(result.status).replace('_', ' ')}{told}"
    if result.interval is None:
        return with_bound(result.objective, result.bound)
    gap = result.absolute_gap
    value, ends = upper_text(result), ", ".join(proven_ends(*result.interval))
    told = f"{value}, optimum proven in [{ends}]"
    if not gap or result.relative_gap is None:
        return told
    return f"{told}, gap {gap:.2g} (relative {result.relative_gap:.2g})"


def upper_text(result: SolveResult) -> str:
    """The objective, of a proven point as the end of its interval that it is."""
    assert result.objective is not None
    low_and_high = result.interval
    if low_and_high is None or result.objective not in low_and_high or result.absolute_gap == 0:
        return number_text(result.objective)
    return proven_ends(*low_and_high)[low_and_high.index(result.objective)]


def verdict_line(result: SolveResult) -> str:
    """The verdict and what it rests on."""
    certificate = result.certificate
    why = certificate.reason
    if certificate.verdict is Verdict.CERTIFIED:
        why = certificate.bound_method
    elif certificate.verdict is Verdict.SOLVER_BOUND and certificate.solver_bound is not None:
        claim = f"{result.solver} claims {number_text(certificate.solver_bound)}"
        why = f"{claim}; {why}" if why else claim
    verdict = f"{certificate.verdict}{of_a_copy(certificate)}"
    return f"{verdict}: {why}" if why else verdict


def of_a_copy(certificate: Certificate) -> str:
    """What of an edited problem is said that was not solved by the model as it stands."""
    copied = certificate.facts.get(COPY)
    return f" of the edited problem, by a copy with {copied}" if copied else ""


def problem_line(certificate: Certificate) -> list[tuple[str, str]]:
    """Whether what is proven of a model bounds the problem it stands for, where that is asked."""
    held = certificate.facts.get(OF_THE_PROBLEM)
    if certificate.unproven:
        return [("problem", f"{NOT_BOUNDED}: {certificate.unproven}")]
    return [("problem", f"{BOUNDED}: {held}")] if held else []


def _next(result: SolveResult) -> Iterator[str]:
    if result.values:
        yield f".values ({value_text(result.values)})"
    if result.ray:
        yield ".ray"
    if result.status == "infeasible":
        yield "tm.explain_infeasible(model)"
    yield from (".certificate", ".to_dict()")


def certificate_page(certificate: Certificate) -> Page:
    """What was recomputed, and how it is proven."""
    level = {"paper": "the paper's formula", "model": "the model"}
    residuals = [
        f"{word} {value:.1e}"
        for word, value in (
            ("primal", certificate.primal_residual),
            ("dual", certificate.dual_residual),
            ("complementarity", certificate.complementarity),
        )
        if value is not None
    ]
    facts = [
        ("reason", certificate.reason),
        ("proven", _proven(certificate)),
        ("claimed", "" if certificate.solver_bound is None else _claim(certificate)),
        *problem_line(certificate),
        ("residuals", ", ".join(residuals)),
        ("facts", value_text(certificate.facts)),
    ]
    what = of_a_copy(certificate) or f", of {level.get(certificate.level, 'the model')}"
    title = f"Certificate: {certificate.verdict}{what}"
    return Page(title, [(word, text) for word, text in facts if text][:5])


def _claim(certificate: Certificate) -> str:
    assert certificate.solver_bound is not None
    return f"bound {number_text(certificate.solver_bound)}, the solver's word"


def _proven(certificate: Certificate) -> str:
    bound, upper = certificate.bound, certificate.upper
    how = f" ({certificate.bound_method})" if certificate.bound_method else ""
    if bound is not None and upper is not None:
        ends = ", ".join(proven_ends(min(bound, upper), max(bound, upper)))
        return f"[{ends}]{how}"
    if bound is not None:
        return f"bound {bound_text(bound)}{how}"
    return how[2:-1] if upper is None else f"a point of {bound_text(upper)}"


def search_page(
    title: str,
    objective: float,
    bound: float | None,
    *,
    ended: str,
    effort: str,
    parts: str,
) -> Page:
    """What a search or a heuristic found, proved and took.

    Parameters
    ----------
    ended : str
        Why it stopped.
    effort : str
        Steps and seconds.
    parts : str
        What to look at next.
    """
    facts = [
        ("objective", with_bound(objective, bound)),
        ("ended", ended.replace("_", " ")),
        ("took", effort),
        ("next", parts),
    ]
    return Page(title, [(word, text) for word, text in facts if text])
