"""Every class whose instances a user of the public names may hold, found from annotations."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from enum import Enum
from types import ModuleType
from typing import Any

import tightmargin as tm

ROOMS = ("formulations", "solvers", "cuts", "experiments")
SPACES = ("cuts", "data", "errors", "paths", "plots", "search", "studies", "theory")
WORD = re.compile(r"[A-Za-z_]\w*")


@functools.cache
def modules() -> dict[str, ModuleType]:
    """Every module of the four rooms."""
    found = {}
    for room in ROOMS:
        package = importlib.import_module(f"tightmargin.{room}")
        found[package.__name__] = package
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            found[info.name] = importlib.import_module(info.name)
    return found


@functools.cache
def _own_classes() -> dict[str, list[type]]:
    found: dict[str, list[type]] = {}
    for module in modules().values():
        for name, thing in vars(module).items():
            if inspect.isclass(thing) and thing.__module__ == module.__name__:
                found.setdefault(name, []).append(thing)
    return found


def public_things() -> Iterator[Any]:
    """What the front door, its namespaces and the rooms show."""
    spaces = [tm, *(getattr(tm, name) for name in SPACES)]
    spaces += [modules()[f"tightmargin.{room}"] for room in ROOMS]
    for space in spaces:
        for name in dir(tm) if space is tm else getattr(space, "__all__", ()):
            yield getattr(space, name)


def public_classes() -> set[type]:
    """Public classes, what public functions return, and what is held by, or asked from, those."""
    found: set[type] = set()
    waiting: list[type] = []
    for thing in public_things():
        if inspect.isclass(thing):
            waiting.append(thing)
        elif callable(thing):
            waiting += _returned(thing)
        elif isinstance(thing, dict):
            waiting += [type(thing), *(type(value) for value in thing.values())]
    while waiting:
        kind = waiting.pop()
        if kind.__module__.startswith("tightmargin.") and kind not in found:
            found.add(kind)
            waiting += _held(kind)
    return {kind for kind in found if _prints(kind)}


def _prints(kind: type) -> bool:
    """Whether it is neither a word, an error nor a protocol, which print as Python prints them."""
    return not issubclass(kind, Enum | BaseException) and not getattr(kind, "_is_protocol", False)


def _held(kind: type) -> Iterator[type]:
    for part in kind.__mro__:
        if not part.__module__.startswith("tightmargin."):
            continue
        for name, annotation in inspect.get_annotations(part).items():
            if not name.startswith("_"):
                yield from _named(annotation, part.__module__)
        for name, thing in vars(part).items():
            if not name.startswith("_"):
                yield from _returned(_function(thing))


def _function(thing: Any) -> Any:
    for name in ("fget", "func", "__func__"):
        thing = getattr(thing, name, thing)
    return thing


def _returned(thing: Any) -> Iterator[type]:
    function = inspect.unwrap(thing) if callable(thing) else thing
    annotation = getattr(function, "__annotations__", {}).get("return")
    if annotation is not None:
        yield from _named(annotation, function.__module__)


def _named(annotation: Any, module: str) -> Iterator[type]:
    """Classes that an annotation names; a name that is imported for typing alone, anywhere."""
    if inspect.isclass(annotation):
        yield annotation
        return
    space = vars(modules()[module]) if module in modules() else {}
    for word in WORD.findall(str(annotation)):
        if inspect.isclass(space.get(word)):
            yield space[word]
        elif word not in space:
            yield from _own_classes().get(word, [])
