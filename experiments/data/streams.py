"""Data that is piped in: read once, and known by what its first line looks like."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STREAM = "stream"
_DESCRIPTORS = ("/dev/stdin", "/dev/fd/")
_ARCHIVE = b"PK\x03\x04"  # how npz files begin


def is_stream(name: str) -> bool:
    """Whether a name is that of a pipe or a device, as /dev/stdin is."""
    path = Path(name).expanduser()
    if str(path).startswith(_DESCRIPTORS):  # a file that is piped in by < looks like one
        return path.exists()
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def as_file(scheme: str, name: str) -> Iterator[tuple[str, str]]:
    """Kind and name of a source, of a stream those of a file with what it holds.

    Raises
    ------
    ValueError
        A stream that holds nothing.
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
    """The format of what was piped in: npz by its first bytes, others by their first line.

    A comma makes it csv, `index:value` after a label libsvm; anything else is Brooks text.
    """
    if content.startswith(_ARCHIVE):
        return "npz"
    first = content.strip().splitlines()[0].decode("utf-8", errors="replace")
    words = first.split()
    if "," in first:
        return "csv"
    return "libsvm" if len(words) > 1 and ":" in words[1] else "brooks"
