"""Results as JSON on standard output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tightmargin.solvers.plain_json import plain
from tightmargin.solvers.result import SCHEMA


def emit(command: str, document: Mapping[str, Any]) -> None:
    """Print one JSON document with null for what is missing or infinite."""
    whole = {"schema": SCHEMA, "command": command} | dict(document)
    print(json.dumps(plain(whole), allow_nan=False, indent=1))
