"""Proof files with one thing changed, by a seed."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterator
from typing import Any

Place = tuple[Any, ...]


def places(document: Any, kind: type, at: Place = ()) -> Iterator[Place]:
    """Where values of a type stand."""
    if type(document) is kind and at:
        yield at
    items = document.items() if isinstance(document, dict) else ()
    items = enumerate(document) if isinstance(document, list) else items
    for key, part in items:
        yield from places(part, kind, (*at, key))


def holder(document: Any, place: Place) -> Any:
    """The list or object in which a place is."""
    for key in place[:-1]:
        document = document[key]
    return document


def is_number(text: str) -> bool:
    return text.lstrip("-")[:1].isdigit()


NO_NUMBERS = (
    "nan", "inf", "-inf", "0x1p+99999", "0x1.0p-5000", "", "0x", "1/0", "p", "0x0.1p-1070",
)  # fmt: skip
GREATEST = ("0x1.fffffffffffffp+1023", "-0x1.fffffffffffffp+1023")
FACTORS = (
    -1.0, 1 + 1e-12, 1 + 1e-9, 1 + 1e-6, 1 + 1e-3, 2.0, 1 - 1e-9, 1 - 1e-3, 2.0**-40, 2.0**40,
)  # fmt: skip
SUMMANDS = (1e-9, -1e-9, 1e-3, -1e-3, 1.0, -1.0)


def other_number(text: str, dice: random.Random, all_numbers: list[str]) -> str:
    """Another number, or something that is none."""
    digit = dice.randrange(len(text))
    if "p" not in text:
        return dice.choice([text[:digit] + dice.choice("0123456789-/") + text[digit:], "-" + text])
    value = float.fromhex(text)
    ways = (
        (-value).hex(),
        math.nextafter(value, dice.choice([math.inf, -math.inf])).hex(),
        (value * dice.choice(FACTORS)).hex(),
        (value * dice.choice(FACTORS)).hex(),
        (value + dice.choice(SUMMANDS)).hex(),
        (0.0).hex(),
        dice.choice(all_numbers),
        dice.choice(NO_NUMBERS),
        dice.choice(GREATEST),
        text[:digit] + dice.choice("0123456789abcdef") + text[digit + 1 :],
    )
    return dice.choice(ways)


def other_list(part: list[Any], dice: random.Random) -> None:
    """An entry dropped, doubled, or exchanged for another one."""
    k, other = dice.randrange(len(part)), dice.randrange(len(part))
    match dice.randrange(3):
        case 0:
            del part[k]
        case 1:
            part.insert(k, copy.deepcopy(part[k]))
        case _:
            part[k], part[other] = part[other], part[k]


PARTS = ("claim", "steps", "bound", "curvature", "cones", "point", "ray")
KEYS = ("lower", "upper", "objective", "squares", "signs", "x")
OTHERS: dict[str, tuple[Any, ...]] = {
    "index": (-1, 0, 1, 2, 3, 10**9, True, None, "0", 0.5),
    "word": ("upper", "lower", "objective", "optimum", "bounds", "x"),
    "nothing": (None, 1, 1.0, [], {}, 8.0),
}


def numbers_in(document: Any) -> list[Place]:
    strings = [at for at in places(document, str) if not {"name", "variables"} & {*at}]
    return [at for at in strings if len(at) > 1 and is_number(holder(document, at)[at[-1]])]


def mutated(document: dict[str, Any], dice: random.Random) -> tuple[dict[str, Any], str]:
    """A copy with one change, and what was changed."""
    found = copy.deepcopy(document)
    numbers = numbers_in(found)
    # The claim and the certificate deserve more than their share of all numbers.
    first = dice.choice(PARTS)
    chosen = {
        "number": numbers,
        "of part": [at for at in numbers if at[0] == first] or numbers,
        "list": [at for at in places(found, list) if holder(found, at)[at[-1]]],
        "index": [at for at in places(found, int) if "order" not in at] or numbers,
        "word": [at for at in places(found, str) if len(at) > 1 and at not in numbers],
        "object": [*places(found, dict)],
        "nothing": numbers,
        "swap": numbers,
    }
    way = dice.choices([*chosen], [8, 3, 3, 2, 1, 1, 1, 1])[0]
    place = dice.choice(chosen[way])
    part, key = holder(found, place), place[-1]
    match way:
        case "number" | "of part":
            every = [holder(found, at)[at[-1]] for at in numbers]
            part[key] = other_number(part[key], dice, every)
        case "list":
            other_list(part[key], dice)
        case "object" if part[key] and dice.random() < 0.5:
            del part[key][dice.choice([*part[key]])]
        case "object":
            part[key][dice.choice(KEYS)] = None
        case "swap":
            other = dice.choice(numbers)
            there = holder(found, other)
            part[key], there[other[-1]] = there[other[-1]], part[key]
        case _:
            part[key] = dice.choice(OTHERS[way])
    return found, ".".join(map(str, place))


# --- trees ---------------------------------------------------------------------------------------

Document = dict[str, Any]


def change_number(document: Document, dice: random.Random, *of: str) -> None:
    """One number of some parts becomes another one."""
    at = [place for place in numbers_in(document) if place[0] in of]
    if at:
        place = dice.choice(at)
        part, key = holder(document, place), place[-1]
        part[key] = other_number(part[key], dice, [part[key], "0x1.0000000000000p+0"])


def change_list(document: Document, dice: random.Random) -> None:
    """A node, certificate, step or integer column is missing, doubled, or in another's place."""
    tree = document["tree"]
    of_steps = [
        step["certificates"] for step in document.get("steps", ()) if "certificates" in step
    ]
    lists = [tree["nodes"], tree["certificates"], *of_steps, document.get("steps", [])]
    other_list(dice.choice([part for part in (*lists, document["model"]["integer"]) if part]), dice)


