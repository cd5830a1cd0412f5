"""The temporary folder of one study, and an end to those that killed studies left behind."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "tightmargin-study-"
HELD = "held"  # a file in the folder, locked while its study runs
SETTLED = 60.0  # seconds in which a folder that was just made gets its lock


@contextmanager
def notes_folder() -> Iterator[str]:
    """A folder that is removed at the end; that of a process that was killed, by a later one."""
    _remove_abandoned()
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX) as folder,
        Path(folder, HELD).open("w") as held,
    ):
        fcntl.flock(held, fcntl.LOCK_EX)
        yield folder


def _remove_abandoned() -> None:
    """Remove folders whose lock nobody holds: the system gives it back when a process dies."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            mark = (folder / HELD).stat()
            if mark.st_uid == os.getuid() and time.time() - mark.st_mtime > SETTLED:
                with (folder / HELD).open() as held:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder)
