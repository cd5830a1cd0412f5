"""What a study has found, and which of its tasks failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed

if TYPE_CHECKING:
    from pandas import DataFrame

Task = tuple[Any, ...]
NAMED = 5  # failures that one message names


@dataclass(frozen=True, repr=False)
class Failure(Printed):
    """A task that raised an error, or ended its process.

    name: the function and the task.
    """

    name: str
    message: str
    trace: str = ""


class StudyError(RuntimeError):
    """Some tasks failed; the message names them, and says where the others are."""


@dataclass(frozen=True, repr=False)
class Study(Printed):
    """What has been found.

    Attributes
    ----------
    tasks : tuple of tuple
        As asked.
    values : dict
        By task, in their order; without those that failed or were left.
    failures : tuple of Failure
        Tasks that raised an error.
    interrupted : bool
        Whether Ctrl-C came.
    partial : dict
        By task, what Ctrl-C left of it; not stored.
    kept : str
        Where finished tasks are stored; empty for nowhere.
    names : tuple of str
        What the function calls the words and numbers of a task.

    Examples
    --------
    >>> import tightmargin as tm
    >>> study = tm.studies.run_study(abs, [(-1,), (2,)], name="sizes")
    >>> study.values
    {(-1,): 1, (2,): 2}
    """

    tasks: tuple[Task, ...]
    values: dict[Task, Any]
    failures: tuple[Failure, ...] = ()
    interrupted: bool = False
    partial: dict[Task, Any] = field(default_factory=dict)
    kept: str = ""
    names: tuple[str, ...] = ()

    def _page(self) -> Page:
        failed = ", ".join(one.name for one in self.failures[:NAMED])
        facts = [
            ("failed", f"{len(self.failures)}: {failed}" if failed else ""),
            ("interrupted", "yes" if self.interrupted else ""),
            ("kept", self.kept),
            ("next", ".values, .failures, .to_frame()"),
        ]
        title = f"Study: {len(self.values)} of {count_text(len(self.tasks), 'task')} have a value"
        return Page(title, [(word, text) for word, text in facts if text])

    def complete(self) -> dict[Task, Any]:
        """The values, if there are all.

        Raises
        ------
        StudyError
            Naming the tasks that failed and their errors.
        KeyboardInterrupt
            Ctrl-C came before the last.
        """
        if self.interrupted:
            raise KeyboardInterrupt
        if self.failures:
            raise StudyError(self._failed())
        return self.values

    def to_frame(self, names: Sequence[str] = ()) -> DataFrame:
        """One row for every task that has a value, as pandas has it.

        Columns are the words and numbers of the task, by the names that the function has for
        them or by `names`, then the keys of the value, or value where it is no dict. Lists stay
        in their cells: `.explode([...])` makes rows of them.

        Raises
        ------
        ValueError
            A key of a value has the name of a column of the task.
        """
        from pandas import DataFrame

        names = names or self.names
        width = max(map(len, self.values), default=len(names))
        heads = [names[place] if place < len(names) else f"task{place}" for place in range(width)]
        rows = []
        for task, value in self.values.items():
            found = value if isinstance(value, dict) else {"value": value}
            both = found.keys() & set(heads)
            if both:
                raise ValueError(
                    f"{', '.join(sorted(both))}: a column of the task and of its value; give other "
                    "names to the columns of the task with names="
                )
            rows.append(dict(zip(heads, task, strict=False)) | found)
        return DataFrame(rows) if rows else DataFrame(columns=heads)

    def _failed(self) -> str:
        named = [f"{one.name}: {one.message}" for one in self.failures[:NAMED]]
        more = len(self.failures) - len(named)
        named += [f"and {more} more"] if more else []
        kept = (
            f"; the other {len(self.values)} are kept in {self.kept}, and the same command runs "
            "only those that failed"
            if self.kept
            else ""
        )
        count = f"{len(self.failures)} of {len(self.tasks)} tasks failed"
        return f"{count}{kept}: {'; '.join(named)}"
