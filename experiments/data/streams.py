"""Data that is piped in: read once, and known by what its first lines look like."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STREAM = "stream"
_DESCRIPTORS = ("/dev/stdin", "/dev/fd/")
_ARCHIVE = b"PK\x03\x04"  # how npz files begin
_LIBSVM = re.compile(r"[^\s,]+\s+(qid:\S+\s+)?[^\s,]*:")


def is_stream(name: str) -> bool:
    """Whether a name is that of a pipe or a device, as /dev/stdin is."""
    path = Path(name).expanduser()
    if str(path).startswith(_DESCRIPTORS):  # a file that is piped in by < looks like one
        return path.exists()
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def as_file(scheme: str, name: str) -> Iterator[tuple[str, str]]:
    """Kind and name of a source, of a stream those of a file with what it holds.

    Raises ValueError: a stream that holds nothing.
    """
    if scheme != STREAM:
        yield scheme, name
        return
    content = Path(name).expanduser().read_bytes()
    if not content.strip():
        raise ValueError("nothing was piped in")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "piped"
        file.write_bytes(content)
        yield kind_of(content), str(file)


def kind_of(content: bytes) -> str:
    """The format of what a file or a pipe holds: npz by its first bytes, others by their lines.

    `index:value` after a label makes it libsvm, a comma csv; anything else is Brooks text.
    """
    if content.startswith(_ARCHIVE):
        return "npz"
    for line in content.decode("utf-8", errors="replace").splitlines():
        words = line.split()
        if words and not words[0].startswith("#"):
            if _LIBSVM.match(line.strip()):
                return "libsvm"
            if "," in line:
                return "csv"
            if len(words) > 1:  # one word alone may be a label without features, or n of n and d
                return "brooks"
    return "brooks"
