"""The table of formulations in README.md, written from the catalogue.

python -m docs.generate.readme_table          rewrites the table between its markers
"""

from __future__ import annotations

from pathlib import Path

from tightmargin.formulations import CATALOGUE

BEGIN, END = "<!-- formulations: begin -->", "<!-- formulations: end -->"


def markdown() -> str:
    """Rows name, class, what it is, hyperparameters, relation, source, family by family."""
    lines = [
        "| name | class | what it is | hyperparameters | source |",
        "|---|---|---|---|---|",
    ]
    for entry in CATALOGUE.values():
        relation = ""
        if entry.relaxes:
            relation = f" Relaxes `{entry.relaxes}`."
        elif entry.restates:
            relation = f" Restates `{entry.restates}`."
        words = ", ".join(f"`{name}`" for name in entry.parameters if name != "intercept")
        lines.append(
            f"| `{entry.name}` | {entry.problem_class} | {_escaped(entry.title)}{relation} | "
            f"{words} | {entry.source} |"
        )
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def updated(readme: str) -> str:
    """README text with the table between the markers replaced."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{markdown()}\n{END}{after}"


if __name__ == "__main__":
    path = Path(__file__).parents[2] / "README.md"
    path.write_text(updated(path.read_text()))
