"""Options that several commands share, and what they mean together."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tightmargin.experiments.cli.settings import parse_settings
from tightmargin.experiments.data.loading import about, load_for
from tightmargin.experiments.data.preparation import prepare
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.data.specs import load
from tightmargin.formulations.catalogue import CATALOGUE
from tightmargin.formulations.data.point_weights import BALANCED
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.engines.running import StopReason
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.registry import AUTO
from tightmargin.solvers.result import SolveResult

LARGEST = 1e150  # beyond it a square is infinite


def _beginning(known: Iterable[str], start: str) -> list[str]:
    """Words that a shell may complete."""
    return [word for word in known if word.startswith(start)]


def _formulations(incomplete: str) -> list[str]:
    return _beginning(CATALOGUE, incomplete)


def _solvers(incomplete: str) -> list[str]:
    return _beginning((AUTO, *SOLVERS), incomplete)


Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A formulation, see list.", autocompletion=_formulations),
]
Spec = Annotated[
    str,
    typer.Option(
        "--data",
        metavar="SPEC",
        help="file.csv, file.npz, file.libsvm, Brooks text, sklearn:NAME, uci:NAME or "
        "synthetic:KIND, options after commas.",
    ),
]
OptionalSpec = Annotated[
    str | None,
    typer.Option("--data", metavar="SPEC", help="Data set; by default the one that was recorded."),
]
Label = Annotated[str | None, typer.Option(metavar="NAME", help="The column of labels [y].")]
Positive = Annotated[
    str | None, typer.Option(metavar="VALUE", help="The label that becomes +1; others are -1.")
]
WeightColumn = Annotated[
    str | None,
    typer.Option(
        "--weight-column", metavar="NAME", help="What the points weigh: a column of the data."
    ),
]
ClassWeights = Annotated[
    str | None,
    typer.Option(
        "--class-weight",
        metavar="A=1,B=2",
        help="Factors of the weights of points by label, or balanced.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A hyperparameter, or normalise, kernel, width, degree, coef0, shift, kpca, "
        "kpca_tolerance; repeat for more.",
    ),
]
Solver = Annotated[
    str,
    typer.Option(metavar="NAME", help=f"auto, {', '.join(SOLVERS)}.", autocompletion=_solvers),
]
SecondSolver = Annotated[
    str | None,
    typer.Option("--second-solver", metavar="NAME", help="Asked as well; its claims are compared."),
]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", metavar="SECONDS", help="For each model.")
]
AbsoluteGap = Annotated[
    float,
    typer.Option(
        "--absolute-gap",
        metavar="GAP",
        help="A proven gap of so much is closed too: for optima that are 0, or nearly.",
    ),
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads of the solver.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of the solver.")]
SolverOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="An option of the solver or method that is named, by its own name; repeat for more.",
    ),
]
Isolate = Annotated[
    bool,
    typer.Option(
        "--isolate",
        help="Solve in a process of its own, which a crash or a hang cannot take further.",
    ),
]
Log = Annotated[bool, typer.Option("--log", help="Show the solver's log on standard error.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class SolverChoice:
    """Which solver, and its limits."""

    solver: str = "auto"
    time_limit: float | None = None
    threads: int | None = None
    seed: int | None = None
    log: bool = False
    absolute_gap: float = 0.0

    @property
    def limits(self) -> dict[str, Any]:
        """Keyword arguments of solve() besides the solver."""
        asked = {
            "time_limit": self.time_limit,
            "threads": self.threads,
            "seed": self.seed,
            "log": self.log,
        }
        return asked | ({"absolute_gap": self.absolute_gap} if self.absolute_gap else {})


def solver_options(texts: Iterable[str], *named: str) -> dict[str, Any]:
    """What --option says.

    named: solver and method: one of them must not be "auto".
    Raises ValueError: texts that are no KEY=VALUE, or nobody named whose options they could be.
    """
    found = parse_settings(texts, "--option max_iter=100")
    if found and all(word == AUTO for word in named):
        raise ValueError(
            f"--option {next(iter(found))}: whose option is it? Name a solver with --solver, or a "
            "method with --method"
        )
    return found


def weighted_spec(spec: str, column: str | None, class_weight: str | None) -> str:
    """The SPEC with what the two options say of weights, so that a record has it too.

    Raises ValueError: a class_weight that is neither `balanced` nor label=number, joined by commas.
    """
    if column is not None:
        spec += f",weight={column}"
    if class_weight is None or class_weight == BALANCED:
        return spec if class_weight is None else f"{spec},class_weight={BALANCED}"
    pairs = parse_settings(class_weight.split(","), "--class-weight A=1,B=2")
    return f"{spec},class_weight=" + "+".join(
        f"{label}:{factor}" for label, factor in pairs.items()
    )


def load_data(spec: str, label: str | None, positive: str | None) -> TrainingData:
    """Training data of two classes as the options name it."""
    return load(spec, label=label, positive=positive)


def recorded(
    result: SolveResult, prepared: Prepared, label: str | None, positive: str | None
) -> SolveResult:
    """The result with what it takes to find and prepare its data again.

    Number of points, features and digest are those of the data as loaded.
    """
    raw = prepared.raw
    words = {"label": label, "positive": positive}
    data = about(raw) | {word: value for word, value in words.items() if value is not None}
    message = "; ".join(part for part in (prepared.remark, result.message) if part)
    return replace(result, data=data, normalisation=dict(prepared.record), message=message)


def prepared_data(
    names: Iterable[str],
    spec: str,
    label: str | None,
    positive: str | None,
    preprocessing: dict[str, Any],
) -> Prepared:
    """Data as loaded and as the builders of the named formulations read it."""
    found = prepare(load_for(names, spec, label=label, positive=positive), preprocessing)
    _refuse_huge(spec, found)
    return found


def _refuse_huge(spec: str, prepared: Prepared) -> None:
    """Raise ValueError for features whose products are no numbers."""
    points = getattr(prepared.data, "X", None)
    largest = 0.0 if points is None else float(abs(points).max())
    if largest > LARGEST:
        raise ValueError(
            f"{spec}: the largest feature is {largest:.3g}, and products of such numbers overflow: "
            "add --set normalise=zscore, or take other units"
        )


def writable(path: Path | None, suffixes: tuple[str, ...]) -> None:
    """Refuse an output file before the work is done: its suffix, or a folder that is missing."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path}: the name must end in {' or '.join(suffixes)}")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name a file")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{path}: the folder {path.parent} cannot be written to")


def met_its_limit(result: SolveResult) -> bool:
    """Whether a search of ours ended at its time limit, with a point and a proven bound."""
    limits = (StopReason.TIME_LIMIT, StopReason.TIME_LIMIT)
    stopped = result.certificate.facts.get("stop") in limits
    return stopped and result.status is Status.FEASIBLE and result.bound is not None


def exit_code(result: SolveResult) -> int:
    """0 optimum, 1 not certified, 3 infeasible or unbounded, 4 limit with incumbent, 130."""
    match result.status:
        case Status.INTERRUPTED:
            return 130
        case Status.INFEASIBLE | Status.UNBOUNDED | Status.INFEASIBLE_OR_UNBOUNDED:
            return 3
    if met_its_limit(result):
        return 4
    if result.objective is None or result.certificate.verdict is Verdict.NOT_CERTIFIED:
        return 1
    return 0 if result.status is Status.OPTIMAL else 4
