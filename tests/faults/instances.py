"""Instances found by seed and brute force, kept with their data: instances/NAME.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "instances"


def instance(name: str) -> dict[str, Any]:
    """One instance; `found` says which seed it comes from and what is special about it."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
