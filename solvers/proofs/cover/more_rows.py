"""A model with linear rows more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.standard_form.columns import Rows
from tightmargin.solvers.standard_form.names import Labels, Listed
from tightmargin.solvers.standard_form.standard_form import StandardForm


def with_rows(
    form: StandardForm, lines: Array, low: Sequence[float], high: Sequence[float], word: str
) -> StandardForm:
    """The form with rows low <= lines x <= high (p, n) behind its own, named by a word."""
    count, places = len(lines), np.arange(len(lines))
    names = Listed([f"{word} {k}" for k in range(count)])
    labels = Labels(("", form.rows, np.arange(len(form.rows))), ("", names, places))
    return replace(
        form,
        matrix=sp.vstack([form.A, sp.csr_matrix(lines.reshape(-1, form.n))], format="csr"),
        row_lower=np.concatenate([form.row_lower, low]),
        row_upper=np.concatenate([form.row_upper, high]),
        rows=cast(Rows, labels),
    )
