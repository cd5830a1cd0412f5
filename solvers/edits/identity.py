"""Whether a catalogue model was edited since it was built.

The builder is run again with the present hyperparameters and the two models are compared as
arrays: an added, replaced or deactivated row, a changed bound, a fixed variable all show.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp

from tightmargin.formulations.catalogue import CATALOGUE, Origin, origin_now
from tightmargin.solvers.disjunctive import without_disjunctions
from tightmargin.solvers.model.columns import Columns
from tightmargin.solvers.model.exponential import exponential_form
from tightmargin.solvers.model.polynomial import LocalQuadratic, Quadratic
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.restated import representable
from tightmargin.solvers.model.rewrites import without_quotients

Sparse: TypeAlias = sp.csr_matrix | sp.csc_matrix


def unedited_origin(model: pyo.ConcreteModel, form: StandardForm) -> Origin | None:
    """Origin of a model that is what its builder writes; None when edited or foreign.

    Raises ValueError: when a hyperparameter was set to something its builder refuses.
    """
    if not isinstance(getattr(model, "origin", None), Origin):
        return None
    origin = origin_now(model)
    fresh = built(origin)  # kept: terms that no array holds are read from the model itself
    return origin if same_form(form, fresh[1]) else None


def built(origin: Origin) -> tuple[pyo.ConcreteModel, StandardForm]:
    """The model of an origin, as a solver gets it."""
    model = CATALOGUE[origin.entry].build(origin.data, **origin.parameters)
    return representable(without_quotients(without_disjunctions(model)))


def same_form(a: StandardForm, b: StandardForm) -> bool:
    """Whether two models are equal as arrays, names of variables included."""
    if not _same_columns(a.columns, b.columns) or a.sense != b.sense:
        return False
    if not a.exact.same_as(b.exact):
        return False
    arrays = ("lower", "upper", "integer", "row_lower", "row_upper")
    if any(not np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays):
        return False
    counts = [(len(f.rows), len(f.quadratic), len(f.psd), len(f.nonlinear)) for f in (a, b)]
    return (
        counts[0] == counts[1]
        and _same_terms(a, b)
        and _same_rows(a, b)
        and _same_quadratic(a.objective, b.objective)
        and all(
            (p.lower, p.upper, p.lost, p.sides) == (q.lower, q.upper, q.lost, q.sides)
            and _same_local(p.body, q.body)
            for p, q in zip(a.quadratic, b.quadratic, strict=True)
        )
        and all(
            _same_matrix(p.F, q.F) and np.array_equal(p.g, q.g)
            for p, q in zip(a.psd, b.psd, strict=True)
        )
    )


def fingerprint(form: StandardForm) -> str:
    """A digest of the names and numbers of a model of degree two, by which it is known again."""
    bodies = [row.body for row in form.quadratic]
    plain = (
        form.columns.names(), form.sense, form.objective.constant,
        [(row.lower, row.upper, row.body.constant) for row in form.quadratic],
    )  # fmt: skip
    digest = hashlib.sha256(repr(plain).encode())
    arrays = [form.lower, form.upper, form.integer, form.row_lower, form.row_upper]
    arrays += [form.objective.a, *(part for b in bodies for part in (b.index, b.i, b.j, b.v, b.a))]
    for matrix in (form.A, form.objective.Q.tocsr(), *(row.F.tocsr() for row in form.psd)):
        arrays += [matrix.indptr, matrix.indices, matrix.data]
    for array in (*arrays, *(row.g for row in form.psd)):
        digest.update(repr((array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _same_terms(a: StandardForm, b: StandardForm) -> bool:
    """Whether what is beyond degree two is the same; unknown, hence no, beside exp and log."""
    if not a.nonlinear:
        return True
    first, second = exponential_form(a), exponential_form(b)
    if first is None or second is None or first.form.nonlinear or second.form.nonlinear:
        return False
    return first.terms == second.terms and same_form(first.form, second.form)


def _same_rows(a: StandardForm, b: StandardForm) -> bool:
    """Whether coefficients agree, as they were assembled where both were in one order."""
    same_order = a.matrix.format == b.matrix.format
    return _same_matrix(a.matrix, b.matrix) if same_order else _same_matrix(a.A, b.A)


def _same_columns(a: Columns, b: Columns) -> bool:
    """Whether the free variables have the same names in the same order."""
    if len(a.parts) != len(b.parts):
        return False
    if [v.name for v in a.foreign] != [v.name for v in b.foreign]:
        return False
    return all(
        p.component.name == q.component.name
        and np.array_equal(p.columns, q.columns)
        and _same_index(p.component, q.component)
        for p, q in zip(a.parts, b.parts, strict=True)
    )


def _same_index(a: Any, b: Any) -> bool:
    """Whether two components have the same keys in the same order."""
    first, second = a.index_set(), b.index_set()
    ranges = all(isinstance(each, pyo.RangeSet) and each.isfinite() for each in (first, second))
    if ranges and len(a) == len(b) == len(first) == len(second):
        return list(first.ranges()) == list(second.ranges())
    return list(a.keys()) == list(b.keys())


def _same_matrix(a: Sparse, b: Sparse) -> bool:
    """Whether two matrices are equal; both are canonical, so their arrays are."""
    if a.shape != b.shape or a.nnz != b.nnz:
        return False
    return all(np.array_equal(getattr(a, k), getattr(b, k)) for k in ("indptr", "indices", "data"))


def _same_local(a: LocalQuadratic, b: LocalQuadratic) -> bool:
    arrays = ("index", "i", "j", "v", "a")
    return a.constant == b.constant and all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays
    )


def _same_quadratic(a: Quadratic, b: Quadratic) -> bool:
    if a.exact_constant != b.exact_constant or a.lost != b.lost:
        return False
    return np.array_equal(a.a, b.a) and _same_matrix(a.Q, b.Q)


# --- A model that a registered builder made of another one of the catalogue is solved as its edit
# What a catalogue model rests on besides its rows (an M derived from a known point, an intercept
# in a box) is known by its entry. Under the name of a builder that only adds to it nothing would
# be.


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
