"""One result on the screen: a solved model, or a saved one beside its recomputation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from tightmargin.experiments.console.tables import (
    BAD,
    GOOD,
    WARN,
    data_text,
    number,
    plain_table,
    status_text,
    verdict_text,
)
from tightmargin.experiments.gap_study.table import seconds_text
from tightmargin.number_words import bound_text, proven_ends
from tightmargin.solvers.result import SolveResult, problem_line, upper_text

if TYPE_CHECKING:
    from tightmargin.experiments.saved_results.verification_verdict import Verification

SHOWN = 12  # longer arrays are described, not printed
SAME_SOLUTION = (
    ("c_svc", "C", "C"),
    ("nu_svc", "nu", "nu"),
    ("reduced_hull_svc", "D", "hull_bound"),
    ("soft_margin_svc", "ridge", "ridge"),
)
WIDE = 1e-9  # of its ends: an interval of intercepts that is no single number


def result_page(result: SolveResult) -> Group:
    """A solved model: status, numbers with their certificate, the hyperplane, remarks."""
    facts = plain_table("", "")
    facts.show_header = False
    for word, value in (*_numbers(result), *_point(result)):
        if value:
            facts.add_row(word, value)
    return Group(facts)


def _numbers(result: SolveResult) -> Iterator[tuple[str, RenderableType]]:
    certificate = result.certificate
    yield "formulation", f"{result.formulation} ({result.problem_class})"
    yield "data", data_text(result.data)
    yield "status", status_text(result.status)
    yield "objective", "" if result.objective is None else upper_text(result)
    if result.bound is not None:
        bound = result.bound
        text = f"{bound:.10g}" if result.objective is None else bound_text(bound, result.objective)
        yield "proven bound", f"{text}  ({certificate.bound_method})"
    if result.interval is not None:
        yield "optimum", "from {} to {}, proven".format(*proven_ends(*result.interval))
    if result.relative_gap is not None:
        gap = number(result.absolute_gap, 3)
        yield "gap", f"{gap}  ({100 * result.relative_gap:.2g} %)"
    if certificate.solver_bound is not None and not certificate.verdict.closed:
        claim = f"{certificate.solver_bound:.10g}  (the word of {result.solver})"
        yield "solver's bound", claim
    yield "residuals", _residuals(result)
    proof = certificate.bound_method if result.objective is None else ""
    yield "certificate", verdict_text(certificate.verdict, certificate.reason or proof)
    for word, told in problem_line(certificate):
        yield word, Text(told, style=WARN if certificate.unproven else "")
    yield "solver", f"{result.solver} {result.version}, {seconds_text(result.seconds)} s"


def _point(result: SolveResult) -> Iterator[tuple[str, RenderableType]]:
    """Short arrays, what the formulation's own check counted, and the solver's words."""
    for name, array in result.values.items():
        if np.ndim(array) < 2 and np.size(array) <= SHOWN:
            yield from _array(result, name, array)
    for name, array in result.ray.items():
        if np.ndim(array) < 2 and np.size(array) <= SHOWN:
            yield f"ray of {name}", "  ".join(number(x) for x in np.atleast_1d(array).tolist())
    for word, fact in result.certificate.facts.items():
        if fact is not None and np.ndim(fact) == 0 and not isinstance(fact, dict):
            yield word.replace("_", " "), f"{fact:.6g}" if isinstance(fact, float) else str(fact)
    if "equivalence" in result.certificate.facts:
        yield from equivalence_rows(result.certificate.facts["equivalence"])
    yield "remark", result.message


def equivalence_rows(fact: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a solution of the rigorous SVM is a solution of besides.

    fact: `Equivalence.to_json()`: what is infinite is None.
    """
    if fact["active"]:
        yield (
            "same solution",
            ", ".join(f"{name} {symbol} = {fact[key]:.9g}" for name, symbol, key in SAME_SOLUTION),
        )
    yield "levels", f"rho = {fact['rho']:.6g}, beta = {fact['beta']:.6g}"
    yield (
        "VC estimate",
        (
            f"min(H^2, d) + 1 = {fact['vc_dimension']:.6g}, R^2 H^2 + 1 = "
            f"{fact['vc_dimension_in_ball']:.6g}"
        ),
    )
    if fact["b_interval"] is not None:
        low, high = fact["b_interval"]
        if high - low > WIDE * max(1.0, abs(low), abs(high)):
            yield "intercepts", f"all from {low:.9g} to {high:.9g} have this loss"
    for note in fact["notes"]:
        yield "note", note


def _array(result: SolveResult, name: str, array: Any) -> Iterator[tuple[str, str]]:
    """Numbers of a variable, with those of each class on a line of its own."""
    numbers, classes = np.atleast_1d(array).tolist(), result.data.get("classes", ())
    if name not in ("B", "b") or len(classes) < 2:
        yield name, "  ".join(number(x) for x in numbers)
        return
    each = len(numbers) // len(classes)
    for k, word in enumerate(classes):
        yield f"{name} {word}", "  ".join(number(x) for x in numbers[k * each : (k + 1) * each])


def _residuals(result: SolveResult) -> str:
    """The conditions of optimality, each with its largest relative violation."""
    certificate = result.certificate
    parts = (
        ("primal", certificate.primal_residual),
        ("dual", certificate.dual_residual),
        ("complementarity", certificate.complementarity),
    )
    return ", ".join(f"{word} {number:.1e}" for word, number in parts if number is not None)


def verification_page(found: Verification) -> Group:
    """A saved result beside its recomputation, and what remains a claim."""
    table = plain_table("number", "saved", "computed again", "", right=("saved", "computed again"))
    for row in found.numbers:
        mark = Text("confirmed", GOOD) if row.confirmed else Text("not confirmed", BAD)
        if row.saved is None and row.recomputed is None:
            continue
        table.add_row(row.name, number(row.saved, 12), number(row.recomputed, 12), mark)
    lines: list[RenderableType] = [Text(found.problem)] if found.problem else []
    lines += [table, Text()] if found.numbers else []
    if found.bound_method:
        what = "bound" if found.numbers else str(found.status)
        lines.append(Text(f"{what} proven again by {found.bound_method}"))
    lines += [Text(f"claim: {claim}", style=WARN) for claim in found.claims]
    if found.unchecked:
        words = "not computed again, the word of the file: "
        lines.append(Text(words + ", ".join(found.unchecked), style=WARN))
    lines.append(verdict_text(found.verdict, found.reason or found.allowance))
    return Group(*lines)
