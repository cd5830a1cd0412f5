"""Every class that says how it prints, but for bases and what no public call returns."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from tightmargin.printing import Readable

ROOMS = ("formulations", "solvers", "cuts", "experiments")
INSIDE = {
    "Printed", "Framed", "GlobalSearch", "PathResult", "Proof", "Proven", "TwoClasses", "BoxCover",
    "FaceMet", "HingeMachine", "Infeasible", "LazyRows", "Minorised", "ModelMethod",
    "OverDirections", "Point", "ProvenRow", "Unbounded",
}  # fmt: skip


@functools.cache
def public_classes() -> frozenset[type]:
    """Of every module of the four rooms."""
    for room in ROOMS:
        package = importlib.import_module(f"tightmargin.{room}")
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(info.name)
    found, waiting = set[type](), [Readable]
    while waiting:
        below = waiting.pop().__subclasses__()
        waiting += below
        found |= {kind for kind in below if kind.__module__.startswith("tightmargin.")}
    return frozenset(kind for kind in found if kind.__name__ not in INSIDE)
