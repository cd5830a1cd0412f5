"""Table 3 and Figure 5: liver disorders over nu, means of five-fold cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from tightmargin.experiments.data.public_data import files_of
from tightmargin.experiments.plots.style import (
    BLACK,
    GREY,
    PAGE,
    SMALL,
    look,
    new_figure,
    shared_legend,
    tidy,
)
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table
from tightmargin.experiments.reproduce.framework.registry import Effort, reproduction
from tightmargin.experiments.reproduce.framework.report import Report
from tightmargin.experiments.reproduce.framework.runs import run_tasks
from tightmargin.experiments.reproduce.perez_cruz.published import FIGURE5, PAPER, table3
from tightmargin.experiments.reproduce.perez_cruz.samples import (
    FOLDS,
    LIVER,
    liver,
    liver_split,
)
from tightmargin.experiments.reproduce.perez_cruz.solved import (
    SAME,
    Plain,
    row_of,
    solved,
)
from tightmargin.experiments.reproduce.perez_cruz.table3_notes import claims, definitions, findings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "perez-cruz-table3"
SEEDS, QUICK = 10, 1
NUS = tuple(round(0.01 + 0.05 * k, 2) for k in range(17))  # those of the table, and between them
# How far a mean over our folds may be from the print, which is that of folds of their own: such
# means differ between our splits by up to 0.08 (rho), 0.6 (lambda), 0.006 (fSVs) and 0.04 (test).
ALLOWED = {"rho": 0.05, "lambda": 0.4, "fSVs": 0.012, "test": 0.035}
LAST = "0.81"  # all but 4 of the 116 points of the smaller class have multipliers: rho is theirs
RHO_AT_LAST = 0.12
NOT_JUDGED = (("0.01", "lambda"), ("0.36", "fSVs"), ("0.81", "fSVs"))  # no optimum: table3_notes
KEYS = (Column("nu", r"$\nu$"),)
COLUMNS = (
    Column("rho", r"$\rho$"), Column("lambda", r"$\lambda$"), Column("fSVs", "fSVs", ".4f"),
    Column("rho local", r"$\rho$ local", ".3f"),
    Column("lambda local", r"$\lambda$ local", ".3f"), Column("local", "local", ".2f"),
    Column("excess", "excess", ".0e"),
)  # fmt: skip
ERRORS = (
    Column("train", "train", ".4f"), Column("test", "test", ".4f"),
    Column("test least", "test least", ".4f"), Column("test most", "test most", ".4f"),
)  # fmt: skip


def one_split(seed: int, fold: int) -> Plain:
    """Solve for all nu on the training points of one fold, and count the errors on the others."""
    train, test = liver_split(seed, fold)
    found = solved(train, NUS, local=True)
    for row in found["rows"]:
        scores = test.X @ np.array(row["w"]) + row["b"]
        row["test"] = float(np.mean(test.y * scores <= 0))
    return {"seed": seed} | found


@reproduction(
    NAME,
    "liver disorders: rho, lambda, support vectors and errors over nu, five-fold",
    source=f"{PAPER}, Table 3 and Figure 5",
    quick=f"one split into five folds of {SEEDS}",
)
def run(effort: Effort) -> Report:
    """The print beside means over folds, each run at its proven optimum."""
    liver()
    seeds = range(QUICK if effort.quick else SEEDS)
    tasks = [(seed, fold) for seed in seeds for fold in range(FOLDS)]
    done = run_tasks(one_split, tasks, effort, reads=files_of([LIVER]))
    parts = list(done.results)
    known = len({part["seed"] for part in parts})
    splits = "1 split" if known == 1 else f"{known} splits"
    words = f"means of {len(parts)} parts of {parts[0]['n']} points ({splits})"
    table = Table(
        NAME, words, KEYS, COLUMNS, tuple(_row(nu, _at(parts, float(nu))) for nu in table3())
    )
    errors = Table(
        f"{NAME}-figure5", f"shares of errors, {words}", KEYS, ERRORS,
        tuple(_errors(parts, nu) for nu in NUS),
    )  # fmt: skip
    return Report(
        NAME, f"{PAPER}, Table 3 and Figure 5: liver disorders", (table, errors),
        claims=claims(table, parts),
        notes=(*definitions(ALLOWED, RHO_AT_LAST), *findings(table, errors, parts)),
        figure=figure5(table, errors, mean(part["nu_bar"] for part in parts)),
        unfinished=done.unfinished(len(tasks), "parts"),
    )  # fmt: skip


def _at(parts: Sequence[Plain], nu: float) -> list[Plain]:
    return [row for part in parts for row in part["rows"] if row["nu"] == nu]


def _row(nu: str, rows: Sequence[Plain]) -> Row:
    printed = table3()[nu]
    ours = {
        "rho": mean(row["rho"] for row in rows),
        "lambda": mean(row["lambda"] for row in rows),
        "fSVs": mean(row["SVs"] for row in rows),
    }
    cells = {name: Cell(value, printed[name], allowed(nu, name)) for name, value in ours.items()}
    searched = [row for row in rows if "local excess" in row]
    if searched:
        excess = [row["local excess"] for row in searched]
        cells["rho local"] = Cell(mean(_local(row, "rho") for row in rows))
        cells["lambda local"] = Cell(mean(_local(row, "lambda") for row in rows))
        cells["local"] = Cell(sum(one <= SAME for one in excess) / len(excess))
        cells["excess"] = Cell(max(0.0, *excess))
    return row_of((nu,), cells, rows)


def _local(row: Plain, name: str) -> float:
    """Where the paper's search ended; the convex problem above nu_bar has one optimum."""
    return float(row[f"local {name}"] if f"local {name}" in row else row[name])


