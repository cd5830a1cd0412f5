"""What every builder's docstring says after its mathematics: all parameters, and an example.

A builder documents what is its own. Hyperparameters that many builders share are described here
once, and a relaxation takes the other ones as its problem does. The example solves the model on a
few points and prints it as it is built; where the entry bounds, restates or is the dual of another
one, it shows that relation.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping

from tightmargin.formulations.catalogue import Entry
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.formulas.formula import at_mode, formulas
from tightmargin.formulations.formulas.notation import Text

SHARED = {
    "C": ("float", "Cost of a unit of slack, positive."),
    "class_weight": (
        "sequence of two numbers, optional",
        "Weight s_i of a slack of label -1 and of one of label +1; 1 for both when left out.",
    ),
    "ridge": ("float", "Price of the squared norm, positive; losses are a mean over the points."),
    "pi": ("float", "The probability that the sign is about, between 0 and 1."),
    "nu": (
        "float",
        "In (0, nu_max]: the share of points that may violate their margin; `tm.theory.nu_range`.",
    ),
    "class_balance": (
        '"uniform", "balanced" or array (n,)',
        "Weights c_i of the losses: 1 / n, 1 / (2 n_class), or given ones that sum to 1.",
    ),
    "scale": (
        '"takeda" or "perez_cruz"',
        "As printed above, or with norm 2 in place of 1 and n times the objective.",
    ),
    "beta": ("float", "1 - beta is the share of the tail; in [1 - nu_max, 1)."),
    "norm_bound": ("float", "The capacity H, positive: the largest norm of a hyperplane."),
    "penalty": ("float", "Price of a point that is given up, positive."),
    "both_sides": ("bool", "Whether the redundant rows `violated` are written too."),
    "budget": ("float", "Share of the points that may be given up, in (0, 1]."),
    "intercept_bound": (
        'number or "derived", optional',
        '|b| of some optimum, demanded with a free intercept; "derived" is proven from the data.',
    ),
    "intercept": (
        '"free", "penalised" or "none"',
        "b without a price, b as one more entry of w in every norm, or b = 0.",
    ),
}
DATA = {
    TrainingData: "points with labels -1 and +1",
    GramData: "a kernel matrix with them",
    MulticlassData: "points of several classes",
}
# What the examples need beside the data; hyperparameters with a default are left alone.
VALUES = {
    "C": "1.0", "beta": "0.7", "big_m": '"derived"', "budget": "0.2", "exponent": "1.5",
    "hull_bound": "0.6", "loss": '"squared_hinge"', "price": "0.5",
    "norm_bound": "0.5", "nu": "0.3", "penalty": "1.0", "pi": "0.3", "rank": "1", "ridge": "0.5",
    "shape": "(2, 2)", "strengthening": '"equal"', "tau": "0.5", "truncation": "-1.0",
    "w_ref": '"mean_difference"',
}  # fmt: skip
# Below 0.51 the optimum of these is w = 0.
ABOVE = ("nu_svc", "nu_svc_dual", "extended_nu_svc_ball", "extended_nu_svc_dual")
OWN = {name: {"nu": "0.6"} for name in ABOVE}
SEPARABLE = "tm.TrainingData([[0, 0], [1, 3], [2, 1], [3, 2], [4, 4]], [-1, -1, -1, 1, 1])"
OVERLAPPING = "tm.TrainingData([[0, 0], [1, 3], [2, 1], [1, 1], [4, 4]], [-1, -1, -1, 1, 1])"
CLASS_MATRICES = (
    "tm.MulticlassData([[0, 0, 1, 2], [1, 3, 0, 1], [2, 1, 1, 0], [3, 2, 0, 0]], [0, 1, 2, 1])"
)
CLASSES = "tm.MulticlassData([[0, 0], [1, 3], [2, 1], [3, 2]], [0, 1, 2, 1])"
MATRICES = "tm.TrainingData([[0, 0, 1, 2], [1, 3, 0, 1], [2, 1, 1, 0]], [-1, -1, 1])"
SOMETIMES = {"decided", "chord", "conflict"}  # rows that the points of the examples do not have
_ITEM = re.compile(r"([\w*]+(?:, [\w*]+)*)(?: : .+)?")


def complete(entry: Entry, catalogue: Mapping[str, Entry]) -> None:
    """Add to the docstring of an entry's builder the parameters it leaves out, and an example."""
    text = inspect.getdoc(entry.build)
    if not text:  # python -OO
        return
    text = _with_parameters(text, entry, catalogue)
    if "\nExamples\n" not in text:
        text += f"\n\nExamples\n--------\n{_example(entry, catalogue)}"
    entry.build.__doc__ = text


