"""A model that a registered builder made of another one of the catalogue is solved as its edit.

What a catalogue model rests on besides its rows (an M derived from a known point, an intercept in
a box) is known by its entry. Under the name of a builder that only adds to it nothing would be.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin


@contextmanager
def as_edit_of_its_base(model: pyo.ConcreteModel) -> Iterator[bool]:
    """For a while the model is one of the innermost entry it was made of; says whether it is."""
    written = base = getattr(model, "origin", None)
    while isinstance(base, Origin) and base.base is not None:
        base = base.base
    if base is written:
        yield False
        return
    model.origin = base
    try:
        yield True
    finally:
        model.origin = written
