"""Writing a reproduction down: csv with every digit, LaTeX as the paper lays it out, PNG."""

from __future__ import annotations

import csv
from pathlib import Path

from tightmargin.experiments.reproduce.framework.comparison import (
    Cell,
    Row,
    Table,
    is_number,
    ours_text,
)
from tightmargin.experiments.reproduce.framework.report import Report


def save(report: Report, folder: Path) -> tuple[str, ...]:
    """Write the tables and the picture of a report; names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in report.tables:
        file = folder / f"{table.name}.csv"
        write_csv(table, file)
        written.append(str(file))
        if table.shown:
            file = folder / f"{table.name}.tex"
            file.write_text(to_latex(table, report), encoding="utf-8")
            written.append(str(file))
    if report.figure is not None:
        file = folder / f"{report.name}.png"
        report.figure.savefig(file)
        written.append(str(file))
    return tuple(written)


def write_csv(table: Table, file: Path) -> None:
    """Keys in full; for every column the paper's number as printed and ours in full; the proof."""
    head = [key.name for key in table.keys]
    for column in table.columns:
        head += [f"{column.name} paper"] if table.printed(column.name) else []
        head.append(f"{column.name} ours" if table.printed(column.name) else column.name)
    with file.open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow([*head, "relative gap", "verdict"])
        for row in table.rows:
            cells: list[str] = []
            for column in table.columns:
                cell = row.cells.get(column.name)
                if table.printed(column.name):
                    cells.append(cell.printed if cell else "")
                cells.append("" if cell is None else repr(float(cell.ours)))
            gap = "" if row.relative_gap is None else repr(float(row.relative_gap))
            verdict = "" if row.verdict is None else str(row.verdict)
            keys = [key if isinstance(key, str) else repr(key) for key in row.key]
            rows.writerow([*keys, *cells, gap, verdict])


BOLD = "ours in bold: not the paper's number after rounding to its digits"
_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": "$<$", ">": "$>$", "|": "$|$", **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\u2264": r"$\leq$", "\u2265": r"$\geq$", "\u00b1": r"$\pm$", "\u00d7": r"$\times$",
    "\u221e": r"$\infty$", "\u221a": r"$\surd$", "\u2212": "$-$", "\u00b2": "$^2$",
    "\u03b1": r"$\alpha$", "\u03b2": r"$\beta$", "\u03b3": r"$\gamma$", "\u03b4": r"$\delta$",
    "\u03b5": r"$\varepsilon$", "\u03b7": r"$\eta$", "\u03bb": r"$\lambda$", "\u03bc": r"$\mu$",
    "\u03bd": r"$\nu$", "\u03be": r"$\xi$", "\u03c0": r"$\pi$", "\u03c1": r"$\rho$",
    "\u03c3": r"$\sigma$", "\u03c4": r"$\tau$", "\u03c6": r"$\varphi$",
}  # fmt: skip


def escaped(words: str) -> str:
    """Plain words as LaTeX writes them: no sign of theirs is a command."""
    return "".join(_LATEX.get(sign, sign) for sign in words)


def to_latex(table: Table, report: Report) -> str:
    r"""Table (booktabs): the paper's number and ours side by side, ours in bold where not equal.

    What was checked and how it ended, what is not proven, and why numbers differ stand above it in
    comments.
    """
    words = [report.title]
    words += [f"{claim.outcome}: {claim.text}" for claim in report.judged]
    words += report.notes
    words += [f"complaint: {line}" for line in table.complaints()]
    words += [BOLD] if any(True for _ in table.pairs()) else []
    words += [f"UNFINISHED: {report.unfinished}"] if report.unfinished else []
    lines = [f"% {' '.join(word.split())}" for word in words]
    form = "".join(_side(table, number) for number in range(len(table.keys)))
    upper, lower = [""] * len(table.keys), [key.latex for key in table.keys]
    for column in table.columns:
        if table.printed(column.name):
            form += "rr"
            upper.append(rf"\multicolumn{{2}}{{c}}{{{column.latex}}}")
            lower += ["paper", "ours"]
        else:
            form += "r"
            upper.append("")
            lower.append(column.latex)
    lines += [rf"\begin{{tabular}}{{{form}}}", r"\toprule", _line(upper), _line(lower), r"\midrule"]
    before = table.rows[0].words[0] if table.rows else ""
    for row in table.rows:
        if len(table.keys) > 1 and row.words[0] != before:
            lines.append(r"\midrule")
        before = row.words[0]
        lines.append(_line([*map(escaped, row.words), *_latex_cells(table, row)]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _latex_cells(table: Table, row: Row) -> list[str]:
    cells = []
    for column in table.columns:
        cell = row.cells.get(column.name)
        if table.printed(column.name):
            cells.append(cell.printed if cell else "")
        cells.append("" if cell is None else _bold_where_different(cell, column.form))
    return cells


def _bold_where_different(cell: Cell, form: str) -> str:
    text = ours_text(cell, form)
    return rf"\textbf{{{text}}}" if not cell.equal else text


def _side(table: Table, position: int) -> str:
    """Numbers to the right, words to the left."""
    return "r" if all(is_number(row.words[position]) for row in table.rows) else "l"


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
