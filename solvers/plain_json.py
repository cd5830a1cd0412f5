"""Numbers and arrays as plain JSON, whole or not at all, with a checksum."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tightmargin.formulations.data.arrays import Array


def plain(value: Any) -> Any:
    """JSON-ready copy: arrays as lists, infinities and missing numbers as null."""
    if is_dataclass(value) and not isinstance(value, type):
        names = [part.name for part in fields(value) if part.name[0] != "_"]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | bool):
        return value
    return str(value)


def checksum(document: Mapping[str, Any]) -> str:
    """Digest of a document as JSON, by which a file that was altered is known."""
    text = json.dumps(document, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def companion_arrays(path: Path, document: Mapping[str, Any]) -> dict[str, Array]:
    """Arrays of the file that a document names beside it; a ValueError where that was changed."""
    if "arrays" not in document:
        return {}
    companion = path.parent / Path(document["arrays"]["file"]).name
    content = companion.read_bytes()
    if hashlib.sha256(content).hexdigest() != document["arrays"]["sha256"]:
        raise ValueError(f"{companion.name} does not match its checksum")
    with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
        return {key: loaded[key] for key in loaded.files}


def write_atomically(path: Path, write: Any) -> None:
    """Write beside the target and rename, so that a reader never sees half a file."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
