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


def other_object(part: dict[str, Any], dice: random.Random) -> None:
    """A key dropped or added."""
    if part and dice.random() < 0.5:
        del part[dice.choice([*part])]
    else:
        part[dice.choice(["lower", "upper", "objective", "squares", "signs", "x"])] = None


PARTS = ("claim", "steps", "bound", "curvature", "cones", "point", "ray")
INDICES = (-1, 0, 1, 2, 3, 10**9, True, None, "0", 0.5)
WORDS = ("upper", "lower", "objective", "optimum", "bounds", "x")
NOTHINGS: tuple[Any, ...] = (None, 1, 1.0, [], {}, 8.0)


def mutated(document: dict[str, Any], dice: random.Random) -> tuple[dict[str, Any], str]:
    """A copy with one change, and what was changed."""
    found = copy.deepcopy(document)
    strings = [place for place in places(found, str) if len(place) > 1]
    strings = [place for place in strings if not {"name", "variables"} & set(place)]
    numbers = [place for place in strings if is_number(holder(found, place)[place[-1]])]
    every = [holder(found, place)[place[-1]] for place in numbers]
    # The claim and the certificate deserve more than their share of all numbers.
    first = dice.choice(PARTS)
    of_part = [place for place in numbers if place[0] == first] or numbers
    lists = [at for at in places(found, list) if holder(found, at)[at[-1]]]
    indices = [at for at in places(found, int) if "order" not in at] or numbers
    words = [place for place in strings if place not in numbers]
    way = dice.choices(
        ["number", "of part", "list", "index", "word", "object", "nothing", "swap"],
        [8, 3, 3, 2, 1, 1, 1, 1],
    )[0]
    chosen = {
        "number": numbers, "of part": of_part, "list": lists, "index": indices,
        "word": words, "object": [*places(found, dict)], "nothing": numbers, "swap": numbers,
    }[way]  # fmt: skip
    place = dice.choice(chosen)
    part, key = holder(found, place), place[-1]
    match way:
        case "number" | "of part":
            part[key] = other_number(part[key], dice, every)
        case "list":
            other_list(part[key], dice)
        case "object":
            other_object(part[key], dice)
        case "swap":
            other = dice.choice(numbers)
            there = holder(found, other)
            part[key], there[other[-1]] = there[other[-1]], part[key]
        case _:
            part[key] = dice.choice({"index": INDICES, "word": WORDS}.get(way, NOTHINGS))
    return found, ".".join(map(str, place))
