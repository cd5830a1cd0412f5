"""The path of the extended nu-SVC on the screen: its rows by falling nu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from tightmargin.experiments.console.tables import (
    data_text,
    fits,
    number,
    plain_table,
    verdict_text,
)
from tightmargin.experiments.gap_study.table import seconds_text
from tightmargin.solvers.result import Verdict

if TYPE_CHECKING:
    from tightmargin.cuts.nu_path.result import ExtendedNuPath

COLUMNS = (
    "nu", "CVaR", "value", "bound", "how", "rho", "lambda", "SV %", "errors", "s", "certificate",
)  # fmt: skip
NARROW = ("nu", "value", "bound", "how", "certificate")
WIDE = 100  # characters that all columns need


def path_page(path: ExtendedNuPath) -> Group:
    """Rows by falling nu, and where the problem changes its nature."""
    columns = COLUMNS if fits(WIDE) else NARROW
    left = ("how", "certificate")
    table = plain_table(*columns, right=[name for name in columns if name not in left])
    for row in path.rows:
        cells: dict[str, RenderableType] = {
            "nu": f"{row.nu:.6g}{' c' if row.constant else ''}",
            "CVaR": number(row.cvar),
            "value": number(row.value),
            "bound": number(row.lower_bound),
            "how": row.how,
            "rho": number(row.rho, 4),
            "lambda": number(row.norm_multiplier, 4),
            "SV %": f"{100 * row.support_share:.1f}",
            "errors": str(row.errors),
            "s": seconds_text(row.seconds),
            "certificate": verdict_text(
                row.verdict, "" if row.verdict is Verdict.CERTIFIED else row.stop
            ),
        }
        table.add_row(*(cells[name] for name in columns))
    lower, upper = path.nu_bar_bounds
    between = f"between {'-' if lower is None else f'{lower:.10g}'} and {upper:.10g}"
    ends = (
        f"nu_bar {path.range.nu_bar:.6g}, proven {between}: convex above it, not convex below",
        f"nu_max {path.range.nu_max:.6g}",
        f"c: the CVaR is the same for all nu up to {path.range.constant_until:.6g}",
        f"{path.searches} of {len(path.rows)} nu took a search",
    )
    data = {"spec": path.data.spec, "n": path.data.n, "d": path.data.d}
    title = Text(f"extended_nu_svc, {data_text(data)}", style="bold")
    return Group(title, table, *(Text(line, style="dim") for line in ends))
