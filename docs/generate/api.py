"""The reference: public names by task, and the modules below them by room."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import tightmargin
from docs.generate.families import by_family
from tightmargin.formulations import CATALOGUE

# Public modules without a name at the front door.
MORE = {
    "formulations": (
        "catalogue", "data.training_data", "data.multiclass_data", "common.hyperplane",
        "common.margin_levels", "modeling.affine_rows", "modeling.cones", "data.normalisation",
        "data.kernels", "data.kernel_pca", "zero_one.big_m", "zero_one.slack_bounds",
        "zero_one.conflicts", "conic.strengthening", "nu.reduced_hull", "rigorous_svm.equivalence",
    ),
    "solvers": (
        "solve", "result", "certify.certify", "engines.registry", "live_lp", "doctor",
        "zero_one.conflicts", "zero_one.cones", "zero_one.least_errors",
    ),
    "cuts": (
        "cut.cut", "cut.scaling", "generation.concavity", "generation.facial", "outer_loop.result",
        "separation.asking", "separation.found_rows", "search.result", "nu_path.row",
        "nu_path.result",
    ),
    "experiments": (
        "statistics.risk_bounds", "statistics.margin_errors",
        "statistics.vc_bound", "statistics.sample_complexity",
        "data.specs", "data.outlier_generators", "validation.cross_validation", "gap_study.study",
        "gap_study.ladder", "gap_study.comparing", "gap_study.gap_table", "studies.runner",
        "reproduce.framework.registry",
        "reproduce.framework.report",
    ),
}  # fmt: skip

NAMESPACES = ("", "search", "paths", "cuts", "data", "plots", "theory", "studies", "errors")


class Task(NamedTuple):
    """A page of the reference.

    Attributes
    ----------
    title, about : str
    names : tuple of str
        Names of the front door.
    spaces : tuple of str
        Namespaces all of whose names belong here.
    """

    title: str
    about: str
    names: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()


TASKS = {
    "build": Task(
        "Build a model",
        "Every builder takes data and hyperparameters and returns a Pyomo `ConcreteModel`. "
        "`tm.catalogue` has all but two by name, `tm.catalogue.plot()` draws how they belong "
        "together.",
        ("build", "conic_hull", "formulation", "psd", "rank_one_hull"),
    ),
    "data": Task(
        "Data",
        "What builders take, where data come from, and what is done to them before.",
        ("TrainingData", "GramData", "MulticlassData", "load"),
        ("data",),
    ),
    "solve": Task(
        "Solve",
        "One door, `tm.solve`, for every formulation, every solver and every method.",
        ("solve", "solve_isolated", "SolveResult", "LiveLP", "export", "read_model"),
    ),
    "prove": Task(
        "Prove",
        "A result carries its certificate; here are saved results and machines of others.",
        ("certify", "certify_fitted", "ProvenFit"),
    ),
    "edit": Task(
        "Edit",
        "What a model says, what an edit did to it, and why nothing is left.",
        ("show", "diff", "same_model", "rederive", "explain_infeasible"),
    ),
    "compare": Task(
        "Compare, and follow a hyperparameter",
        "Gap tables, tightened relaxations, and paths whose every row is proven.",
        ("compare", "tighten"),
        ("paths",),
    ),
    "fit": Task(
        "Fit and predict",
        "Every formulation that classifies, as a scikit-learn estimator or in one call.",
        ("FormulationClassifier", "fit", "read_fitted", "UncertifiedError", "UncertifiedWarning"),
    ),
    "search": Task(
        "Searches and cuts",
        "Global searches, heuristics and cuts; `tm.solve` takes most searches as a `method`.",
        ("separate",),
        ("search", "cuts"),
    ),
    "plots": Task("Plots", "", (), ("plots",)),
    "theory": Task("Theory", "What is evaluated instead of solved.", (), ("theory",)),
    "studies": Task("Studies", "One function over many tasks.", (), ("studies",)),
    "errors": Task("Errors", "What is raised, and when.", (), ("errors",)),
}


def names_of(namespace: str) -> list[str]:
    """Public names of `tightmargin` or of one of its namespaces, those that are no module."""
    place = importlib.import_module(f"tightmargin.{namespace}") if namespace else tightmargin
    found = [name for name in place.__all__ if not inspect.ismodule(getattr(place, name))]
    return sorted((name for name in found if name != "catalogue"), key=str.lower)


def thing_of(namespace: str, name: str) -> Any:
    """What a public name stands for."""
    return getattr(getattr(tightmargin, namespace) if namespace else tightmargin, name)


@functools.cache
def public_names() -> dict[str, Any]:
    """Every function and class a user can reach, by the shortest of its names from `tm` on."""
    found: dict[str, Any] = {}
    known: set[int] = set()
    for space in NAMESPACES:
        for name in names_of(space):
            thing = thing_of(space, name)
            if (inspect.isfunction(thing) or inspect.isclass(thing)) and id(thing) not in known:
                known.add(id(thing))
                found[f"{space}.{name}".lstrip(".")] = thing
    return found


def on_doctree_read(app: Any, doctree: Any) -> None:
    """Sphinx's hook: a public name is found by where it is defined too, as from its source."""
    from sphinx.addnodes import desc_signature

    defined = {f"tightmargin.{name}": thing for name, thing in public_names().items()}
    for signature in doctree.findall(desc_signature):
        for target in list(signature["ids"]):
            whole, _, member = target.rpartition(".")
            thing, end = (defined[target], "") if target in defined else (None, f".{member}")
            thing = thing or defined.get(whole)
            if thing is not None:
                signature["ids"].append(f"{thing.__module__}.{thing.__qualname__}{end}")
                signature["module"] = thing.__module__  # whose page of source links back


