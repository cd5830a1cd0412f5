"""The path of the conic estimator as people read it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from tightmargin.experiments.console.tables import fits, number, plain_table, verdict_text
from tightmargin.experiments.gap_study.table import seconds_text
from tightmargin.solvers.conic.path_result import ConicPath
from tightmargin.solvers.result import Verdict

COLUMNS = (
    "penalty", "budget", "sum z / n", "value", "bound", "gap", "rank", "errors", "method", "s",
    "certificate",
)  # fmt: skip
NARROW = ("penalty", "sum z / n", "value", "gap", "certificate")
WIDE = 100  # characters that all columns need


def conic_path_page(path: ConicPath) -> Group:
    """Rows by rising penalty, and how they were found."""
    columns: tuple[str, ...] = COLUMNS if fits(WIDE) else NARROW
    if path.parameter == "penalty":
        columns = tuple(name for name in columns if name != "budget")
    elif "budget" not in columns:
        columns = ("budget", *columns)
    left = ("method", "certificate")
    table = plain_table(*columns, right=[name for name in columns if name not in left])
    for row in path.rows:
        relative = row.gap / row.value if row.value > 0 else 0.0
        cells: dict[str, RenderableType] = {
            "penalty": number(row.penalty),
            "budget": f"{row.budget:.6g}",
            "sum z / n": number(row.spent, 4),
            "value": number(row.value),
            "bound": number(row.lower_bound),
            "gap": f"{relative:.1e}",
            "rank": str(row.rank),
            "errors": str(row.errors),
            "method": row.method,
            "s": seconds_text(row.seconds),
            "certificate": verdict_text(
                row.verdict, "" if row.verdict is Verdict.CERTIFIED else row.stop
            ),
        }
        table.add_row(*(cells[name] for name in columns))
    data = path.data
    title = f"conic SDP over {path.parameter}, {data.spec}: {data.n} points, {data.d} features"
    ends = (
        "gap: of the value, to the proven bound; rank: of W - ww'",
        f"{path.fallbacks} of {len(path.rows)} values took an interior-point solver",
    )
    return Group(Text(title, style="bold"), table, *(Text(line, style="dim") for line in ends))
