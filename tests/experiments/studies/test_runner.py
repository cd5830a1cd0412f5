"""Studies: results whatever dies, nothing run twice that was finished, errors by name."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.experiments import (
    Found,
    Key,
    ResultStore,
    StudyError,
    StudyProgress,
    ctrl_c,
    opened,
    run_study,
    stored_frame,
    task_text,
    time_text,
)
from tests.support.long_runs import data, finish, start, wait_for
from tests.support.study_tasks import deadly, marked, marks

SECONDS = 0.25


def square(number: int) -> dict[str, Any]:
    return {"square": number**2, "odd": [float("nan"), np.float64(0.1)]}


def tasks(folder: Path, count: int, seconds: float = SECONDS) -> list[tuple[str, int, float]]:
    return [(str(folder), number, seconds) for number in range(count)]


# --- results -------------------------------------------------------------------------------------


def test_a_finished_study_is_read_and_not_run(tmp_path: Path) -> None:
    said: list[str] = []
    words: dict[str, Any] = {"name": "n", "store": tmp_path / "s.sqlite"}
    for count in (2, 3, 3):
        study = run_study(marked, tasks(tmp_path, count, 0.0), progress=said.append, **words)
        assert [value["square"] for value in study.complete().values()] == [0, 1, 4][:count]
    assert set(marks(tmp_path, "begun").values()) == {1}, "a larger study runs what is new"
    assert said[-2:] == ["3 of 3 tasks were finished before", "3 of 3 runs done"]
    run_study(marked, tasks(tmp_path, 3, 0.0), fresh=True, **words)
    assert set(marks(tmp_path, "begun").values()) == {2}


def test_time_left_is_that_of_this_run() -> None:
    said: list[str] = []
    now = [0.0]
    progress = StudyProgress(10, 4, said.append, lambda: now[0])
    now[0] = 60.0
    progress.step()
    assert said == ["4 of 10 runs done", "5 of 10 runs done, about 5 min left"]
    said = [time_text(seconds) for seconds in (0.2, 3600, 7200)]
    assert said == ["about 1 s", "about 60 min", "about 2.0 h"]
    now[0], said = 0.0, []
    progress = StudyProgress(202, 0, said.append, lambda: now[0], 2)
    now[0] = 60.0  # of which 50 went by before the first began
    for _ in range(2):  # after the first one the other process has not finished one yet
        progress.step(10.0)
    assert said[1:] == ["1 of 202 runs done", "2 of 202 runs done, about 17 min left"]


def found_in(noise: float, split: int) -> dict[str, Any]:
    return {"C": [0.1, 1.0], "errors": [split, noise]}


@pytest.mark.slow("processes are started for each of its studies")
def test_a_study_and_its_store_are_tables(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    asked = ((noise, split) for noise in (0.0, 0.5) for split in range(2))  # asked for once only
    study = run_study(found_in, asked, name="n", store=store)
    table = study.to_frame()
    assert list(table.columns) == ["noise", "split", "C", "errors"]
    rows = table.explode(["C", "errors"])
    assert rows[(rows.C == 1.0) & (rows.split == 1)].errors.tolist() == [0.0, 0.5]
    assert study.to_frame(["a", "b"]).columns.tolist() == ["a", "b", "C", "errors"]
    with pytest.raises(ValueError, match="C: a column of the task and of its value"):
        study.to_frame(["C", "b"])
    assert run_study(len, [("abc",)], name="n").to_frame().value.tolist() == [3]
    assert run_study(max, [("abc",)], name="n").to_frame().task0.tolist() == ["abc"]
    kept = stored_frame(store)
    assert kept.task.tolist() == list(study.tasks)
    assert kept.value.tolist() == list(study.values.values())
    with opened(store), pytest.raises(ValueError, match="a run is writing to it"):
        stored_frame(store)
    with pytest.raises(FileNotFoundError, match="none"):
        stored_frame(tmp_path / "none")


# --- errors of tasks -----------------------------------------------------------------------------


def faulty(number: int) -> Any:
    if number == 1:
        raise ValueError("no such row")
    if number == 2:
        sys.exit("enough")
    if number == 3:
        return {"w": np.zeros(2)}
    return number


@pytest.mark.parametrize("jobs", [1, 2])
def test_tasks_that_fail_are_named_and_the_others_are_kept(jobs: int, tmp_path: Path) -> None:
    said: list[str] = []
    asked = [(number,) for number in range(6)]
    store = tmp_path / "s"
    study = run_study(faulty, asked, name="n", store=store, jobs=jobs, report=said.append)
    assert study.values == {(0,): 0, (4,): 4, (5,): 5}
    assert [(one.name, one.message) for one in study.failures] == [
        ("faulty(1)", "ValueError: no such row"),
        ("faulty(2)", "SystemExit: enough"),
        ("faulty(3)", "TypeError: the result['w'] is a numpy.ndarray: to be stored it must be made "
         "of dict, list, str, int, float, bool and None"),
    ]  # fmt: skip
    assert 'raise ValueError("no such row")' in study.failures[0].trace
    assert sorted(said)[0] == "faulty(1) failed: ValueError: no such row; the others go on"
    with pytest.raises(StudyError, match=rf"3 of 6 tasks failed; the other 3 are kept in {store}"):
        study.complete()
    again = run_study(faulty, asked, name="n", store=store, report=said.append)
    assert said[-4] == "3 of 6 tasks were finished before"
    assert len(again.failures) == 3, "no failure is stored"


@pytest.mark.slow("processes are started, and the one that dies is replaced")
@pytest.mark.parametrize("times", [1, 9])
def test_a_process_that_dies_takes_nothing_finished_with_it(times: int, tmp_path: Path) -> None:
    said: list[str] = []
    asked = [(str(tmp_path), number, SECONDS, times) for number in range(5)]
    store = tmp_path / "s.sqlite"
    study = run_study(deadly, asked, name="n", store=store, jobs=2, report=said.append)
    found = {task[1]: value["square"] for task, value in study.values.items()}
    expected = {number: number**2 for number in range(5) if times == 1 or number != 2}
    assert found == expected
    assert {task[1] for task in stored_frame(store).task} == set(found)
    if times == 1:
        assert study.failures == ()
    else:
        (failure,) = study.failures
        assert failure.name.startswith(f"deadly({str(tmp_path)!r}, 2,")
        assert failure.message == "its process died twice, the second time with nothing beside it"
    begun, ended = marks(tmp_path, "begun"), marks(tmp_path, "ended")
    assert begun[2] == 2
    # What ran beside it died with it, and ran once more.
    assert sorted(begun[number] for number in (0, 1, 3, 4)) in ([1, 1, 1, 1], [1, 1, 1, 2])
    # One that ended in the moment of the death may not have been heard of, and ran once more.
    assert sorted(ended.values()) in ([1] * len(ended), [1] * (len(ended) - 1) + [2])
    assert any("a process died, it may be of this; it runs again, alone" in text for text in said)


# --- the whole run is killed, or stopped ---------------------------------------------------------


def test_ctrl_c_just_after_a_value_was_stored_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = ResultStore.put

    def stored_and_pressed(self: ResultStore, key: Key, *value: Any) -> None:
        put(self, key, *value)
        if key.task == task_text((2,)):
            raise KeyboardInterrupt

    monkeypatch.setattr(ResultStore, "put", stored_and_pressed)
    study = run_study(square, [(1,), (2,), (3,)], name="squares", store=tmp_path / "s")
    assert study.interrupted
    assert {task: value["square"] for task, value in study.values.items()} == {(1,): 1, (2,): 4}


def test_a_task_during_which_ctrl_c_came_is_left_out() -> None:
    def work(number: int) -> int:
        if number == 1:
            signal.signal(signal.SIGINT, lambda signal, frame: None)
            os.kill(os.getpid(), signal.SIGINT)
        return number

    before = signal.getsignal(signal.SIGINT)
    try:
        study = run_study(work, [(0,), (1,), (2,)], name="n")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (study.values, study.interrupted, study.failures) == ({(0,): 0}, True, ())
    with pytest.raises(KeyboardInterrupt):
        study.complete()
    with ctrl_c() as pressed:
        assert not pressed()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert pressed()
    assert signal.set_wakeup_fd(-1) == -1, "given back"


@pytest.mark.parametrize("word", ["0", "two"])
def test_a_number_of_threads_is_a_whole_number(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIGHTMARGIN_THREADS", word)
    with pytest.raises(ValueError, match=f"TIGHTMARGIN_THREADS must be.*'{word}'"):
        tm.solve(tm.c_svc(data(12, 2), C=1.0), "clarabel")


# --- other code, other data ----------------------------------------------------------------------


def of_notebook(text: str) -> Callable[..., Any]:
    """The function `work` of a text that stands in no file."""
    module = ModuleType("cell")
    exec(compile(text, "<cell>", "exec"), module.__dict__)
    return module.__dict__["work"]


def test_what_stands_in_no_file_runs_and_is_not_stored(tmp_path: Path) -> None:
    work = of_notebook("scale = 2\ndef work(number): return scale * number")
    assert run_study(work, [(3,)], name="n").values == {(3,): 6}
    with pytest.raises(ValueError, match=r"work stands in no file, .* put it into a file"):
        run_study(work, [(3,)], name="n", store=tmp_path / "s")


def test_what_a_function_takes_with_it_is_part_of_it(tmp_path: Path) -> None:
    def taking(points: Any, shift: float = 0.5) -> Callable[[int], Any]:
        def work(number: int, more: float = shift) -> Any:
            return [float(points[number]), more]

        return work

    def run(*words: Any) -> Any:
        said: list[str] = []
        study = run_study(
            taking(*words), [(1,)], name="n", store=tmp_path / "s", progress=said.append
        )
        return study.values[1,], said[0]

    before, other = "1 of 1 tasks were finished before", "1 finished tasks were made by other code"
    assert run(np.arange(3.0))[0] == [1.0, 0.5]
    assert run(np.arange(3.0)) == ([1.0, 0.5], before)
    value, said = run(np.arange(3.0) + 1.0)
    assert (value, said.startswith(other)) == ([2.0, 0.5], True)
    value, said = run(np.arange(3.0), 0.0)
    assert (value, said.startswith(other)) == ([1.0, 0.0], True)
    with pytest.raises(ValueError, match=r"taking\.<locals>\.work uses something of the function"):
        run(threading.Lock())


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
