"""Proof files of models with exp and log: tangents in their place, and terms at the point.

What is proven of the model with tangents is true of the one with terms (proofs/exponential). So its
file is that of an ordinary convex model, whose last rows become a step that the checker derives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.conic_form import conic_multipliers
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.exponential.bound import (
    Relaxation,
    exponential_point,
    relaxations,
)
from tightmargin.solvers.proof_files.checker import Model, ModelWithTerms, ProofError
from tightmargin.solvers.proof_files.lower_end import LowerEnd, Search
from tightmargin.solvers.proof_files.model_document import (
    NotProvenError,
    begun,
    model_document,
    rounded_end,
    text,
    vector,
)
from tightmargin.solvers.proofs.exponential.affine_minorants import Tangent
from tightmargin.solvers.proofs.exponential.points import completed
from tightmargin.solvers.proofs.feasible_point import NONE
from tightmargin.solvers.standard_form.exponential_terms import (
    ExponentialForm,
    Term,
    exponential_form,
)

Document = dict[str, Any]


def read_for_file(case: Case) -> ExponentialForm | None:
    """The terms of a model whose proof file holds them; None for other models."""
    read = exponential_form(case.form) if case.form.nonlinear else None
    return None if read is None or read.form.nonlinear else read


def exponential_document(case: Case, read: ExponentialForm, x: Array) -> Document:
    """The proof that a point is an optimum.

    Parameters
    ----------
    x : array (n,)
        Near a feasible point.

    Raises
    ------
    NotProvenError
        No exactly feasible point is found, or no bound is proven.
    """
    document = document_with_terms(begun(read.form), read, ())
    model = ModelWithTerms(document["model"])
    point = _point(case, read, x)
    try:
        upper = rounded_end(model, model.objective.value(model.feasible(point)), 1)
        tangents, lower = _lower_end(case, x, upper)
    except ProofError as error:
        raise NotProvenError(str(error)) from None
    bound = rounded_end(model, min(lower.value, upper), -1)
    document["point"] = [text(value) for value in point]
    document["claim"] = {"kind": "optimum", "lower": text(bound), "upper": text(upper)}
    if case.limits.absolute_gap:
        document["claim"]["absolute_gap"] = text(case.limits.absolute_gap)
    return document | lower.parts | _steps(tangents, lower.parts)


def document_with_terms(
    document: Document, read: ExponentialForm, tangents: Sequence[Tangent]
) -> Document:
    """The document of a model with tangents as one of the model with terms.

    Parameters
    ----------
    document : dict
        Of a model whose last rows are these tangents.
    """
    model = document["model"]
    rows = model["rows"][: len(model["rows"]) - len(tangents)]
    terms = [_term(term) for term in read.terms]
    about = f"{document['about']}; x_column of a term stands for it"
    found = document | {"about": about, "model": model | {"rows": rows, "terms": terms}}
    return found | _steps(tangents, document)


def _steps(tangents: Sequence[Tangent], parts: Document) -> Document:
    """The step of the tangents, before the others."""
    if not tangents:
        return {}
    entries = [[k, text(constant), [text(v) for v in s]] for k, s, constant in tangents]
    return {"steps": [{"tangents": entries}, *parts.get("steps", [])]}


def _term(term: Term) -> Document:
    parts = [
        [text(part.c), vector({part.column: part.sign} if part.column >= 0 else {})]
        for part in term.parts
    ]
    return {"function": term.kind, "column": term.value, "parts": parts}


def _point(case: Case, read: ExponentialForm, x: Array) -> list[Fraction]:
    found = exponential_point(case, x)
    if found is None or found.x is None or not found.exact:
        raise NotProvenError("no point near the result is feasible in exact arithmetic")
    return completed_point(read, found.x, found.rational)


def completed_point(
    read: ExponentialForm, x: Array, exact: Mapping[int, Fraction] = NONE
) -> list[Fraction]:
    """Coordinates of the file's columns, from those of the model.

    Raises
    ------
    NotProvenError
        A logarithm has no value.
    """
    full, columns = np.zeros(read.form.n), read.columns.tolist()
    full[read.columns] = x
    whole = completed(read, full, {columns[j]: value for j, value in exact.items()})
    if whole is None:
        raise NotProvenError("exp or log has no value at the point")
    return whole.coordinates


def _lower_end(case: Case, x: Array, upper: Fraction) -> tuple[Sequence[Tangent], LowerEnd]:
    """The best of what tangents at the point, and at the optima they lead to, prove."""
    best: tuple[Sequence[Tangent], LowerEnd] | None = None
    for relaxation in relaxations(case, x):
        search = _search(relaxation, upper)
        if search.best is not None and (best is None or search.best.value > best[1].value):
            best = relaxation.proof.tangents, search.best
        if search.is_tight():
            break
    if best is None:
        raise NotProvenError("no bound is proven: a residual is left on a column without a limit")
    return best


def _search(relaxation: Relaxation, upper: Fraction) -> Search:
    inner = relaxation.case
    model = Model(model_document(inner.form))
    search = Search.of_objective(inner.form, inner.classification, model, upper)
    z = conic_multipliers(inner.conic, relaxation.duals)
    search.from_multipliers(inner.conic, relaxation.x, z)
    return search
