"""The weighted machines over pi and the probabilities they stand for, for the path command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Group, RenderableType

from tightmargin.experiments.console.paths import path_page
from tightmargin.experiments.console.tables import fits, number, verdict_text
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.gap_study.table import seconds_text
from tightmargin.experiments.paths.family import Family, Settings, ending_of, judged, listed
from tightmargin.experiments.plots.probability_plots.binary import save_probabilities
from tightmargin.experiments.progress import Say
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive
from tightmargin.solvers.probability.binary import (
    ENTRY,
    ClassProbabilities,
    checked_grid,
    class_probabilities,
)
from tightmargin.solvers.probability.weighted_machines import METHODS, WeightedMachine

__all__ = ["ENTRY", "FAMILY", "METHODS"]

PARAMETER, GRID = "pi", "grid"
DEFAULT = 19  # steps of 0.05
COLUMNS = (
    "pi", "value", "bound", "gap", "||w||", "b", "above %", "method", "s", "certificate",
)  # fmt: skip
NARROW = ("pi", "value", "gap", "above %", "certificate")
WIDE = 100  # characters that all columns need


def _asked(name: str, own: Settings, method: str) -> Settings:
    """The values of pi, the ridge and the intercept."""
    one_of("method", method, METHODS)
    if PARAMETER in own and GRID in own:
        raise ValueError(
            f"give {PARAMETER} or {GRID}, not both: {GRID}={DEFAULT} is {DEFAULT} equally spaced "
            f"values of {PARAMETER}"
        )
    if "ridge" not in own:
        raise ValueError(f"{name} needs ridge: nothing is chosen for you")
    grid = listed(own[PARAMETER]) if PARAMETER in own else own.get(GRID, DEFAULT)
    return {
        "grid": checked_grid(grid),
        "ridge": positive("ridge", own["ridge"]),
        "intercept": one_of("intercept", own.get("intercept", "free"), INTERCEPTS),
        "method": method,
    }


def _solve(
    data: TrainingData | GramData, asked: Settings, time_limit: float | None, progress: Say
) -> ClassProbabilities:
    return class_probabilities(data, time_limit=time_limit, progress=progress, **asked)


def _document(
    name: str, path: ClassProbabilities, prepared: Prepared, method: str
) -> dict[str, Any]:
    written, read = path.to_json(), path.training_reading()
    y = prepared.data.y
    for row, found, signs in zip(written["rows"], path.rows, read.signs.T[1:-1], strict=True):
        row |= {
            "relative_gap": found.gap / found.objective,
            "norm": float(np.linalg.norm(found.w)),
            "share_above": float((signs > 0).mean()),
        }
    return {
        **written,
        "training": {
            "mean_probability": float(read.probabilities.mean()),
            "share_positive": float((y > 0).mean()),
            "monotone": int(read.monotone.sum()),
            "errors": int((read.labels != y).sum()),
        },
        **ending_of(path, prepared),
    }


# --- the page -------------------------------------------------------------------------------------


def probability_page(path: ClassProbabilities) -> Group:
    """Rows by rising pi, and what their signs say of the training points."""
    data = path.data
    assert data is not None
    above = (path.training_reading().signs[:, 1:-1] > 0).mean(axis=0).tolist()
    return path_page(
        f"weighted SVC over pi, {data.spec}: {data.n} points, {data.d} dimensions",
        COLUMNS if fits(WIDE) else NARROW,
        (_cells(row, share) for row, share in zip(path.rows, above, strict=True)),
        _ends(path),
    )


def _cells(row: WeightedMachine, share: float) -> dict[str, RenderableType]:
    return {
        "pi": f"{row.pi:.6g}",
        "value": number(row.objective),
        "bound": number(row.bound),
        "gap": f"{row.gap / row.objective:.1e}",
        "||w||": number(float(np.linalg.norm(row.w)), 4),
        "b": number(row.b, 4),
        "above %": f"{100 * share:.1f}",
        "method": row.method,
        "s": seconds_text(row.seconds),
        "certificate": verdict_text(row.verdict),
    }


def _ends(path: ClassProbabilities) -> Iterator[str]:
    """What the columns mean, and what the training points get."""
    data, read = path.data, path.training_reading()
    assert data is not None
    yield "gap: of the value, to the proven bound; above: training points with P(Y = 1 | x) > pi"
    yield f"ridge {path.ridge:.6g}, the machines of SVC(C={1 / (2 * path.ridge * data.n):.6g})"
    yield (
        f"mean probability {read.probabilities.mean():.4f} over {data.n_pos / data.n:.4f} of the "
        f"points with label +1; {int((read.labels != data.y).sum())} other labels than theirs"
    )
    turned = int((~read.monotone).sum())
    if turned:
        yield (
            f"signs turn back at {turned} of {data.n} points: there the two ends of the interval "
            "overlap, and the middle is taken"
        )


FAMILY = Family(
    lambda _: PARAMETER, _asked, _solve, _document, save_probabilities, probability_page, judged,
    (GRID,),
)  # fmt: skip
