"""Cuts in files of plain JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tightmargin.cuts.cut.cut import Cut

SCHEMA = "tightmargin/cuts/1"


def save_cuts(cuts: Sequence[Cut], path: str | Path) -> Path:
    """Write cuts as plain JSON."""
    path = Path(path)
    document = {"schema": SCHEMA, "cuts": [cut.to_json() for cut in cuts]}
    path.write_text(json.dumps(document, allow_nan=False, indent=1), encoding="utf-8")
    return path


def load_cuts(path: str | Path) -> tuple[Cut, ...]:
    """Read cuts that `save_cuts` wrote.

    Raises
    ------
    ValueError
        The file is truncated, altered beyond reading, or of another schema.
    """
    try:
        document = json.loads(Path(path).read_bytes())
        if document["schema"] != SCHEMA:
            raise ValueError(f"schema {document['schema']!r}, expected {SCHEMA!r}")
        return tuple(Cut.from_json(entry) for entry in document["cuts"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a readable list of cuts: {error}") from None
