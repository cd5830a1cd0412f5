"""What an edit did to a model, change by change, with what is proven of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tightmargin.printing import Page, Printed
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.tables import Framed

PARTS_SHOWN = 5
CELL = 44  # characters of a row's mathematics in a table


class Effect(StrEnum):
    """What a change, or a whole edit, does to the points of a model."""

    SAME = "same"
    REDUNDANT = "redundant"
    RESTRICTION = "restriction"
    RELAXATION = "relaxation"
    BOTH = "restriction and relaxation"
    OTHER_OBJECTIVE = "other objective"
    UNDECIDED = "undecided"


class Answer(StrEnum):
    """Whether what one model says holds at every point of the other one."""

    UNASKED = "nothing was said"
    IMPLIED = "implied"
    REFUTED = "refuted"
    OPEN = "open"

    @property
    def holds(self) -> bool:
        """Whether nothing is left out by it, proven."""
        return self in (Answer.UNASKED, Answer.IMPLIED)


def joined(answers: Iterable[Answer]) -> Answer:
    """The answer for several statements together."""
    found = set(answers)
    for answer in (Answer.REFUTED, Answer.OPEN, Answer.IMPLIED):
        if answer in found:
            return answer
    return Answer.UNASKED


@dataclass(frozen=True, eq=False, repr=False)
class Change(Printed):
    """One row, bound, fixing, integrality, objective or Param that is not what it was.

    kind: "row", "bound", "fixing", "integrality", "variable", "objective" or "Param".
    before, after: its mathematics in the two models; empty where it is missing.
    kept: whether every point of the model before meets what is said after: if not, points are lost.
    old: whether every point of the model after meets what was said before: if not, points are new.
    other_objective: whether it changes the objective somewhere.
    never_lower: of such a change: whether the objective is proven to be nowhere lower in the model
        after.
    words: how it was decided.
    multipliers: of rows of the other model that imply it, each d bound / d right-hand side; bounds
        of variables take part without being listed. The kernel proved the bound from them.
    point: the variables that occur in it, at an exactly feasible point of the other model that
        misses it; to the nearest doubles.
    parts: what a Param changes.
    """

    kind: str
    name: str
    before: str = ""
    after: str = ""
    kept: Answer = Answer.UNASKED
    old: Answer = Answer.UNASKED
    other_objective: bool = False
    never_lower: bool = False
    words: str = ""
    multipliers: Mapping[str, float] = field(default_factory=dict)
    point: Mapping[str, float] = field(default_factory=dict)
    parts: tuple[Change, ...] = ()
    _shown = ("kind", "name", "action", "effect", "before", "after", "words", "point", "parts")

    @property
    def effect(self) -> Effect:
        """The verdict on this change alone."""
        if self.other_objective:
            return Effect.OTHER_OBJECTIVE
        if self.kept.holds and self.old.holds:
            return Effect.REDUNDANT
        if Answer.OPEN in (self.kept, self.old):
            return Effect.UNDECIDED
        if self.old.holds:
            return Effect.RESTRICTION
        return Effect.RELAXATION if self.kept.holds else Effect.BOTH

    @property
    def action(self) -> str:
        """Whether it is added, removed or changed."""
        if not self.before:
            return "added"
        return "changed" if self.after else "removed"

    def __str__(self) -> str:
        """Verdict, mathematics before and after, and why."""
        lines = [f"{self.effect}: {' '.join(filter(None, (self.kind, self.name)))} {self.action}"]
        lines += [f"  - {self.before}"] if self.before else []
        lines += [f"  + {self.after}"] if self.after else []
        lines += [f"    {self.words}"] if self.words else []
        if self.point:
            at = [f"{name} = {value:.6g}" for name, value in self.point.items()]
            lines.append(f"    at {', '.join(at[:PARTS_SHOWN])}" + " ..." * (len(at) > PARTS_SHOWN))
        for part in self.parts[:PARTS_SHOWN]:
            lines += [f"  {line}" for line in str(part).splitlines()]
        if len(self.parts) > PARTS_SHOWN:
            lines.append(f"  and {len(self.parts) - PARTS_SHOWN} more of the kind")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class ModelDifference(Framed):
    """What `tightmargin.diff` returns.

    Attributes
    ----------
    changes : tuple of Change
        None where the two models are the same.
    sense : int
        +1 where the edited model minimises, -1 where it maximises.
    steps : int
        Through how many models the changes lead: one for each Param that was changed, and one.
    """

    changes: tuple[Change, ...]
    sense: int = 1
    steps: int = 1

    @property
    def restricts(self) -> bool:
        """Whether every point of the edited model is proven to be one of the former."""
        return all(change.old.holds for change in self.changes)

    @property
    def relaxes(self) -> bool:
        """Whether every point of the former model is proven to be one of the edited."""
        return all(change.kept.holds for change in self.changes)

    @property
    def same_objective(self) -> bool:
        """Whether the objective is the same at every point."""
        return not any(change.other_objective for change in self.changes)

    @property
    def keeps_bounds(self) -> bool:
        """Whether lower bounds of the former model hold for the edited one (upper, maximising).

        So they do where it restricts, and adds to the objective nothing but what is proven to be
        at least 0.
        """
        costs = all(c.never_lower for c in self.changes if c.other_objective)
        return self.restricts and costs

    @property
    def keeps_points(self) -> bool:
        """Whether points of the former model are points of the edited one; values may differ."""
        return self.relaxes

    @property
    def effect(self) -> Effect:
        """The verdict on the edit as a whole."""
        if not self.same_objective:
            return Effect.OTHER_OBJECTIVE
        if self.restricts:
            return Effect.SAME if self.relaxes else Effect.RESTRICTION
        if self.relaxes:
            return Effect.RELAXATION
        told = {answer for c in self.changes for answer in (c.kept, c.old)}
        return Effect.UNDECIDED if Answer.OPEN in told or self.steps > 1 else Effect.BOTH

    def bound_from(self, result: SolveResult) -> float | None:
        """The proven bound of a result of the former model, where it holds for the edited one."""
        return result.bound if self.keeps_bounds and not result.certificate.unproven else None

    def value_from(self, result: SolveResult) -> float | None:
        """What a proven point of the former model costs in the edited one, at most; or None."""
        return result.certificate.upper if self.relaxes and self.same_objective else None

    def _page(self) -> Page:
        counts = Counter(str(change.effect) for change in self.changes)
        told = ", ".join(f"{number} {word}" for word, number in counts.items())
        return Page(
            f"ModelDifference: {self.effect}" + (f" ({told})" if told else ""),
            columns=("", "change", "mathematics", "effect") if self.changes else (),
            rows=[_cells(change) for change in self.changes],
            cell=CELL,
        )

    def _records(self) -> list[dict[str, Any]]:
        """One row a change, its mathematics before and after."""
        return [
            {
                "kind": change.kind,
                "name": change.name,
                "action": change.action,
                "before": change.before,
                "after": change.after,
                "effect": str(change.effect),
                "words": change.words,
            }
            for change in self.changes
        ]

    def __str__(self) -> str:
        """Every change with its mathematics."""
        head = f"{self.effect}: {len(self.changes)} change{'' if len(self.changes) == 1 else 's'}"
        return "\n".join([head, *(str(change) for change in self.changes)])


def _cells(change: Change) -> tuple[str, ...]:
    sign = {"added": "+", "removed": "-", "changed": "~"}[change.action]
    what = " ".join(filter(None, (change.kind, change.name)))
    return sign, what, change.after or change.before, str(change.effect)
