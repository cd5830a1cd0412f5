"""The formulations of a paper: formula, source, builder, tests."""

from __future__ import annotations

import inspect
from itertools import groupby

from docs.generate.witnesses import ROOT, TABLE, case_line, tests_naming
from tightmargin.formulations import CATALOGUE, Entry
from tightmargin.formulations.formulas.formula import MODES, Formula, formulas
from tightmargin.formulations.formulas.notation import SYMBOLS, latex, letter

NAMES = {
    "bi_vapnik": "Bi & Vapnik 2003", "cepeda_gomez_han": "Cepeda, Gomez & Han 2024",
    "lee": "Lee 2020", "perez_cruz": "Perez-Cruz et al. 2003",
    "takeda_sugiyama": "Takeda & Sugiyama 2008",
}  # fmt: skip
_SHOWN_TESTS = 3


def paper_section(paper: str) -> str:
    """Every formulation that stands on the page of a paper, in the order of its file.

    Raises
    ------
    KeyError
        A paper without a page.
    """
    mine = [formula for formula in formulas().values() if formula.paper == paper]
    if paper not in NAMES or not mine:
        raise KeyError(f"no formulations of {paper}")
    return "\n\n".join(_entry(formula) for formula in mine)


def elsewhere(paper: str) -> str:
    """Links to entries whose source names this paper and that stand on another page."""
    known, name = formulas(), NAMES[paper]
    links = [
        f"[`{entry.name}`]({known[entry.name].paper}.md#{anchor(entry.name)})"
        for entry in CATALOGUE.values()
        if name in entry.source and known[entry.name].paper != paper
    ]
    return f"On another page, and of this paper too: {', '.join(links)}." if links else ""


def anchor(entry: str) -> str:
    """Target of the entry's heading on its page."""
    return f"formula-{entry.replace('_', '-')}"


def _entry(formula: Formula) -> str:
    entry = CATALOGUE[formula.name]
    parts = [
        f"({anchor(entry.name)})=\n### `{entry.name}`",
        _linked(entry.title) + relation(entry),
        f"*{entry.problem_class}* · {formula.source}",
        f'<div class="formula">\n\n{_program(formula)}\n\n</div>',
        _symbols(formula, entry),
        formula.note,
        _builder(entry),
        _tests(entry),
    ]
    return "\n\n".join(part for part in parts if part)


def _linked(title: str) -> str:
    """A first line of a docstring as Markdown: nothing in it is markup."""
    return "".join(rf"\{c}" if c in r"\`*_[]<>|$" else c for c in title)


def relation(entry: Entry, folder: str = "") -> str:
    """Sentence on what the entry relaxes, restates or is dual of, unless its title says it."""
    for word, other in (
        ("Relaxes", entry.relaxes), ("Dual of", entry.dual_of), ("Restates", entry.restates)
    ):  # fmt: skip
        if other and not entry.title.startswith(word) and f"{word} `{other}`" not in entry.title:
            page = formulas()[other].paper
            return f" {word} [`{other}`]({folder}{page}.md#{anchor(other)})."
    return ""


def _program(formula: Formula) -> str:
    """Objective, rows with their names, bounds and abbreviations as one table."""
    objective = formula.minimise_latex or latex(formula.minimise, formula.templates)
    lines = [("**min**", objective, "")]
    for row in formula.rows:
        shown = row.name + (f"[{','.join(row.indices)}]" if row.indices else "")
        when = "" if row.modes == MODES else f"intercept {' or '.join(row.modes)}"
        which = f"{', '.join(row.which.split(', '))}" if row.which else ""
        remark = "; ".join(part for part in (which, when) if part)
        lines.append((f"`{shown}`", latex(row.text, formula.templates), _indexed(remark)))
    lines += [
        (", ".join(f"`{name}`" if name != "..." else name for name in names.split(", ")), text, "")
        for names, text in formula.rows_latex
    ]
    if formula.domain:
        bounds = r",\quad ".join(latex(text) for text in formula.domain)
        lines.append(("bounds", bounds, ""))
    if formula.boxed:
        symbols = ", ".join(f"${letter(name)}$" for name in formula.boxed)
        lines.append(("proven bounds", "", f"on {symbols}, that some optimum satisfies"))
    for row in formula.where:
        index = f"[{','.join(row.indices)}]" if row.indices else ""
        left = latex(row.name + index, formula.templates)
        lines.append(("where", f"{left} = {latex(row.text, formula.templates)}", ""))
    wide = any(remark for _, _, remark in lines)  # a column that holds nothing is not drawn
    head = "| | | |\n|:---|:---|:---|\n" if wide else "| | |\n|:---|:---|\n"
    return head + "\n".join(
        f"| {name} | {_displayed(text)} |" + (f" {remark} |" if wide else "")
        for name, text, remark in lines
    )


def _displayed(text: str) -> str:
    return rf"$\displaystyle {text}$" if text else ""


def _indexed(remark: str) -> str:
    return remark.replace("y_i", "$y_i$").replace("k other", "$k$ other")


def _symbols(formula: Formula, entry: Entry) -> str:
    """Which hyperparameter a letter stands for, where it is not its own name."""
    written = " ".join(
        [formula.minimise, formula.minimise_free]
        + [row.text for row in formula.rows + formula.where]
        + list(formula.domain)
    )
    used = [
        f"${SYMBOLS[word]}$ is `{word}`"
        for word in entry.parameters
        if word in SYMBOLS and SYMBOLS[word] != word and _is_used(word, written)
    ]
    return f"Here {', '.join(used)}." if used else ""


def _is_used(word: str, written: str) -> bool:
    return any(part == word for part in _words(written))


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "_" else " " for c in text).split()


def _builder(entry: Entry) -> str:
    build = inspect.unwrap(entry.build)
    path = inspect.getsourcefile(build)
    assert path is not None
    lines, first = inspect.getsourcelines(build)
    line = first + next(k for k, text in enumerate(lines) if text.startswith("def "))
    file = (ROOT / path).resolve().relative_to(ROOT).as_posix()
    module = build.__module__
    words = ", ".join(f"`{word}`" for word in entry.parameters)
    source = f"../_modules/{module.replace('.', '/')}.html#{entry.name}"
    return (
        f"Builder: {{py:func}}`tm.{entry.name} <tightmargin.{entry.name}>`, "
        f"hyperparameters {words}; "
        f'<a href="{source}"><code>{file}</code>, line {line}</a>.'
    )


def _tests(entry: Entry) -> str:
    """The independent optimum first, then further tests by file."""
    named = [test for test in tests_naming(entry.name) if test.file != TABLE]
    parts = []
    for file, tests in groupby(named, key=lambda test: test.file):
        each = list(tests)
        shown = ", ".join(f"`{test.name}` ({test.line})" for test in each[:_SHOWN_TESTS])
        more = len(each) - _SHOWN_TESTS
        parts.append(f"- `{file}`: {shown}{f' and {more} more' if more > 0 else ''}")
    first = (
        "Witness: its optimum from elsewhere, through every solver that takes the class, "
        f"`{TABLE}`, line {case_line(entry.name)}"
    )
    if not parts:
        return f"{first}."
    listed = "\n".join(parts)
    summary = f"Tests that name it ({len(named)})"
    return f"{first}.\n\n<details><summary>{summary}</summary>\n\n{listed}\n\n</details>"
