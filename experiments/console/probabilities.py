"""Class probabilities and the machines behind them as people read them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from tightmargin.experiments.console.tables import fits, number, plain_table, verdict_text
from tightmargin.experiments.gap_study.table import seconds_text
from tightmargin.solvers.probability.binary_result import ClassProbabilities
from tightmargin.solvers.probability.weighted_machines import WeightedMachine

COLUMNS = (
    "pi", "value", "bound", "gap", "||w||", "b", "above %", "method", "s", "certificate",
)  # fmt: skip
NARROW = ("pi", "value", "gap", "above %", "certificate")
WIDE = 100  # characters that all columns need


def probability_page(path: ClassProbabilities) -> Group:
    """Rows by rising pi, and what their signs say of the training points."""
    columns = COLUMNS if fits(WIDE) else NARROW
    left = ("method", "certificate")
    table = plain_table(*columns, right=[name for name in columns if name not in left])
    above = (path.training_reading().signs[:, 1:-1] > 0).mean(axis=0)
    for row, share in zip(path.rows, above.tolist(), strict=True):
        cells = _cells(row, share)
        table.add_row(*(cells[name] for name in columns))
    data = path.data
    assert data is not None
    title = f"weighted SVC over pi, {data.spec}: {data.n} points, {data.d} dimensions"
    lines = (Text(line, style="dim") for line in _ends(path))
    return Group(Text(title, style="bold"), table, *lines)


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
