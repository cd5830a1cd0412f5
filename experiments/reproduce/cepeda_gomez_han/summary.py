"""Means and standard deviations over replications, beside the print and with their proof."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from tightmargin.experiments.reproduce.cepeda_gomez_han.published import Pair
from tightmargin.experiments.reproduce.cepeda_gomez_han.replications import TIE, Found
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of some numbers.

    Attributes
    ----------
    mean : float
    deviation : float
        With n - 1 below the line; 0 of one number.
    count : int
    """

    mean: float
    deviation: float
    count: int


def spread(numbers: Iterable[float]) -> Spread:
    """Of at least one number."""
    listed = list(numbers)
    return Spread(mean(listed), stdev(listed) if len(listed) > 1 else 0.0, len(listed))


def rates(runs: Iterable[Found], method: str, rule: str = TIE) -> list[float]:
    """Percent of wrong test points of every run."""
    return [run[method]["test"][rule] for run in runs]


def seconds(runs: Iterable[Found], method: str) -> list[float]:
    """Of every run, for its whole grid."""
    return [run[method]["seconds"] for run in runs]


def columns(name: str, latex: str, form: str = ".2f") -> tuple[Column, Column]:
    """A mean and its standard deviation."""
    return Column(name, latex, form), Column(f"{name} sd", "s.d.", form)


def cells(
    name: str, found: Spread, printed: Pair = ("", ""), allowed: float | None = None
) -> dict[str, Cell]:
    """A mean, judged if there is an allowance, and its standard deviation, which never is.

    One number has no standard deviation.
    """
    mean_cell = {name: Cell(found.mean, printed[0], allowed)}
    if found.count == 1:
        return mean_cell
    return mean_cell | {f"{name} sd": Cell(found.deviation, printed[1], None)}


def row_of(
    key: tuple[str | float, ...], found: Mapping[str, Cell], runs: Sequence[Found], method: str
) -> Row:
    """The row of a method: CERTIFIED where every fit of every grid is."""
    mine = [run[method] for run in runs]
    proofs = [one["certified"] == one["fits"] for one in mine]
    return Row.of_runs(key, found, [one["gap"] for one in mine], proofs)


def where(runs: Iterable[Found], **values: object) -> list[Found]:
    """The runs that have these values."""
    return [run for run in runs if all(run[name] == value for name, value in values.items())]


def tie_note(runs: Sequence[Found], methods: Sequence[str], rules: Sequence[str]) -> str:
    """How little, or how much, the choice among equally good hyperparameters matters."""
    texts = [
        f"{method} " + " / ".join(f"{mean(rates(runs, method, rule)):.2f}" for rule in rules)
        for method in methods
    ]
    return (
        f"of equally good hyperparameters the {TIE} is taken, as the paper does not say which; "
        f"mean of all runs with the {' / '.join(rules)} one: {', '.join(texts)}"
    )


def machines(runs: Iterable[Found]) -> str:
    """Where the runs were made."""
    return "; ".join(sorted({run["machine"] for run in runs}))
