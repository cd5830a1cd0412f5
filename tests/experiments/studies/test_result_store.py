"""The file of finished tasks: what comes back, what is never served, what is refused."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from tests.inside.experiments import Found, Key, opened, task_text
from tests.support.long_runs import finish, start, wait_for

KEY = Key("study", "module.work", '["sonar", 0.1, 3]', "code", "data")


def stored(path: Path, *keys: Key) -> Found:
    with opened(path) as store:
        return store.find(keys)


def test_results_of_other_code_or_data_are_counted_and_not_served(tmp_path: Path) -> None:
    other_code, other_data = replace(KEY, code="edited"), replace(KEY, data="edited")
    other_study = replace(KEY, study="other")
    with opened(tmp_path / "s") as store:
        store.put(KEY, "0", 0.0)
        store.put(KEY, "1", 0.0)  # in the place of the first
        assert store.find([other_code]) == Found({}, other_code=1)
        assert store.find([other_data]) == Found({}, other_data=1)
        for changed in ({"study": "x"}, {"work": "module.other"}, {"task": "[]"}):
            assert store.find([replace(KEY, **changed)]) == Found({})
        store.put(other_code, "2", 0.0)
        assert store.find([other_code, KEY]).values == {0: "2", 1: "1"}, "edited and taken back"
        store.put(other_study, "3", 0.0)
        store.forget("study")
        assert store.find([KEY, other_study]).values == {1: "3"}
    assert task_text(("a", 3, True, None, ("b", 1))) != task_text(("a", 3.0, True, None, ("b", 1)))


# --- files that are refused ----------------------------------------------------------------------


def test_a_file_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.sqlite"
    garbage.write_bytes(b"no database " * 1000)
    foreign = tmp_path / "foreign.sqlite"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE results (mine)")
    connection.commit()
    connection.close()
    for path, complaint in ((garbage, "not a database"), (foreign, "not one of results")):
        before = path.read_bytes()
        with pytest.raises(ValueError, match=f"{path.name}.*{complaint}"), opened(path):
            pass
        assert path.read_bytes() == before
    with pytest.raises(OSError, match=f"{tmp_path.name}: unable to open"), opened(tmp_path):
        pass


def test_a_changed_value_is_not_served(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with opened(path) as store:
        store.put(KEY, '{"errors": 12}', 0.0)
    path.write_bytes(path.read_bytes().replace(b'{"errors": 12}', b'{"errors": 11}'))
    with pytest.raises(ValueError, match=r"sonar.*is not as it was written"):
        stored(path, KEY)


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with opened(path) as store:
        for number in range(20):
            store.put(replace(KEY, task=f"[{number}]"), json.dumps(["x" * 2000]), 0.0)
    whole = path.read_bytes()
    for first in range(4096, len(whole) - 8192, 16384):
        path.write_bytes(whole[:first] + b"\xff" * 4096 + whole[first + 4096 :])
        with pytest.raises(ValueError, match=f"{path}.*remove it"), opened(path):
            pass


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        store.put(KEY, "1", 0.0)
        store._connection.execute("PRAGMA max_page_count = 5")
        with pytest.raises(OSError, match=f"{tmp_path / 's'}: database or disk is full"):
            store.put(replace(KEY, task="[1]"), json.dumps("x" * 100_000), 0.0)
        assert store.find([KEY]).values == {0: "1"}


WRITER = """
import sys
from pathlib import Path
from tests.inside.experiments import Key, opened
with opened(Path(sys.argv[1])) as store:
    for number in range(10**9):
        store.put(Key("study", "module.work", f"[{number}]", "code", "data"), str(number), 0.0)
        print(number, flush=True)
"""


def test_a_process_that_is_killed_leaves_all_it_has_stored(tmp_path: Path) -> None:
    path, count = tmp_path / "s", 40
    process = start(str(path), script=WRITER)
    wait_for(rf"^{count}$", process.stdout)
    with pytest.raises(ValueError, match="another run is using this file"), opened(path):
        pass
    process.kill()
    finish(process)
    found = stored(path, *(replace(KEY, task=f"[{number}]") for number in range(count + 1)))
    assert found.values == {number: str(number) for number in range(count + 1)}
