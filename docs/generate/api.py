"""The reference of public names: the front door, and the modules they live in."""

from __future__ import annotations

import importlib
import importlib.util
import inspect

import tightmargin
from formulations import CATALOGUE

# Public modules without a name at the front door.
MORE = {
    "formulations": (
        "formulations.catalogue", "formulations.data", "formulations.multiclass_data",
        "formulations.hyperplane", "formulations.rows", "formulations.cones",
        "formulations.preprocess", "formulations.kernels", "formulations.kernel_pca",
        "formulations.gram_normaliser", "formulations.big_m", "formulations.class_reach",
        "formulations.intercept_bound", "formulations.slack_bounds",
        "formulations.pair_conflicts", "formulations.strengthening", "formulations.nu_property",
        "formulations.support_function", "formulations.rsvm_maps",
        "formulations.rsvm_inverse_maps", "formulations.generalisation",
        "formulations.margin_errors", "formulations.risk_deviation", "formulations.vc_bound",
        "formulations.sample_complexity",
    ),
    "solvers": (
        "solvers.solve", "solvers.result", "solvers.certify", "solvers.registry",
        "solvers.compare", "solvers.comparison", "solvers.persistent", "solvers.errors",
        "solvers.doctor", "solvers.answers", "solvers.algorithms.conflict_search.result",
    ),
    "cuts": (
        "cuts.cut", "cuts.cut_scaling", "cuts.cut_files", "cuts.concavity", "cuts.facial",
        "cuts.trace", "cuts.cutting_plane_result",
        "cuts.search_result", "cuts.nu_path_row", "cuts.nu_path_result", "cuts.nu_chords",
    ),
    "experiments": (
        "experiments.estimators", "experiments.datasets", "experiments.generators",
        "experiments.cross_validation", "experiments.gap_study", "experiments.ladder",
        "experiments.plots", "experiments.runner", "experiments.reproduce.registry",
        "experiments.reproduce.report",
    ),
}  # fmt: skip


def home_of(name: str) -> str:
    """Module in which a name of the front door is defined."""
    return str(getattr(tightmargin, name).__module__)


def modules(room: str) -> list[str]:
    """Documented modules of a room, those that exist in this version."""
    names = {home_of(name) for name in tightmargin.__all__ if name != "catalogue"}
    names |= {entry.build.__module__ for entry in CATALOGUE.values()} | set(MORE[room])
    mine = sorted(name for name in names if name.partition(".")[0] == room)
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
    """Every name of `tightmargin` with its first line and a link to its reference."""
    lines = ["| name | what it is |", "|:---|:---|"]
    for name in sorted(tightmargin.__all__, key=str.lower):
        if name == "catalogue":
            lines.append("| `catalogue` | All formulations by name. |")
            continue
        thing = getattr(tightmargin, name)
        role = "class" if inspect.isclass(thing) else "func"
        title = (inspect.getdoc(thing) or "").partition("\n")[0]
        plain = "".join(rf"\{c}" if c in r"\`*_[]<>|$" else c for c in title)
        lines.append(f"| {{py:{role}}}`{name} <{home_of(name)}.{name}>` | {plain} |")
    return "\n".join(lines)
