"""Studies on a dask cluster of processes of this machine, started by the commands of the guide."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.inside.experiments import run_study, runner
from tests.support.command_line import ROOT
from tests.support.study_tasks import deadly, marked, marks, running, wait_until

dask = pytest.importorskip("dask", reason="dask and distributed are optional")

pytestmark = pytest.mark.slow("a scheduler and its workers are processes of their own")
SECONDS = 0.25


@contextmanager
def started(*words: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of dask, ended with all that it has started."""
    quiet = {"DASK_LOGGING__DISTRIBUTED": "error", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *words, "--no-dashboard"],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | quiet | variables,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def cluster(folder: Path, workers: int, *words: str, **variables: str) -> Iterator[Any]:
    """A scheduler and workers; its address and its process."""
    file = folder / "scheduler.json"
    # They are killed in the end, and what they keep would stay in the system's folder.
    variables = {"DASK_TEMPORARY_DIRECTORY": str(folder)} | variables
    with ExitStack() as stack:
        scheduler = stack.enter_context(
            started(
                "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file),
                **variables,
            )
        )  # fmt: skip
        wait_until(lambda: file.exists() and file.read_text().rstrip().endswith("}"))
        address = json.loads(file.read_text())["address"]
        for _ in range(workers):
            words = words or ("--nthreads", "1")
            stack.enter_context(
                started("worker", address, *words, "--local-directory", str(folder), **variables)
            )
        yield address, scheduler


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a cluster of two workers with one thread each."""
    with cluster(tmp_path_factory.mktemp("dask"), 2) as (address, _):
        yield address


def test_a_killed_worker_costs_one_task(address: str, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_a_worker(text: str) -> None:
        if text.startswith("4 of") and not killed:
            wait_until(lambda: bool(running(tmp_path)))
            killed.append(next(iter(running(tmp_path).values())))
            os.kill(killed[0], signal.SIGKILL)

    store = tmp_path / "s.sqlite"
    asked = [(str(tmp_path), number, SECONDS) for number in range(16)]
    words: dict[str, Any] = {"name": "n", "store": store, "backend": "dask", "scheduler": address}
    study = run_study(marked, asked, progress=kill_a_worker, **words)
    assert killed
    assert [value["square"] for value in study.complete().values()] == [k * k for k in range(16)]
    # The task that it ran, and on a busy machine one that it had ended and not yet handed over.
    begun = sum(marks(tmp_path, "begun").values())
    assert begun <= 18
    assert sum(marks(tmp_path, "ended").values()) <= 17
    # What a cluster has finished no other engine runs again.
    run_study(marked, asked, name="n", store=store)
    assert sum(marks(tmp_path, "begun").values()) == begun


def test_a_worker_with_other_sources_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(runner, "sources_digest", lambda work: "edited")
    asked = [(str(tmp_path), 0, 0.0)]
    study = run_study(marked, asked, name="n", backend="dask", scheduler=address)
    (failure,) = study.failures
    assert re.match(
        r"RuntimeError: process \d+ on .* has another edition of tightmargin", failure.message
    )
    assert not marks(tmp_path, "begun")


def test_a_task_that_ends_every_worker_is_named_and_the_scheduler_may_go(tmp_path: Path) -> None:
    quickly = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    with cluster(tmp_path, 2, **quickly) as (address, scheduler):
        store = tmp_path / "s.sqlite"
        asked = [(str(tmp_path), number, SECONDS, 99) for number in range(5)]
        words: dict[str, Any] = {"name": "n", "backend": "dask", "scheduler": address}
        study = run_study(deadly, asked, store=store, **words)
        assert sorted(task[1] for task in study.values) == [0, 1, 3, 4]
        (failure,) = study.failures
        assert failure.name.startswith(f"deadly({str(tmp_path)!r}, 2,")
        assert failure.message.startswith("its process died twice")

        def kill_the_scheduler(text: str) -> None:
            if text.startswith("2 of"):
                scheduler.kill()

        more = [(str(tmp_path), number, SECONDS) for number in range(10, 20)]
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
            pytest.raises(ConnectionError, match=f"the dask scheduler at {address} is gone"),
        ):
            run_study(marked, more, store=store, progress=kill_the_scheduler, **words)
        said: list[str] = []
        study = run_study(marked, more, name="n", store=store, report=said.append)
        assert len(study.complete()) == 10
        # What had been stored is not run again. Beyond it workers may have ended tasks whose
        # outcomes nobody could fetch any more: a worker that is lost with one lets it be run by
        # another, and what the scheduler took with it is run here.
        (found,) = re.findall(r"^(\d+) of 10 tasks were finished before$", "\n".join(said), re.M)
        assert int(found) >= 2
        assert len(list(tmp_path.glob(f"ended-*-{os.getpid()}"))) == 10 - int(found)
        assert max(marks(tmp_path, "ended").values()) <= 3
