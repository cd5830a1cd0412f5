"""Proof files of trees with one thing changed, by a seed."""

from __future__ import annotations

import copy
import random
from typing import Any

from tests.solvers.proof_files.mutations import holder, is_number, mutated, other_number, places

Document = dict[str, Any]


def strings(document: Any, *of: str) -> list[tuple[Any, ...]]:
    """Where numbers stand in some parts of a document."""
    found = [at for at in places(document, str) if at[0] in of and "name" not in at]
    return [at for at in found if is_number(holder(document, at)[at[-1]])]


def change_number(document: Document, dice: random.Random, *of: str) -> None:
    """One number becomes another one."""
    at = strings(document, *of)
    if at:
        place = dice.choice(at)
        part, key = holder(document, place), place[-1]
        part[key] = other_number(part[key], dice, [part[key], "0x1.0000000000000p+0"])


def change_nodes(document: Document, dice: random.Random) -> None:
    """A node is dropped, doubled, closed, opened, or closed by another certificate."""
    nodes = document["tree"]["nodes"]
    k = dice.randrange(len(nodes))
    count = len(document["tree"]["certificates"])
    match dice.randrange(5):
        case 0:
            del nodes[k]
        case 1:
            nodes.insert(k, copy.deepcopy(nodes[k]))
        case 2:
            nodes[k] = None
        case 3:
            nodes[k] = dice.randrange(count + 1)
        case _:
            other = dice.randrange(len(nodes))
            nodes[k], nodes[other] = nodes[other], nodes[k]


def drop_half(document: Document, dice: random.Random) -> None:
    """A branch is replaced by its lower half, as if the other one had no points."""
    nodes = document["tree"]["nodes"]
    branches = [k for k, node in enumerate(nodes) if isinstance(node, list)]
    if branches:
        first = dice.choice(branches)
        ends = []
        for start in (first + 1, None):
            at = ends[0] if start is None else start
            open_boxes = 1
            while open_boxes and at < len(nodes):
                open_boxes += 1 if isinstance(nodes[at], list) else -1
                at += 1
            ends.append(at)
        kept = nodes[first + 1 : ends[0]] if dice.random() < 0.5 else nodes[ends[0] : ends[1]]
        nodes[first : ends[1]] = kept


def shift_branch(document: Document, dice: random.Random) -> None:
    """A branch is at another number, or on another column."""
    branches = [node for node in document["tree"]["nodes"] if isinstance(node, list)]
    if branches:
        branch = dice.choice(branches)
        if dice.random() < 0.7:
            branch[1] += dice.choice([-2, -1, 1, 2])
        else:
            branch[0] = dice.randrange(len(document["model"]["variables"]) + 1)


def swap_certificates(document: Document, dice: random.Random) -> None:
    """Two certificates change places, of leaves or of steps."""
    of_steps = [step for step in document.get("steps", ()) if "certificates" in step]
    lists = [document["tree"]["certificates"], *(step["certificates"] for step in of_steps)]
    entries = dice.choice(lists)
    if len(entries) > 1:
        i, j = dice.sample(range(len(entries)), 2)
        entries[i], entries[j] = entries[j], entries[i]


def drop_integrality(document: Document, dice: random.Random) -> None:
    """A column may be no whole number, or another one must be."""
    integer = document["model"]["integer"]
    if dice.random() < 0.7:
        del integer[dice.randrange(len(integer))]
    else:
        integer.append(dice.randrange(len(document["model"]["variables"])))


def raise_cutoff(document: Document, dice: random.Random) -> None:
    """Steps and leaves speak of more points, or of fewer; or of all."""
    if "cutoff" not in document or dice.random() < 0.1:
        document["cutoff"] = document["claim"].get("upper")
        return
    value = float.fromhex(document["cutoff"])
    document["cutoff"] = (value + dice.choice([1e-9, 1e-6, 1e-3, 1.0, 10.0, -1e-9, -1.0])).hex()


def change_claim(document: Document, dice: random.Random) -> None:
    """More is claimed, or something else."""
    claim = document["claim"]
    if "lower" in claim and dice.random() < 0.8:
        value = float.fromhex(claim["lower"])
        claim["lower"] = (value + dice.choice([1e-9, 1e-7, 1e-5, 0.5, 1.0, -1e-5, -1.0])).hex()
    else:
        claim.clear()
        claim["kind"] = "infeasible"
        if dice.random() < 0.5:
            document.pop("cutoff", None)


def drop_step(document: Document, dice: random.Random) -> None:
    """A step is missing, or comes at another time."""
    steps = document.get("steps", [])
    if steps:
        step = steps.pop(dice.randrange(len(steps)))
        if dice.random() < 0.5:
            steps.insert(dice.randrange(len(steps) + 1), step)


def change_model(document: Document, dice: random.Random) -> None:
    change_number(document, dice, "model")


def change_proof(document: Document, dice: random.Random) -> None:
    change_number(document, dice, "tree", "steps", "curvature", "cones")


WAYS = (
    change_nodes, drop_half, shift_branch, swap_certificates, drop_integrality, raise_cutoff,
    change_claim, drop_step, change_model, change_model, change_proof, change_proof,
)  # fmt: skip


def mutated_tree(document: Document, dice: random.Random) -> tuple[Document, str]:
    """A copy with one change, and what was changed."""
    if dice.random() < 0.25:
        return mutated(document, dice)
    found = copy.deepcopy(document)
    way = dice.choice(WAYS)
    way(found, dice)
    return found, way.__name__
