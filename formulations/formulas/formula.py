"""Formulas of the catalogue as they stand in this folder, one file a paper.

A formula is written once, in Python's syntax, and read twice: latex.py prints it on the page of
its paper, and a test evaluates it at random points beside the built model. `tm.show` prints it too.

    x[i], B[k,j]         entries; an index runs over the set of its letter in capitals, or `ranges`
    sum(i, f), sum(i, f, condition)                     over all i, or those with the condition
    norm2(w)             squared length, b included when the intercept is penalised
    inner(a, b), tr(A), t(A), outer(a), eye(A)          <a, b>, trace, transpose, a a', identity
    psd([[A, B], [C, D]])                               the matrix is semidefinite
    delta(k, l)          1 if k = l, else 0
    priced(f)            f, plus b^2 when the intercept is penalised

A row is "name[indices] (modes of the intercept that have it): comparison | which indices".
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
MODES = ("free", "penalised", "none")
_ROW = re.compile(
    r"(?P<name>\w+)(\[(?P<indices>[^]]*)\])?( \((?P<modes>[^)]*)\))?: (?P<text>[^|]*)"
    r"(\| (?P<which>.*))?"
)
_DEFINITION = re.compile(r"(?P<name>\w+)(\[(?P<indices>[^]]*)\])? = (?P<text>.*)")


@dataclass(frozen=True)
class Row:
    """One family of rows.

    indices: letters that the keys of the component are bound to.
    modes: modes of the intercept in which the model has it.
    text: the comparison.
    which: what an index runs over, where it is not its whole set.
    """

    name: str
    indices: tuple[str, ...]
    text: str
    modes: tuple[str, ...] = MODES
    which: str = ""


@dataclass(frozen=True)
class Formula:
    """The mathematics of one entry.

    paper: file it stands in, and page it is shown on.
    minimise, minimise_free: the objective; the second one for a free intercept where it differs.
    where: abbreviations, as rows whose text is an expression.
    domain: bounds of variables; whatever is not named here or in `boxed` is free.
    boxed: variables with bounds that some optimum satisfies, proven and not part of the formula.
    rows_latex (names, LaTeX): rows that are shown but not evaluated.
    """

    name: str
    paper: str
    source: str
    note: str
    minimise: str = ""
    minimise_free: str = ""
    minimise_latex: str = ""
    rows: tuple[Row, ...] = ()
    rows_latex: tuple[tuple[str, str], ...] = ()
    where: tuple[Row, ...] = ()
    domain: tuple[str, ...] = ()
    boxed: tuple[str, ...] = ()
    symmetric: tuple[str, ...] = ()
    ranges: dict[str, str] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)


def _row(pattern: re.Pattern[str], text: str) -> Row:
    found = pattern.fullmatch(text)
    if found is None:
        raise ValueError(f"not a row: {text!r}")
    parts = found.groupdict()
    indices = tuple(word.strip() for word in (parts["indices"] or "").split(",") if word)
    given = parts.get("modes")
    modes = tuple(word.strip() for word in given.split(",")) if given else MODES
    if not set(modes) <= set(MODES):
        raise ValueError(f"unknown mode of the intercept in {text!r}")
    return Row(parts["name"], indices, parts["text"].strip(), modes, parts.get("which") or "")


def parsed(name: str, paper: str, table: dict[str, object]) -> Formula:
    """Formula from its table in a file.

    Raises ValueError: a row that cannot be read.
    Raises TypeError: a key that does not exist, or one that is missing.
    """
    words: dict[str, object] = {
        key: tuple(tuple(v) if isinstance(v, list) else v for v in value)
        if isinstance(value, list)
        else value
        for key, value in table.items()
    }
    for key, pattern in (("rows", _ROW), ("where", _DEFINITION)):
        words[key] = tuple(_row(pattern, str(text)) for text in words.get(key, ()))  # type: ignore[attr-defined]
    return Formula(name=name, paper=paper, **words)  # type: ignore[arg-type]


def formulas() -> dict[str, Formula]:
    """All formulas by name of their entry.

    Raises ValueError: an entry that stands in two files.
    """
    found: dict[str, Formula] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if name in found:
                raise ValueError(f"{name} is in {path.stem} and in {found[name].paper}")
            found[name] = parsed(name, path.stem, table)
    return found