def allowed(nu: str, name: str) -> float | None:
    """How far a number may be from the print; None where the print is that of no optimum."""
    if (nu, name) in NOT_JUDGED:
        return None
    return RHO_AT_LAST if (nu, name) == (LAST, "rho") else ALLOWED[name]


def _errors(parts: Sequence[Plain], nu: float) -> Row:
    rows = _at(parts, nu)
    by_split = [
        mean(row["test"] for row in _at([part for part in parts if part["seed"] == seed], nu))
        for seed in {part["seed"] for part in parts}
    ]
    text = f"{nu:.2f}"
    cells = {
        "train": Cell(mean(row["wrong"] for row in rows)),
        "test": Cell(mean(row["test"] for row in rows), FIGURE5.get(text, ""), ALLOWED["test"]),
        "test least": Cell(min(by_split)),
        "test most": Cell(max(by_split)),
    }
    return row_of((text,), cells, rows)


# --- the picture of Figure 5 ----------------------------------------------------------------------


def figure5(table: Table, errors: Table, nu_bar: float) -> Figure:
    """Training and test error on the left, rho and lambda on the right, nu_bar in all."""
    figure = new_figure(PAGE, 3.6)
    panels: dict[str, Any] = figure.subplot_mosaic(
        [["errors", "rho"], ["errors", "lambda"]], width_ratios=[1.3, 1]
    )
    nus = [float(row.words[0]) for row in errors.rows]
    for number, name, words in ((0, "train", "training error"), (1, "test", "test error")):
        shape = look(number)
        panels["errors"].plot(
            nus, [row.cells[name].ours for row in errors.rows], color=shape.colour, ls=shape.line,
            marker=shape.mark, ms=4, lw=1.3, label=words,
        )  # fmt: skip
    for name in ("rho", "lambda"):
        cells = [(float(row.words[0]), row.cells[name]) for row in table.rows]
        panels[name].plot(
            [nu for nu, _ in cells], [cell.ours for _, cell in cells], "-", color=GREY, lw=1.3,
            label="ours, mean of proven optima",
        )  # fmt: skip
        panels[name].plot(
            [nu for nu, _ in cells], [float(cell.printed) for _, cell in cells], "x",
            color=BLACK, ms=5, mew=1.2, label="Table 3 of the paper",
        )  # fmt: skip
        panels[name].axhline(0.0, color=BLACK, lw=0.6)
        panels[name].set_ylabel(name)
    printed = [(float(row.words[0]), row.cells["test"]) for row in errors.rows]
    printed = [(nu, cell) for nu, cell in printed if cell.printed]
    panels["errors"].plot(
        [nu for nu, _ in printed], [float(cell.printed) for _, cell in printed], "*", ms=9,
        color=BLACK, label="test error in the text",
    )  # fmt: skip
    panels["errors"].set_ylabel("share of errors, mean of the folds")
    for axes in panels.values():
        axes.axvline(nu_bar, color=BLACK, ls="-.", lw=1.0, label="nu_bar: nu-SVC right of it")
        axes.set_xlabel("nu")
        tidy(axes, SMALL + 1)
    panels["rho"].set_xlabel("")
    shared_legend(figure)
    return figure
