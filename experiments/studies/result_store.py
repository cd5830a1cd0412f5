"""Results of finished tasks in one sqlite file, so that a study that was stopped goes on.

One commit a task: whatever ends the process, and when, leaves the file whole. One run at a time
holds it; a second one is refused.

One table, results, with a row for each finished task: study and work (its name, and the function
with its module), task and value (JSON, with NaN and Infinity), seconds (of the one run that made
it), code and data (digests of the code and of the files that it was made from; rows of other code
stay and are not read), identity (digest of study, work and task) and seal (digest of the row, by
which a changed value is found out). `stored_frame` reads it with pandas.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightmargin.experiments.studies.code_digest import digest

if TYPE_CHECKING:
    from pandas import DataFrame

_APPLICATION = 0x746D7231  # "tmr1", in the header of the file
_TABLE = """
CREATE TABLE results (
    identity TEXT NOT NULL, code TEXT NOT NULL, data TEXT NOT NULL, study TEXT NOT NULL,
    work TEXT NOT NULL, task TEXT NOT NULL, value TEXT NOT NULL, seconds REAL NOT NULL,
    seal TEXT NOT NULL, PRIMARY KEY (identity, code, data)
)
"""


@dataclass(frozen=True)
class Key:
    """What a result belongs to.

    study, work: name of the study, and of the function with its module.
    task: the task as JSON.
    code: digest of all code that the result depends on.
    data: digest of the files that were read.
    """

    study: str
    work: str
    task: str
    code: str
    data: str

    @property
    def identity(self) -> str:
        """Digest of what was asked, whatever the code and the data."""
        return digest(self.study, self.work, self.task)


@dataclass(frozen=True)
class Found:
    """What a store has for a list of keys.

    values: by position in the list, the JSON texts that were made by this code from these data.
    other_code, other_data: how many further tasks were finished by other code, or by this code from
        other data.
    """

    values: dict[int, str]
    other_code: int = 0
    other_data: int = 0


class ResultStore:
    """The file, open for one run; made by `opened`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def find(self, keys: Sequence[Key]) -> Found:
        """What is finished already.

        Raises ValueError: a row is not as it was written.
        """
        values: dict[int, str] = {}
        other_code = other_data = 0
        for position, key in enumerate(keys):
            rows = self._rows(key)
            text = rows.get((key.code, key.data))
            if text is not None:
                values[position] = text
            elif any(code == key.code for code, _ in rows):
                other_data += 1
            elif rows:
                other_code += 1
        return Found(values, other_code, other_data)

    def put(self, key: Key, value: str, seconds: float) -> None:
        """Keep a result, a JSON text, at once.

        Raises OSError: the file cannot be written, for example because the disk is full.
        """
        seal = digest(key.identity, key.code, key.data, value)
        row = (
            key.identity, key.code, key.data, key.study, key.work, key.task, value, seconds, seal,
        )  # fmt: skip
        with _named(self.path):
            self._connection.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row
            )

    def forget(self, study: str) -> None:
        """Leave out all that a study has finished."""
        with _named(self.path):
            self._connection.execute("DELETE FROM results WHERE study = ?", (study,))

    def _rows(self, key: Key) -> dict[tuple[str, str], str]:
        with _named(self.path):
            rows = self._connection.execute(
                "SELECT code, data, value, seal FROM results WHERE identity = ?", (key.identity,)
            ).fetchall()
        for code, data, value, seal in rows:
            if digest(key.identity, code, data, value) != seal:
                raise ValueError(
                    f"{self.path}: the result of {key.task} is not as it was written; remove the "
                    "file to run everything again"
                )
        return {(code, data): value for code, data, value, _ in rows}


@contextmanager
def opened(path: Path) -> Iterator[ResultStore]:
    """Open a store, made if it is not there, and hold it until the end of the block.

    Raises ValueError: naming the file: it is none of ours, it is damaged, or another run holds it.
    Raises OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _named(path):
        connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    with closing(connection):
        with _named(path):
            # The lock is taken by the first write, and goes when the process goes.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            _claim(path, connection)
            connection.execute("COMMIT")
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise ValueError(f"{path}: the file is damaged; {_REMOVE}")
        yield ResultStore(path, connection)


_REMOVE = "remove it to run everything again, or choose another folder"


def _claim(path: Path, connection: sqlite3.Connection) -> None:
    """Make the table in a new file; refuse one of somebody else."""
    ((application,),) = connection.execute("PRAGMA application_id")
    ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_master")
    if not tables and not application:
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(_TABLE)
    elif application != _APPLICATION:
        raise ValueError(f"{path} is a database, but not one of results; choose another folder")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of sqlite as errors that name the file and what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise ValueError(
                f"{path}: another run is using this file; wait for it, or choose another folder"
            ) from error
        raise OSError(f"{path}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{path}: {error}; {_REMOVE}") from error


def stored_frame(path: str | Path) -> DataFrame:
    """All that stands in a store, one row a result, whatever code and data it was made by.

    Columns study, work, task (a tuple), value, seconds, code and data, see the head of this module.
    The file is only read.

    Parameters
    ----------
    path : str or path
        What `run_study` wrote.

    Raises
    ------
    FileNotFoundError, ValueError
        There is no such file; it is no store, or a run is writing to it.

    Examples
    --------
    >>> import tightmargin as tm
    >>> study = tm.studies.run_study(abs, [(-1,), (2,)], name="sizes", store="sizes.jsonl")
    >>> len(tm.studies.stored_frame("sizes.jsonl"))
    2
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
