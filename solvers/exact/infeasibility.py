"""The search for a proof that a model has no feasible point; the kernel checks what is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tightmargin.solvers.backends import highs
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.dualization.dual_form import dual_form
from tightmargin.solvers.dualization.when import HIGHS_OPTIONS, worthwhile
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.execution.deadline import is_over
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.proofs.farkas import elastic_form, proven_infeasible
from tightmargin.solvers.proofs.statement import Infeasible
from tightmargin.solvers.standard_form.standard_form import StandardForm


def infeasibility_proof(form: StandardForm, limits: Limits) -> str:
    """What proves that a model has no point; an empty string when nothing does."""
    found = find_infeasibility(form, limits)
    return "" if found is None else found.words


def find_infeasibility(form: StandardForm, limits: Limits) -> Infeasible | None:
    """Look for a proof that a model has no point; None when there is none or none is found."""
    zero = np.zeros(len(form.rows))
    crossed = proven_infeasible(form, zero)
    if crossed is not None or not len(form.rows) or not SOLVERS["highs"].installed or is_over():
        return crossed
    elastic = elastic_form(form)
    asked = Limits(time_limit=limits.time_limit, threads=limits.threads, seed=limits.seed)
    dual = dual_form(elastic) if worthwhile(elastic) else None
    try:
        if dual is None:
            claim = highs.run(elastic, classify(elastic), asked)
        else:
            asked = replace(asked, options=HIGHS_OPTIONS)
            claim = dual.recovered(highs.run(dual.form, classify(elastic), asked))
    except NumberError:
        return None  # numbers HiGHS would lose: no proof, and the certificate says so
    if claim.duals is None:
        return None
    # A little less of a Farkas vector is one too, and leaves every multiplier room to be repaired.
    return proven_infeasible(form, 0.999 * claim.duals.rows)