# --- pages by task -----------------------------------------------------------------------------


def task_names(task: Task) -> list[str]:
    """Public names on the page of a task, each under its shortest name."""
    shortest = {id(thing): name for name, thing in public_names().items()}
    found = list(task.names)
    for space in task.spaces:
        things = [thing_of(space, name) for name in names_of(space)]
        found += [shortest[id(thing)] for thing in things if id(thing) in shortest]
    return list(dict.fromkeys(found))


@functools.cache
def pages() -> dict[str, str]:
    """Pages of the reference, by the name of their file."""
    named = {key: f"# {task.title}\n\n{_page(key)}\n" for key, task in TASKS.items()}
    elsewhere: set[str] = set()
    for key, task in TASKS.items():
        mine = [name for name in [*_builders(key), *task_names(task)] if name not in elsewhere]
        elsewhere |= set(mine)
        named[key] += "\n" + "\n\n".join(map(_directive, mine)) + "\n"
    return named


def _builders(key: str) -> list[str]:
    return (
        [entry.name for group in by_family().values() for entry in group] if key == "build" else []
    )


def _page(key: str) -> str:
    """What a page says before its entries: a table of its names, by family or namespace."""
    task = TASKS[key]
    parts = [task.about]
    if key == "plots":
        parts.append(inspect.getdoc(tightmargin.experiments.plots) or "")
    if key == "build":
        for title, group in by_family().items():
            parts.append(f"## {title}\n\n{_table([entry.name for entry in group])}")
        parts.append(f"## Around the builders\n\n{_table(task.names)}")
    elif task.names:
        parts.append(_table(task.names))
    for space in task.spaces if key != "plots" else ():
        about = (inspect.getdoc(getattr(tightmargin, space)) or "").strip()
        mine = [name for name in task_names(Task("", "", (), (space,))) if name not in task.names]
        head = f"## tm.{space}\n\n{about}\n\n" if len(task.spaces) > 1 or task.names else ""
        parts.append(f"{head}{_table(mine)}")
    return "\n\n".join(part for part in [*parts, "## Reference"] if part)


def _table(names: Any) -> str:
    rows = []
    for name in names:
        thing = public_names()[name]
        role = "class" if inspect.isclass(thing) else "func"
        title = (inspect.getdoc(thing) or "").partition("\n")[0]
        rows.append(f"| {{py:{role}}}`tm.{name} <tightmargin.{name}>` | {_plain(title)} |")
    return "\n".join(["| name | what it is |", "|:---|:---|", *rows])


def _plain(text: str) -> str:
    return "".join(rf"\{c}" if c in r"\`*_[]<>|$" else c for c in text)


def _directive(name: str) -> str:
    thing = public_names()[name]
    kind = "autoclass" if inspect.isclass(thing) else "autofunction"
    members = "\n   :members:" if kind == "autoclass" and not issubclass(thing, Exception) else ""
    return f"```{{eval-rst}}\n.. {kind}:: tightmargin.{name}{members}\n```"


def task(key: str) -> str:
    """Page of a task.

    Raises
    ------
    KeyError
        There is no such task.
    """
    return pages()[key]


def tasks() -> str:
    """The pages of the reference with what is on them."""
    rows = [
        f"| [{task.title}]({key}.md) | {task.about or 'Every drawing function, by its question.'} |"
        for key, task in TASKS.items()
    ]
    return "\n".join(["| task | what is there |", "|:---|:---|", *rows])


# --- pages by room -----------------------------------------------------------------------------


def modules(room: str) -> Iterator[str]:
    """Documented modules of a room with something in them that has no page by task."""
    names = {str(thing.__module__) for thing in public_names().values()}
    names |= {entry.build.__module__ for entry in CATALOGUE.values()} | {
        f"tightmargin.{room}.{name}" for name in MORE[room]
    }
    mine = sorted(name for name in names if name.split(".")[1] == room)
    yield from (name for name in mine if inner(name))


def inner(module: str) -> list[str]:
    """Functions and classes that a module defines and no public name has, in their order."""
    known = {id(thing) for thing in public_names().values()}
    return [
        name
        for name, thing in vars(importlib.import_module(module)).items()
        if not name.startswith("_")
        and (inspect.isfunction(thing) or inspect.isclass(thing))
        and thing.__module__ == module
        and inspect.getdoc(thing)
        and id(thing) not in known
    ]


def room(name: str) -> str:
    """Reference of what the modules of a room have beside public names.

    Raises
    ------
    KeyError
        There is no such room.
    """
    parts = []
    for module in modules(name):
        # Their names are given: left to itself, autodoc loads all that a module imports.
        directive = f".. automodule:: {module}\n   :members: {', '.join(inner(module))}"
        parts.append(f"## {module}\n\n```{{eval-rst}}\n{directive}\n```")
    return "\n\n".join(parts)
