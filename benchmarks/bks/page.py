"""Text of BKS.md: what was run, what is known of each row, and what is not run yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import mean

from benchmarks.bks.counting import MARGIN, ErrorRow
from benchmarks.bks.instances import INSTANCES, Instance
from benchmarks.bks.rows import CLOSED, Key, Row, relative_gap
from benchmarks.bks.rungs import COLUMNS, RungRow
from benchmarks.bks.submissions import Submission

SAME = 1e-5  # relative: objectives further apart are not the same
THEIRS = 1e-4  # relative gap at which the solver of the literature stops
HEAD = (
    "instance", "C", "best known", "proven bound", "gap %", "published", "published bound",
    *(f"{head} %" for head in COLUMNS.values()), "bound by", "verdict", "s", "limit s",
    "proof file", "run",
)  # fmt: skip

INTRODUCTION = """\
# SVM-BKS: best known values of the hard-margin loss

Written by `make bks`, which resumes where it was stopped; `python -m benchmarks.bks n60d2ATj0 1` runs one row in a fresh clone.
The problem is min 1/2 ||w||^2 + C #{i : y_i (<w, x_i> + b) < 1} with b free. Every objective is that of a hyperplane in
`benchmarks/bks/values.jsonl`, recomputed in exact arithmetic; every bound is proven by our own arithmetic. A gap below 1e-6 is shown as 0.

*Published* are the least objective and the greatest bound of plain branch and bound and of combinatorial Benders cuts in Santana,
Serrano, Schiffer & Vidal (arXiv 2207.07690): CPLEX 12.10, 600 s each; a gap of 1e-4, where CPLEX stops, counts as proven there. A best
known value in bold is lower than the published one by more than 1e-5, one marked (above) is higher. No published values of this problem
are at hand for the generated and the real data.

The columns from big-M to tightened are rungs of the ladder of bounds, with their gap to the best known value: an empty cell was not run, -
proves nothing. The conic relaxations with a fixed strengthening are left out, for they prove nothing with a free intercept. *Checked*
means that a proof file was written, and proven again by the checker that needs nothing of this project; running the row writes it
into `out/bks`. It is written where the solve was quick: the checker takes some ten times as long over cones, and no longer over
conflicts. Seconds are wall clock on one thread of a machine with other work to do, so they are no fair comparison.
docs/benchmarks/bks.md says how to submit a better value."""  # noqa: E501

ERRORS = f"""\
The least number of errors of a hyperplane that is no nearer than {MARGIN:g} (in standard deviations) to a point that it keeps, and the
widest margin with so few, by `tm.search.least_errors`. He & Little (arXiv 2306.12344) count on five UCI sets; the three whose optima
we know of (748 x 4 points: 19.0 %, 306 x 3: 21.6 %, 90 x 6: 6.7 %) are not at hand here, and these are others."""  # noqa: E501


@dataclass(frozen=True)
class Known:
    """All that is known of one row of the table.

    Attributes
    ----------
    objective, bound : float
        The least objective of a run or a submission, and the greatest proven bound.
    owner : str
        Whose objective it is, where it is a submission's; else empty.
    run : Row
        One with a checked proof file if there is one, of those the first with the greatest bound.
    """

    objective: float
    bound: float
    owner: str
    run: Row

    @property
    def gap(self) -> float:
        """(objective - bound) / objective."""
        return relative_gap(self.objective, self.bound)

    @property
    def proven(self) -> bool:
        """Whether the gap is closed."""
        return self.gap <= CLOSED


def known(rows: Iterable[Row], submissions: Iterable[Submission] = ()) -> dict[Key, Known]:
    """What runs and submissions say together, by instance and C.

    A submission counts only where there is a run, and where it is below all runs.
    """
    found: dict[Key, Known] = {}
    for row in rows:
        old = found.get(row.key)
        if old is None:
            found[row.key] = Known(row.objective, row.bound, "", row)
        else:
            run = max(old.run, row, key=lambda one: (one.proof is not None, one.bound))
            objective = min(old.objective, row.objective)
            found[row.key] = Known(objective, max(old.bound, row.bound), "", run)
    for one in submissions:
        old = found.get(one.key)
        if old is not None and one.objective < old.objective:
            found[one.key] = Known(one.objective, old.bound, one.by, old.run)
    return found


def percent(gap: float) -> str:
    """Relative gap in percent; a closed one as 0."""
    return "0" if gap <= CLOSED else f"{100 * gap:.2g}" if gap < 0.01 else f"{100 * gap:.1f}"


def line(one: Known, rungs: Mapping[str, RungRow]) -> tuple[str, ...]:
    """Cells of one row."""
    run = one.run
    value, there = f"{one.objective:.6f}", run.published
    if there is not None and one.objective < there[0] * (1 - SAME):
        value = f"**{value}**"
    elif there is not None and one.objective > there[0] * (1 + SAME):
        value = f"{value} (above)"
    if one.owner:
        value = f"{value} ({one.owner})"
    literature = ("-", "-") if there is None else (f"{there[0]:.6f}", f"{there[1]:.6f}")
    steps = [_rung(one, rungs.get(label)) for label in COLUMNS]
    return (
        run.instance, f"{run.C:g}", value, f"{one.bound:.6f}", percent(one.gap), *literature,
        *steps, run.method, run.verdict, f"{run.seconds:.2f}", f"{run.limit:g}",
        "checked" if run.proof else "", run.date,
    )  # fmt: skip


def _rung(one: Known, rung: RungRow | None) -> str:
    if rung is None:
        return ""
    return "-" if rung.bound is None else percent(relative_gap(one.objective, rung.bound))


def summary(best: Mapping[Key, Known]) -> list[tuple[str, ...]]:
    """One line a group: how many rows were run and proven, mean gaps, objectives beside others'."""
    lines: list[tuple[str, ...]] = []
    for group, members in groupby(INSTANCES.values(), lambda instance: instance.group):
        keys = [(instance.name, C) for instance in members for C in instance.prices]
        done = [best[key] for key in keys if key in best]
        beside = [(one, one.run.published) for one in done if one.run.published is not None]
        others = [relative_gap(there[0], there[1]) for _, there in beside]
        lower = sum(one.objective < there[0] * (1 - SAME) for one, there in beside)
        higher = sum(one.objective > there[0] * (1 + SAME) for one, there in beside)
        lines.append((
            group, f"{len(done)} of {len(keys)}", str(sum(one.proven for one in done)),
            percent(mean(one.gap for one in done)) if done else "",
            str(sum(gap <= THEIRS for gap in others)) if beside else "-",
            percent(mean(others)) if beside else "-",
            f"{lower} / {higher}" if beside else "-",
            str(sum(one.run.proof is not None for one in done)),
        ))  # fmt: skip
    return lines


