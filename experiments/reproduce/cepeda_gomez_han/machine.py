"""The name of the processor that a time was measured on."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path


@cache
def machine() -> str:
    """Its model and the operating system."""
    return f"{_processor()}, {platform.system()}"


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.is_file():
        for line in described.read_text(encoding="utf-8").splitlines():
            name, _, model = line.partition(":")
            if name.strip() == "model name":
                return model.strip()
    return platform.processor() or platform.machine()