def change_node(document: Document, dice: random.Random) -> None:
    """A node is closed, or closed by another certificate."""
    nodes = document["tree"]["nodes"]
    count = len(document["tree"]["certificates"])
    nodes[dice.randrange(len(nodes))] = dice.choice([None, dice.randrange(count + 1)])


def end_of(nodes: list[Any], at: int) -> int:
    """Where the boxes below a node end."""
    open_boxes = 1
    while open_boxes and at < len(nodes):
        open_boxes += 1 if isinstance(nodes[at], list) else -1
        at += 1
    return at


def change_branch(document: Document, dice: random.Random) -> None:
    """A branch is at another number, on another column, or only one of its halves."""
    nodes = document["tree"]["nodes"]
    branches = [k for k, node in enumerate(nodes) if isinstance(node, list)]
    if not branches:
        return
    k, way = dice.choice(branches), dice.randrange(6)
    middle = end_of(nodes, k + 1)
    end = end_of(nodes, middle)
    if way < 2:
        nodes[k][1] += dice.choice([-2, -1, 1, 2])
    elif way == 2:
        nodes[k][0] = dice.randrange(len(document["model"]["variables"]) + 1)
    else:
        nodes[k:end] = nodes[k + 1 : middle] if way == 3 else nodes[middle:end]


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
        document["claim"] = {"kind": "infeasible"}
        if dice.random() < 0.5:
            document.pop("cutoff", None)


def change_model(document: Document, dice: random.Random) -> None:
    change_number(document, dice, "model")


def change_proof(document: Document, dice: random.Random) -> None:
    change_number(document, dice, "tree", "steps", "curvature", "cones")


WAYS = (
    change_list, change_list, change_node, change_branch, change_branch, raise_cutoff,
    change_claim, change_model, change_model, change_proof, change_proof,
)  # fmt: skip


def mutated_tree(document: Document, dice: random.Random) -> tuple[Document, str]:
    """A copy with one change, and what was changed."""
    if dice.random() < 0.25:
        return mutated(document, dice)
    found = copy.deepcopy(document)
    way = dice.choice(WAYS)
    way(found, dice)
    return found, way.__name__
