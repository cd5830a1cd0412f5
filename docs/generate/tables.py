"""Tables of the registry, the catalogue and the reproductions."""

from __future__ import annotations

from docs.generate.entries import anchor, relation
from docs.generate.families import by_family
from tightmargin.formulations import ProblemClass
from tightmargin.formulations.formulas.formula import formulas
from tightmargin.solvers.engines.registry import ORDER, SOLVERS

CLASSES = {
    ProblemClass.LP: "linear program",
    ProblemClass.QP: "convex quadratic objective, linear rows",
    ProblemClass.SOCP: "second-order cones, convex quadratic rows among them",
    ProblemClass.SDP: "semidefinite matrices",
    ProblemClass.EXP: "exp, log and entropy in convex places, beside any of these",
    ProblemClass.MILP: "linear, some variables whole numbers",
    ProblemClass.MIQP: "convex quadratic objective, some variables whole numbers",
    ProblemClass.MISOCP: "second-order cones, some variables whole numbers",
    ProblemClass.LRCP: "linear rows and one reverse convex one",
    ProblemClass.NONCONVEX: "everything else",
}


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |"
                     for line in lines)  # fmt: skip


def catalogue() -> str:
    """Every formulation by family, with its class, what it relaxes, its hyperparameters."""
    pages = formulas()
    parts = []
    for family, entries in by_family().items():
        rows = []
        for entry in entries:
            link = f"[`{entry.name}`](papers/{pages[entry.name].paper}.md#{anchor(entry.name)})"
            title = "".join(rf"\{c}" if c in r"\`*_[]<>$" else c for c in entry.title)
            words = ", ".join(f"`{word}`" for word in entry.parameters if word != "intercept")
            what = title + relation(entry, "papers/")
            rows.append([link, str(entry.problem_class), what, words])
        head = ["name", "class", "what it is", "hyperparameters"]
        parts.append(f"### {family}\n\n{_table(head, rows)}")
    return "\n\n".join(parts)


def solvers() -> str:
    """Every solver with the classes it takes, its licence and its tolerance."""
    rows = []
    for name, info in SOLVERS.items():
        taken = ", ".join(each for each in ProblemClass if each in info.classes)
        named = ", ".join(each for each in ProblemClass if each in info.by_name)
        rows.append([
            f"`{name}`", taken + (f"; when named also {named}" if named else ""), info.licence,
            f"{info.tolerance:g}", info.tolerance_because,
        ])  # fmt: skip
    return _table(["solver", "takes", "licence", "tolerance", "because"], rows)


def classes() -> str:
    """Every class with what it is and who takes it, first choice first."""
    rows = [
        [f"`{each}`", CLASSES[each], ", ".join(f"`{name}`" for name in ORDER[each])]
        for each in ProblemClass
    ]
    return _table(["class", "what it is", "solvers, in order of preference"], rows)


def reproductions(paper: str) -> str:
    """Tables and figures of a paper that can be run again."""
    from tightmargin.experiments.reproduce.papers import everything

    prefix = paper.replace("_", "-") + "-"
    found = [each for each in everything() if each.name.startswith(prefix)]
    if not found:
        return "No table or figure of this paper can be run again yet."
    rows = [[f"`{each.name}`", each.title, each.source, each.quick] for each in found]
    full = "[Every one at full size](../results/index.md), number by number beside the print."
    command = f"```\ntightmargin reproduce {prefix[:-1]}            every one of them\n"
    one = f"tightmargin reproduce {found[0].name} --quick\n```"
    return f"{_table(['name', 'what', 'where', '--quick'], rows)}\n\n{full}\n\n{command}{one}"