def disagreements(best: Mapping[Key, Known]) -> list[str]:
    """Rows in which a bound is above what somebody has reached: one of the two is wrong."""
    found = []
    for (name, C), one in best.items():
        there = one.run.published
        if one.bound > one.objective:
            found.append(f"{name}, C = {C:g}: the bound is above the best known objective")
        if there is not None and one.bound > there[0] * (1 + SAME):
            found.append(f"{name}, C = {C:g}: the bound is above the published objective")
        if there is not None and there[1] > one.objective * (1 + SAME):
            found.append(f"{name}, C = {C:g}: the published bound is above our objective")
    return found


def errors_lines(rows: Iterable[ErrorRow]) -> list[tuple[str, ...]]:
    """The count of errors: the last run of each set."""
    last = {row.instance: row for row in rows}
    return [
        (row.instance, f"{row.n} x {row.d}", str(row.errors), str(row.bound),
         f"{100 * row.errors / row.n:.1f}", _short(row.margin), _short(row.largest),
         f"{row.seconds:.1f}", f"{row.limit:g}", row.date)
        for row in last.values()
    ]  # fmt: skip


def _short(number: float | None) -> str:
    return "-" if number is None else f"{number:.6g}"


def page(
    rows: Sequence[Row],
    submissions: Sequence[Submission],
    rungs: Sequence[RungRow],
    errors: Sequence[ErrorRow],
) -> str:
    """Text of BKS.md."""
    best = known(rows, submissions)
    steps: dict[Key, dict[str, RungRow]] = {}
    for rung in rungs:
        steps.setdefault(rung.key, {})[rung.rung] = rung
    wrong = disagreements(best)
    parts = [
        INTRODUCTION,
        "## Summary",
        _table((
            "group", "rows run", "proven", "mean gap %", "proven in the literature, same rows",
            "mean gap there %", "objective lower / higher than there", "proof files",
        ), summary(best)),
        "Bounds and objectives that contradict each other: "
        + ("none." if not wrong else "\n\n" + "\n".join(f"- {text}" for text in wrong)),
    ]  # fmt: skip
    for group, members in groupby(INSTANCES.values(), lambda instance: instance.group):
        parts += _section(group, list(members), best, steps)
    parts += [
        "## Errors alone, without a margin",
        ERRORS,
        _table((
            "set", "points x features", "errors", "at least, proven", "share %", "margin",
            "at most, proven", "s", "limit s", "run",
        ), errors_lines(errors)),
        _software(rows),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _section(
    group: str,
    members: Sequence[Instance],
    best: Mapping[Key, Known],
    steps: Mapping[Key, Mapping[str, RungRow]],
) -> list[str]:
    keys = [(instance.name, C) for instance in members for C in instance.prices]
    done = [line(best[key], steps.get(key, {})) for key in keys if key in best]
    missing = len(keys) - len(done)
    told = [] if not missing else [f"Not run yet: {missing} of {len(keys)} rows."]
    return [f"## {group}", *([_table(HEAD, done)] if done else []), *told]


def _software(rows: Sequence[Row]) -> str:
    words = {", ".join(f"{name} {number}" for name, number in row.versions.items()) for row in rows}
    return "Versions: " + ("; ".join(sorted(words)) or "nothing was run") + "."


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines))
