"""docs/cuts.md: its program prints what it shows, and its facial cut holds as it is stated."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from tests.project.test_docs import agree
from tests.references.concave_truth import vertices
from tests.support.concave_models import random_polytope
from tests.support.covering import FULL

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cuts.md"
Array = NDArray[np.float64]


def test_the_program_prints_what_it_shows() -> None:
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(), flags=re.S)
    ((code, shown),) = blocks
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "cuts.md", "exec"), {})
    assert agree(shown, printed.getvalue())


def least(cost: Array, A: Array, b: Array, row: int) -> float:
    """Least cost'x with A x <= b and one of its rows tight; infinity without a point."""
    found = linprog(cost, A, b, A[row][None], [b[row]], bounds=(None, None))
    return float(found.fun) if found.status == 0 else np.inf


@pytest.mark.parametrize("seed", range(6 if FULL else 2))
def test_the_facial_cut_as_it_is_stated_keeps_every_corner_that_is_left(seed: int) -> None:
    """Edges of random polytopes in three dimensions, whose two corners are cut off by hand."""
    rng = np.random.default_rng([32, seed])
    polytope = random_polytope(rng, 3, 8)
    A, b = polytope.rows
    corners = np.array(list(vertices(A, b)))
    tight = np.abs(corners @ A.T - b) < 1e-7
    checked = 0
    for first, second in itertools.combinations(range(len(corners)), 2):
        rows = np.flatnonzero(tight[first] & tight[second])
        if len(rows) != 2:
            continue
        normals, sides = [], []
        for corner in (first, second):  # a half-space that has only this corner outside
            out = A[tight[corner]].sum(axis=0)
            others = np.delete(corners @ out, corner)
            normals.append(out)
            sides.append((corners[corner] @ out + others.max()) / 2)
        M, m = np.vstack([A, normals]), np.append(b, sides)
        middle = (corners[first] + corners[second]) / 2
        if (np.array(normals) @ middle > sides).any():
            continue  # the edge does not meet M any more
        cost, constant = -A[rows].sum(axis=0), float(b[rows].sum())
        others = [i for i in range(len(b)) if i not in rows]
        depth = min(constant + least(cost, M, m, i) for i in others)
        assert depth > 0
        left = np.delete(corners, [first, second], axis=0)
        assert (constant + left @ cost >= depth - 1e-7).all(), "every corner is kept"
        assert constant + middle @ cost < depth, "the edge is gone"
        checked += 1
    assert checked >= 3
