"""The reference of public names: the front door, and the modules they live in."""

from __future__ import annotations

import importlib
import importlib.util
import inspect

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


def home_of(name: str) -> str:
    """Module in which a name of the front door is defined."""
    return str(getattr(tightmargin, name).__module__)


def modules(room: str) -> list[str]:
    """Documented modules of a room, those that exist in this version."""
    names = {home_of(name) for name in tightmargin.__all__ if name != "catalogue"}
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
