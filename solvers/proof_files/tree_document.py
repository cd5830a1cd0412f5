"""Proof files of mixed-integer models: the tree of a branch and bound, written so that it checks.

What is claimed is what the leaves prove in exact arithmetic, by the checker's own functions: not
what the kernel said in rounded numbers, from which it differs in the last places.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.canonical_form.conic_form import conic_form, without_own_bounds
from tightmargin.solvers.proof_files.checker import Model, ProofError, Tree
from tightmargin.solvers.proof_files.limit_steps import derive_limits
from tightmargin.solvers.proof_files.lower_end import Search
from tightmargin.solvers.proof_files.model_document import (
    NotProvenError,
    begun,
    claim_between,
    rounded_end,
    text,
)
from tightmargin.solvers.proof_files.row_points import RowPoints
from tightmargin.solvers.proof_files.tree_steps import Root
from tightmargin.solvers.proofs.statement import FeasiblePoint
from tightmargin.solvers.proofs.tree.tree import Branch, TreeProof
from tightmargin.solvers.standard_form.standard_form import StandardForm

Document = dict[str, Any]

NARROWER = 1 - 1e-3  # every limit that the kernel may have had is written


def tree_document(
    form: StandardForm,
    classification: Classification,
    point: FeasiblePoint | None,
    proof: TreeProof,
    *,
    absolute_gap: float = 0.0,
) -> Document:
    """The proof of an optimum, of bounds that do not close the gap, or that there is no point.

    Parameters
    ----------
    form, classification
        A model that is convex once integrality is dropped.
    point : FeasiblePoint or None
        Exactly feasible.

    Raises
    ------
    NotProvenError
        Nothing is proven.
    """
    document = begun(form)
    model = Model(document["model"])
    cutoff = Fraction(proof.cutoff) if math.isfinite(proof.cutoff) else None
    try:
        search = Search.of_objective(form, classification, model, cutoff)
        known, tree = _proven(form, classification, search, proof, document)
        least = _least(known, tree)
    except ProofError as error:
        raise NotProvenError(str(error)) from None
    document["tree"] = tree
    ends = [end for end in (least, cutoff) if end is not None]
    document |= _claim(model, min(ends, default=None), point, absolute_gap)
    return document


def _proven(
    form: StandardForm,
    classification: Classification,
    search: Search,
    proof: TreeProof,
    document: Document,
) -> tuple[Tree, Document]:
    """What is derived at the root, written into the document, and the tree."""
    known = search.derivation()
    if known.cutoff is not None:
        document["cutoff"] = text(known.cutoff)
    wanted = {(j, lower) for j in range(form.n) for lower in (True, False)}
    steps = derive_limits(form, search.readings, known, wanted, NARROWER)
    whole = conic_form(form, classification)
    conic, _ = without_own_bounds(whole, np.zeros(len(whole.b)))
    points = RowPoints(form, conic, search.readings)
    root = Root(form, conic, search.readings, known, steps, points)
    for step in (step for steps_of_round in proof.rounds for step in steps_of_round):
        root.add(step)
    tree = _tree(root, proof)
    parts = {"curvature": search.curvature, "cones": search.cones, "steps": root.steps}
    document |= {name: part for name, part in parts.items() if part}
    return known, tree


def _tree(root: Root, proof: TreeProof) -> Document:
    """Nodes from the root down, the lower half of each branch first; certificates that occur."""
    nodes: list[Any] = []
    certificates: list[Document] = []
    numbers: dict[int, int | None] = {-1: None}
    seen, stack = set[int](), [0]
    while stack:
        number = stack.pop()
        if number in seen:
            raise NotProvenError(f"node {number} stands twice in the tree")
        seen.add(number)
        node = proof.nodes[number]
        if isinstance(node, Branch):
            nodes.append([node.column, int(node.at)])
            stack += [node.above, node.below]
            continue
        if node.certificate not in numbers:
            entry = root.certificate(proof.certificates[node.certificate])
            numbers[node.certificate] = None if entry is None else len(certificates)
            certificates += [] if entry is None else [entry]
        nodes.append(numbers[node.certificate])
    return {"certificates": certificates, "nodes": nodes}


def _least(known: Tree, tree: Document) -> Fraction | None:
    """The least bound of all leaves; None where none of them has a point.

    Raises
    ------
    NotProvenError
        A leaf without a bound.
    """
    step, least = known.spacing(), None
    for where, mu, found in known.leaves(tree):
        if found is None or (mu == 0 and found <= 0):
            raise NotProvenError(f"{where} of the tree is not closed in exact arithmetic")
        if mu == 0:
            continue
        value = found / mu
        if step is not None:
            value = math.ceil(value / step) * step
        least = value if least is None else min(least, value)
    return least


def _claim(
    model: Model, least: Fraction | None, point: FeasiblePoint | None, absolute_gap: float
) -> Document:
    """The claim, and the point where there is one."""
    if least is None:
        return {"claim": {"kind": "infeasible"}}
    if point is None or point.x is None:
        lower = text(rounded_end(model, least, -1))
        return {"claim": {"kind": "bounds", "lower": lower}}
    x = [point.rational.get(j, Fraction(value)) for j, value in enumerate(point.x.tolist())]
    try:
        value = model.objective.value(model.feasible(x))
    except ProofError as error:
        raise NotProvenError(str(error)) from None
    upper = rounded_end(model, value, 1)
    claim = claim_between(model, least, upper, absolute_gap)
    return {"claim": claim, "point": [text(value) for value in x]}
