"""Table 3: Adult-4 and Breast Cancer, means and medians over stratified splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from tightmargin.experiments.data.public_data import files_of
from tightmargin.experiments.reproduce.bi_vapnik.measured import (
    Measured,
    Run,
    as_run,
    cut_short,
    measured,
)
from tightmargin.experiments.reproduce.bi_vapnik.proven_cost import proven_costs
from tightmargin.experiments.reproduce.bi_vapnik.published import RATIO, table3
from tightmargin.experiments.reproduce.bi_vapnik.samples import SOURCES, split
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table, reaches
from tightmargin.experiments.reproduce.framework.registry import Effort
from tightmargin.experiments.reproduce.framework.runs import run_tasks

METHOD = "interior"  # quickest by far for about a hundred features and C in the thousands
BEYOND = 0.35  # one more H^2/l, so that the last row has a neighbour on either side
RATIOS = tuple(float(ratio) for ratio in table3("wdbc"))
KEYS = (Column(RATIO, r"$H^2/\ell$"),)
COLUMNS = (
    Column("R_trn", r"$R_{trn}$"), Column("FP_r", r"FP$_r$"), Column("FN_r", r"FN$_r$"),
    Column("R_tst", r"$R_{tst}$"), Column("FP_t", r"FP$_t$"), Column("FN_t", r"FN$_t$"),
    Column("C", "$C$"), Column("C min", r"$C_{\min}$", ".3g"),
    Column("C max", r"$C_{\max}$", ".3g"), Column("C from", "$C$ from", ".3g"),
    Column("C to", "$C$ to", ".3g"), Column("E", "$E$", ".2f"),
)  # fmt: skip


@dataclass(frozen=True)
class Splits:
    """All runs of one half of the table.

    name: adult or wdbc.
    runs: one a split; those that Ctrl-C cut short are left out.
    """

    name: str
    runs: tuple[Run, ...]
    asked: int

    @property
    def unfinished(self) -> str:
        """What Ctrl-C left; empty where it did not come."""
        done = len(self.runs)
        return "" if done == self.asked else f"{done} of {self.asked} splits"

    def at(self, position: int) -> list[Measured]:
        """The same row of every split."""
        return [run.rows[position] for run in self.runs]

    @property
    def training(self) -> tuple[int, int]:
        """Training points labelled +1 and -1."""
        source = SOURCES[self.name]
        share = source.size * source.positive / (source.positive + source.negative)
        return round(share), source.size - round(share)

    @property
    def testing(self) -> tuple[int, int]:
        """Test points labelled +1 and -1."""
        source = SOURCES[self.name]
        return source.positive - self.training[0], source.negative - self.training[1]

    def costs(self) -> list[tuple[float, float]]:
        """Proven range of C over all splits, at each printed row."""
        smaller = min(self.training)
        found = [proven_costs(run.rows, smaller) for run in self.runs]
        return [
            (min(c[0] for c in row), max(c[1] for c in row)) for row in zip(*found, strict=True)
        ]


def one_split(name: str, seed: int) -> dict[str, Any]:
    """Solve all rows on one split. A `Run` in plain values."""
    return measured(split(name, seed), [*RATIOS, BEYOND], METHOD).plain


def all_splits(name: str, count: int, effort: Effort) -> Splits:
    """Seeds 0 to count - 1."""
    tasks = [(name, seed) for seed in range(count)]
    done = run_tasks(
        one_split, tasks, effort, stopped=cut_short, reads=files_of([SOURCES[name].spec])
    )
    whole_runs = tuple(as_run(run) for run in done.results if not cut_short(run))
    if not whole_runs:
        raise KeyboardInterrupt
    return Splits(name, whole_runs, count)


def side_by_side(file: str, splits: Splits, allowed: dict[str, dict[str, float]]) -> Table:
    """The print beside means of error rates and medians of C.

    file: stem of the files.
    allowed: by ratio and column, how far ours may be; what is not named is shown and not judged.
    """
    source = SOURCES[splits.name]
    costs = splits.costs()
    rows = [
        _row(ratio, splits.at(number), costs[number], table3(splits.name)[ratio], allowed)
        for number, ratio in enumerate(table3(splits.name))
    ]
    title = (
        f"mean rates and median C of {len(splits.runs)} stratified splits with {source.size} "
        "training points"
    )
    return Table(file, title, KEYS, COLUMNS, tuple(rows))


def _row(
    ratio: str,
    found: Sequence[Measured],
    costs: tuple[float, float],
    printed: Mapping[str, str],
    allowed: dict[str, dict[str, float]],
) -> Row:
    ours = {
        "R_trn": mean(one.train.errors for one in found),
        "FP_r": mean(one.train.false_positive for one in found),
        "FN_r": mean(one.train.false_negative for one in found),
        "R_tst": mean(one.test.errors for one in found),
        "FP_t": mean(one.test.false_positive for one in found),
        "FN_t": mean(one.test.false_negative for one in found),
        "C": median(one.C for one in found),
    }
    cells = {
        name: Cell(ours[name], text, allowed.get(ratio, {}).get(name))
        for name, text in printed.items()
    }
    cells |= {
        "C min": Cell(min(one.C for one in found)),
        "C max": Cell(max(one.C for one in found)),
        "C from": Cell(costs[0]),
        "C to": Cell(costs[1]),
        "E": Cell(mean(one.objective for one in found)),
    }
    gaps = [one.relative_gap for one in found]
    return Row.of_runs((ratio,), cells, gaps, [one.verdict for one in found])


# --- what the table says of itself, and what our columns mean -------------------------------------


def definitions(name: str) -> str:
    """What the columns say."""
    source = SOURCES[name]
    return (
        f"percent of errors; FP is the share of the {source.negative_name} called "
        f"{source.positive_name}, FN the share of the {source.positive_name} called "
        f"{source.negative_name}, r in training, t in testing"
    )


COSTS = (
    "C is the median, C min and C max its range over the splits; 'C from' and 'C to' hold every C "
    "that any optimal multipliers have on any of the splits, proven from the losses at "
    f"neighbouring H, which are convex in H ({RATIO} {BEYOND} is solved for the last row)"
)


def findings(splits: Splits) -> tuple[str, str]:
    """What the printed rates say of themselves, beside ours."""
    return _exchanged(splits), _ranges(splits)


def _exchanged(splits: Splits) -> str:
    """The printed FP and FN add up to R with the sizes of the two classes exchanged."""
    source = SOURCES[splits.name]
    paper = next(iter(table3(splits.name).values()))
    first = splits.at(0)
    texts = []
    for part, rates in (("r", [one.train for one in first]), ("t", [one.test for one in first])):
        plus, minus = sizes(splits)[part]
        fp = mean(one.false_positive for one in rates) * minus / plus
        fn = mean(one.false_negative for one in rates) * plus / minus
        texts.append(f"{fp:.1f}/{fn:.1f} (paper {paper[f'FP_{part}']}/{paper[f'FN_{part}']})")
    return (
        f"the printed FP and FN, as shares so defined, miss the printed R by up to "
        f"{misfit(splits, exchanged=False):.1f} points; with the numbers of "
        f"{source.positive_name} and {source.negative_name} exchanged below the line by "
        f"{misfit(splits, exchanged=True):.1f} at most. So exchanged, ours in the first row are "
        f"{texts[0]} in training and {texts[1]} in testing. They are not judged"
    )


def sizes(splits: Splits) -> dict[str, tuple[int, int]]:
    """Points labelled +1 and -1 in training (r) and testing (t)."""
    return {"r": splits.training, "t": splits.testing}


def misfit(splits: Splits, *, exchanged: bool) -> float:
    """How far the printed R is at most from what the printed FP and FN add up to."""
    found = []
    for printed in table3(splits.name).values():
        for part, name in (("r", "R_trn"), ("t", "R_tst")):
            plus, minus = sizes(splits)[part]
            below_fp, below_fn = (plus, minus) if exchanged else (minus, plus)
            wrong = (
                float(printed[f"FP_{part}"]) * below_fp + float(printed[f"FN_{part}"]) * below_fn
            )
            found.append(abs(wrong / (plus + minus) - float(printed[name])))
    return max(found)


def _ranges(splits: Splits) -> str:
    """How many printed error rates lie between the least and the largest of our splits."""
    inside = asked = 0
    for number, printed in enumerate(table3(splits.name).values()):
        found = splits.at(number)
        for text, rates in (
            (printed["R_trn"], [one.train.errors for one in found]),
            (printed["R_tst"], [one.test.errors for one in found]),
        ):
            asked += 1
            inside += reaches(rates, text)
    return (
        f"the paper's split is not known: of its {asked} error rates in training and testing "
        f"{inside} lie between the least and the largest of our splits"
    )
