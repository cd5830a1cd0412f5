"""The reference of public names: the front door, and the modules they live in."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from typing import Any

import tightmargin
from tightmargin.formulations import CATALOGUE

# Public modules without a name at the front door.
MORE = {
    "formulations": (
        "catalogue", "data.training_data", "data.multiclass_data", "common.hyperplane",
        "modeling.affine_rows", "modeling.semidefinite", "data.normalisation", "data.kernels",
        "data.kernel_pca", "data.kernel_centring", "zero_one.big_m",
        "zero_one.intercept_bound", "zero_one.slack_bounds", "zero_one.conflicts",
        "conic.strengthening", "common.nu_property", "nu.support_function",
        "rigorous_svm.equivalence", "rigorous_svm.inverse_maps",
    ),
    "solvers": (
        "dispatch", "result", "certificates.certify", "backends.registry", "comparison.compare",
        "comparison.gap_table", "persistent.live_lp", "errors", "doctor", "comparison.solver_runs",
        "zero_one.conflict_search.result",
    ),
    "cuts": (
        "cut.cut", "cut.scaling", "cut.files", "generation.concavity", "generation.facial",
        "outer_loop.trace", "outer_loop.result", "search.result", "nu_path.row", "nu_path.result",
        "nu_path.chords",
    ),
    "experiments": (
        "statistics.risk_bounds", "statistics.margin_errors",
        "statistics.vc_bound", "statistics.sample_complexity", "estimators.classifier",
        "data.specs", "data.outlier_generators", "validation.cross_validation", "gap_study.study",
        "gap_study.ladder", "plots", "studies.runner", "reproduce.framework.registry",
        "reproduce.framework.report",
    ),
}  # fmt: skip


NAMESPACES = ("", "search", "cuts", "paths", "data", "theory", "studies", "errors")


def names_of(namespace: str) -> list[str]:
    """Public names of `tightmargin` or of one of its namespaces, those that are no module."""
    place = importlib.import_module(f"tightmargin.{namespace}") if namespace else tightmargin
    found = [name for name in place.__all__ if not inspect.ismodule(getattr(place, name))]
    return sorted((name for name in found if name != "catalogue"), key=str.lower)


def thing_of(namespace: str, name: str) -> Any:
    """What a public name stands for."""
    return getattr(getattr(tightmargin, namespace) if namespace else tightmargin, name)


def modules(room: str) -> list[str]:
    """Documented modules of a room, those that exist in this version."""
    names = {
        str(thing_of(place, name).__module__) for place in NAMESPACES for name in names_of(place)
    }
    names |= {entry.build.__module__ for entry in CATALOGUE.values()} | {
        f"tightmargin.{room}.{name}" for name in MORE[room]
    }
    mine = sorted(name for name in names if name.split(".")[1] == room)
    return [name for name in mine if importlib.util.find_spec(name) is not None]


def public(module: str) -> list[str]:
    """Functions and classes that a module defines, in the order of its source."""
    return [
        name
        for name, thing in vars(importlib.import_module(module)).items()
        if not name.startswith("_")
        and (inspect.isfunction(thing) or inspect.isclass(thing))
        and thing.__module__ == module
        and inspect.getdoc(thing)
    ]


def room(name: str) -> str:
    """Reference of the modules of a room.

    Raises
    ------
    KeyError
        There is no such room.
    """
    parts = []
    for module in modules(name):
        # Their names are given: left to itself, autodoc loads all that a module imports.
        members = f"\n   :members: {', '.join(public(module))}" if public(module) else ""
        directive = f".. automodule:: {module}{members}"
        parts.append(f"## {module}\n\n```{{eval-rst}}\n{directive}\n```")
    return "\n\n".join(parts)


def front_door() -> str:
    """Every public name with its first line and a link to its reference, by namespace."""
    parts = []
    for place in NAMESPACES:
        door = f"tm.{place}" if place else "tm"
        about = (inspect.getdoc(getattr(tightmargin, place)) or "").strip() if place else ""
        lines = [f"### {door}", about, "", "| name | what it is |", "|:---|:---|"]
        if not place:
            lines.append("| `catalogue` | All formulations by name. |")
        for name in names_of(place):
            thing = thing_of(place, name)
            role = "class" if inspect.isclass(thing) else "func"
            title = (inspect.getdoc(thing) or "").partition("\n")[0]
            plain = "".join(rf"\{c}" if c in r"\`*_[]<>|$" else c for c in title)
            target = f"{thing.__module__}.{thing.__name__}"
            lines.append(f"| {{py:{role}}}`{name} <{target}>` | {plain} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