def documented(text: str) -> set[str]:
    """Names that the section Parameters of a docstring describes."""
    section = text.partition("Parameters\n----------\n")[2]
    section = re.split(r"\n\w+\n-{3,}\n", section)[0]
    heads = (_ITEM.fullmatch(line) for line in section.splitlines())
    return {name.lstrip("*") for head in heads if head for name in head[1].split(", ")}


def _with_parameters(text: str, entry: Entry, catalogue: Mapping[str, Entry]) -> str:
    known = documented(text)
    problem = _problem(entry)
    inherited = documented(inspect.getdoc(catalogue[problem].build) or "") if problem else set()
    lines = []
    for word in inspect.signature(entry.build).parameters:
        if word in known:
            continue
        if word == "data":
            kinds = " or ".join(kind.__name__ for kind in entry.takes)
            told = ", or ".join(DATA[kind] for kind in entry.takes)
            lines += [f"data : {kinds}", f"    {told[:1].upper()}{told[1:]}."]
        elif problem and word in inherited and word not in SHARED:
            lines += [word, f"    As for {problem}."]
        elif word in SHARED:
            kind, told = SHARED[word]
            lines += [f"{word} : {kind}", f"    {told}"]
    head = "Parameters\n----------\n"
    added = "\n".join(lines)
    if head in text:
        return text.replace(head, f"{head}{added}\n", 1)
    before, raises, after = text.partition("\n\nRaises\n------\n")
    return f"{before}\n\n{head}{added}{raises}{after}"


def _problem(entry: Entry) -> str:
    return entry.relaxes or entry.restates or entry.dual_of or ""


def _call(entry: Entry) -> str:
    needed = [
        word
        for word, declared in entry.parameters.items()
        if declared.default is inspect.Parameter.empty
    ]
    values = VALUES | OWN.get(entry.name, {})
    return f"tm.{entry.name}({', '.join(['data', *(f'{word}={values[word]}' for word in needed)])})"


def _points(entry: Entry) -> str:
    if MulticlassData in entry.takes:
        return CLASS_MATRICES if "shape" in entry.parameters else CLASSES
    if "shape" in entry.parameters:
        return MATRICES
    return OVERLAPPING if len(entry.parameters) > 1 else SEPARABLE  # a margin, or a price of it


def _printed(entry: Entry) -> list[str]:
    """What tm.show prints of the model, without its index sets, bounds and data."""
    formula, mode = formulas()[entry.name], str(entry.parameters["intercept"].default)
    goal = formula.minimise_free if mode == "free" and formula.minimise_free else formula.minimise
    lines = [("min", goal)] if goal else []
    lines += [
        (f"{row.name}[{','.join(row.indices)}]" if row.indices else row.name, row.text)
        for row in formula.rows
        if mode in row.modes and row.name not in SOMETIMES
    ]
    width, text = max((len(name) for name, _ in lines), default=0), Text(formula.templates)
    head = f"{entry.name} ({entry.problem_class}): {entry.title}"
    rows = [
        f"  {name:<{width}}  {text.text(at_mode(row, mode))}{' ...' * ('[' in name)}"
        for name, row in lines
    ]
    return [head, *rows, "  ..."]


def _example(entry: Entry, catalogue: Mapping[str, Entry]) -> str:
    lines = [
        ">>> import tightmargin as tm",
        f">>> data = {_points(entry)}",
        f">>> model = {_call(entry)}",
        ">>> print(tm.show(model))",
        *_printed(entry),
        ">>> result = tm.solve(model)",
        ">>> result.certificate.verdict.value",
        "'CERTIFIED'",
    ]
    if problem := _problem(entry):
        sign = "+" if entry.dual_of else "-"
        test = (
            "result.bound <= problem.objective"
            if entry.relaxes
            else f"abs(result.objective {sign} problem.objective) < 1e-6"
        )
        lines += [f">>> problem = tm.solve({_call(catalogue[problem])})", f">>> {test}", "True"]
    return "\n".join(lines)
