"""A store of results as a pandas table, whoever has filled it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame


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
