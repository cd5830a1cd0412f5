"""Results as pandas tables: of a study, and of a store that somebody else has filled."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame


def frame(
    tasks: Sequence[tuple[Any, ...]], values: Sequence[Any], names: Sequence[str]
) -> DataFrame:
    """One row a task: its words and numbers, then what was found.

    Parameters
    ----------
    tasks : sequence of tuple
    values : sequence
        A dict gives a column to each of its keys; anything else stands in the column value.
    names : sequence of str
        Of the columns of a task; those without a name are task0, task1 and so on.

    Raises
    ------
    ValueError
        A key of a value is the name of a column of the task.
    """
    from pandas import DataFrame

    width = max(map(len, tasks), default=len(names))
    heads = [names[place] if place < len(names) else f"task{place}" for place in range(width)]
    rows = []
    for task, value in zip(tasks, values, strict=True):
        found = value if isinstance(value, dict) else {"value": value}
        both = found.keys() & set(heads)
        if both:
            raise ValueError(
                f"{', '.join(sorted(both))}: a column of the task and of its value; give other "
                "names to the columns of the task with names="
            )
        rows.append(dict(zip(heads, task, strict=False)) | found)
    return DataFrame(rows) if rows else DataFrame(columns=heads)


def stored_frame(path: str | Path) -> DataFrame:
    """All that stands in a store, one row a result, whatever code and data it was made by.

    Columns study, work, task (a tuple), value, seconds, code and data: see
    `tightmargin.experiments.studies.result_store`. The file is only read.

    Raises
    ------
    FileNotFoundError, ValueError
        There is no such file; it is no store, or a run is writing to it.
    """
    from pandas import DataFrame

    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    asked = "SELECT study, work, task, value, seconds, code, data FROM results ORDER BY rowid"
    try:
        with closing(
            sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)
        ) as store:
            rows = store.execute(asked).fetchall()
    except sqlite3.DatabaseError as error:
        why = "a run is writing to it" if "locked" in str(error) else f"no store: {error}"
        raise ValueError(f"{path}: {why}") from error
    heads = ["study", "work", "task", "value", "seconds", "code", "data"]
    table = DataFrame(rows, columns=heads)
    table["task"] = [_tuple(json.loads(text)) for text in table["task"]]
    table["value"] = [json.loads(text) for text in table["value"]]
    return table


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value
