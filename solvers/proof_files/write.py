"""Proof files: what is claimed of a model, written so that anybody can check it.

The format is in checker.py, which needs nothing of this project. A document is checked by the
functions of that file before it is put in place, and one that does not check is never written.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.canonical_form.conic_form import (
    Multipliers,
    conic_form,
    conic_multipliers,
)
from tightmargin.solvers.canonical_form.named_values import multipliers_by_name, point_with
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.model_bound import BOUND_DUALS, BOUND_POINT
from tightmargin.solvers.certificates.no_optimum import empty_of_exponentials, farkas_of
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.plain_json import write_atomically
from tightmargin.solvers.proof_files.certificate import Numbers, numbers_of
from tightmargin.solvers.proof_files.checker import Model, Proof, ProofError, check
from tightmargin.solvers.proof_files.exponential_document import (
    completed_point,
    document_with_terms,
    exponential_document,
    read_for_file,
)
from tightmargin.solvers.proof_files.limit_steps import derive_limits
from tightmargin.solvers.proof_files.lower_end import Search
from tightmargin.solvers.proof_files.model_document import (
    NotProvenError,
    begun,
    rounded_end,
    text,
)
from tightmargin.solvers.proof_files.tree_document import tree_document
from tightmargin.solvers.proof_files.upper_point import upper_point
from tightmargin.solvers.proofs.exponential.rays import completed_ray
from tightmargin.solvers.proofs.statement import FeasiblePoint
from tightmargin.solvers.proofs.tree.tree import TreeProof
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.standard_form.exponential_terms import ExponentialForm
from tightmargin.solvers.standard_form.standard_form import StandardForm

SUFFIXES = (".json", ".json.gz")


def optimum_document(
    form: StandardForm,
    classification: Classification,
    x: Array,
    duals: Multipliers,
    *,
    at: Array | None = None,
    absolute_gap: float = 0.0,
) -> dict[str, Any]:
    """The proof that a point is an optimum.

    Parameters
    ----------
    x : array (n,)
        Near an exactly feasible point.
    duals : Multipliers
        Any; what they prove is found out.
    at : array (n,), optional
        Where the objective is linearised, if not at `x`.

    Raises
    ------
    NotProvenError
        No exactly feasible point is found, or no bound is proven.
    """
    document = begun(form)
    model = Model(document["model"])
    point = upper_point(form, classification, x)
    if point is None:
        raise NotProvenError("no point near the result is feasible in exact arithmetic")
    value = model.objective.value(model.feasible(point))
    upper = rounded_end(model, value, 1)
    try:
        search = Search.of_objective(form, classification, model, upper)
    except ProofError as error:
        raise NotProvenError(str(error)) from None
    conic = conic_form(form, classification)
    search.from_multipliers(conic, x if at is None else at, conic_multipliers(conic, duals))
    if search.best is None:
        raise NotProvenError("no bound is proven: a residual is left on a column without a limit")
    lower = rounded_end(model, min(search.best.value, upper), -1)
    document |= search.best.parts
    document["point"] = [text(value) for value in point]
    document["claim"] = {"kind": "optimum", "lower": text(lower), "upper": text(upper)}
    if absolute_gap:
        document["claim"]["absolute_gap"] = text(absolute_gap)
    return document


def infeasible_document(
    form: StandardForm, classification: Classification, duals: Multipliers
) -> dict[str, Any]:
    """The proof that there is no feasible point, by a Farkas vector.

    Parameters
    ----------
    duals : Multipliers
        Of the linear rows, and of cones where they take part.
    """
    document = begun(form)
    document["claim"] = {"kind": "infeasible"}
    model = Model(document["model"])
    search = Search.of_rows(form, model)
    for share in (1.0, 0.999):  # a little less leaves every multiplier room to be repaired
        numbers = Numbers(rows={i: share * v for i, v in enumerate(duals.rows.tolist()) if v})
        search.offer(numbers)
    curved = form.quadratic or form.psd
    proven = search.best is not None and search.best.value > 0
    if curved and not proven and classification.relaxes_to_convex:
        return document | _empty_by_cones(form, classification, model, duals)
    if search.best is not None:
        document |= search.best.parts
    return document


def _empty_by_cones(
    form: StandardForm, classification: Classification, model: Model, duals: Multipliers
) -> dict[str, Any]:
    """What a file says of an empty set: limits that cross, or multipliers within them."""
    try:
        search = Search.of_objective(form, classification, model, None)
        known = search.derivation()
        wanted = {(j, lower) for j in range(form.n) for lower in (True, False)}
        steps = derive_limits(form, search.readings, known, wanted)
        if known.crossed({}):
            parts = {"curvature": search.curvature, "cones": search.cones, "steps": steps}
            return {name: part for name, part in parts.items() if part}
        conic = conic_form(form, classification)
        z, nowhere = conic_multipliers(conic, duals), np.zeros(form.n)
        search.offer(numbers_of(form, conic, search.readings, known, nowhere, z, mu=0.0))
    except ProofError as error:
        raise NotProvenError(str(error)) from None
    return {} if search.best is None else search.best.parts


def unbounded_document(
    form: StandardForm, x: Sequence[float | Fraction], ray: Sequence[float | Fraction]
) -> dict[str, Any]:
    """The proof that the objective falls without end along a ray from a feasible point."""
    document = begun(form)
    document["claim"] = {"kind": "unbounded"}
    document["point"] = [text(value) for value in x]
    document["ray"] = [text(value) for value in ray]
    return document


def document_of(case: Case, result: SolveResult) -> dict[str, Any]:
    """The proof of what a result says of its model.

    Raises
    ------
    NotProvenError
        There is none, and the message says what is missing.
    """
    form, kind = case.form, case.classification
    read = read_for_file(case)
    if read is not None:
        return _with_terms(case, result, read)
    if result.status is Status.INFEASIBLE:
        # Farkas multipliers are those of the least violation, whatever the sense.
        duals = multipliers_by_name(result.duals, replace(form, sense=1), kind)
        return infeasible_document(form, kind, duals)
    if not result.values:
        raise NotProvenError(f"the result is {result.status}, and holds no point")
    x = point_with(case.model, form, np.nan_to_num(form.point()), result.values)
    if result.status is Status.UNBOUNDED:
        ray = point_with(case.model, form, np.zeros(form.n), result.ray, ray=True)
        return unbounded_document(form, x.tolist(), ray.tolist())
    if not kind.relaxes_to_convex:
        raise NotProvenError(f"proof files are for convex models, and {kind.reason}")
    facts = result.certificate.facts
    duals = multipliers_by_name(result.duals or facts.get(BOUND_DUALS, {}), form, kind)
    at = point_with(case.model, form, x, facts.get(BOUND_POINT, {}))
    gap = case.limits.absolute_gap
    return optimum_document(form, kind, x, duals, at=at, absolute_gap=gap)


def _with_terms(case: Case, result: SolveResult, read: ExponentialForm) -> dict[str, Any]:
    """The same of a model with exp and log in convex places."""
    form = case.form
    if form.integer.any():
        raise NotProvenError("files of models with exp and log are for continuous variables")
    if result.status is Status.INFEASIBLE:
        found = empty_of_exponentials(case)
        if found is None:
            raise NotProvenError("no multipliers are found that prove it in the file's terms")
        proof, inner, empty = found
        duals = farkas_of(inner, empty)
        document = infeasible_document(inner.form, inner.classification, duals)
        return document_with_terms(document, read, proof.tangents)
    if not result.values:
        raise NotProvenError(f"the result is {result.status}, and holds no point")
    x = point_with(case.model, form, np.nan_to_num(form.point()), result.values)
    if result.status is not Status.UNBOUNDED:
        return exponential_document(case, read, x)
    ray = completed_ray(read, point_with(case.model, form, np.zeros(form.n), result.ray, ray=True))
    if ray is None:
        raise NotProvenError("the ray leaves a term")
    document = unbounded_document(read.form, completed_point(read, x), ray)
    return document_with_terms(document, read, ())


def write_tree(path: Path | str, case: Case, point: FeasiblePoint | None, tree: TreeProof) -> Proof:
    """Write the proof that a branch and bound has found; what the checker says of it.

    Parameters
    ----------
    path : path
        Ends in .json or .json.gz.
    point, tree
        The point and the proof of a TreeSearch.

    Raises
    ------
    NotProvenError
        The tree proves nothing in exact arithmetic.
    """
    gap = case.limits.absolute_gap
    document = tree_document(case.form, case.classification, point, tree, absolute_gap=gap)
    return write_document(document, Path(path))


def refuse_bad_path(path: Path | str | None) -> None:
    """Refuse a file that cannot be written, before any work is done.

    Raises
    ------
    ValueError
        Another suffix, a folder that is missing, or a folder in the place of a file.
    """
    if path is None:
        return
    path = Path(path)
    if not path.name.endswith(SUFFIXES):
        raise ValueError(f"{path}: the name must end in {' or '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name a file")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{path}: the folder {path.parent} cannot be written to")


def write_document(document: dict[str, Any], path: Path) -> Proof:
    """Check a document as it will be read, and put it in place whole or not at all.

    Raises
    ------
    NotProvenError
        It does not check, and the checker says why.
    """
    content = json.dumps(document, allow_nan=False).encode()
    try:
        proof = check(json.loads(content))
    except ProofError as error:
        raise NotProvenError(str(error)) from None
    packed = gzip.compress(content, mtime=0) if path.name.endswith(".gz") else content
    write_atomically(path, lambda file: file.write(packed))
    return proof
