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


PARTS = ("claim", "steps", "bound", "curvature", "cones", "point", "ray", "tree", "cutoff")
KEYS = ("lower", "upper", "objective", "squares", "signs", "x")
OTHERS: dict[str, tuple[Any, ...]] = {
    "index": (-1, 0, 1, 2, 3, 10**9, True, None, "0", 0.5),
    "word": ("upper", "lower", "objective", "optimum", "bounds", "x"),
    "nothing": (None, 1, 1.0, [], {}, 8.0),
}


def end_of(nodes: list[Any], at: int) -> int:
    """Where the boxes below a node of a tree end."""
    open_boxes = 1
    while open_boxes and at < len(nodes):
        open_boxes += 1 if isinstance(nodes[at], list) else -1
        at += 1
    return at


def other_branch(nodes: list[Any], k: int, dice: random.Random) -> None:
    """A branch at another number, or only one of its halves."""
    middle = end_of(nodes, k + 1)
    end = end_of(nodes, middle)
    match dice.randrange(3):
        case 0:
            nodes[k : k + 1] = [[nodes[k][0], nodes[k][1] + dice.choice([-2, -1, 1, 2])]]
        case 1:
            nodes[k:end] = nodes[k + 1 : middle]
        case _:
            nodes[k:end] = nodes[middle:end]


def mutated(document: dict[str, Any], dice: random.Random) -> tuple[dict[str, Any], str]:
    """A copy with one change, and what was changed."""
    found = copy.deepcopy(document)
    strings = [at for at in places(found, str) if not {"name", "variables", "schema"} & {*at}]
    numbers = [at for at in strings if is_number(holder(found, at)[at[-1]])]
    lists = [at for at in places(found, list) if holder(found, at)[at[-1]]]
    # The claim and the certificate deserve more than their share of all numbers, a tree of lists.
    first = dice.choice([part for part in PARTS if part in found])
    chosen = {
        "number": numbers,
        "of part": [at for at in numbers if at[0] == first] or numbers,
        "list": lists,
        "index": [at for at in places(found, int) if "order" not in at] or numbers,
        "word": [at for at in strings if at not in numbers],
        "object": [*places(found, dict)],
        "nothing": numbers,
        "swap": numbers,
        "branch": [at for at in lists if at[:2] == ("tree", "nodes") and len(at) == 3],
        "tree": [at for at in lists if at[0] in ("tree", "steps") or "integer" in at],
    }
    shares = {"number": 8, "of part": 5, "list": 3, "index": 2, "branch": 3, "tree": 2}
    ways = [way for way in chosen if chosen[way] and ("tree" in found or way != "tree")]
    way = dice.choices(ways, [shares.get(way, 1) for way in ways])[0]
    place = dice.choice(chosen[way])
    part, key = holder(found, place), place[-1]
    match way:
        case "number" | "of part":
            every = [holder(found, at)[at[-1]] for at in numbers]
            part[key] = other_number(part[key], dice, every)
        case "branch":
            other_branch(part, key, dice)
        case "list" | "tree":
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
    return found, f"{way} at {place}"
