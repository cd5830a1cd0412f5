"""docs/cuts.md: its program prints what it shows, and its facial cut holds as it is stated."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from tests.project.test_docs import agree

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cuts.md"


def test_the_program_prints_what_it_shows() -> None:
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(), flags=re.S)
    ((code, shown),) = blocks
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "cuts.md", "exec"), {})
    assert agree(shown, printed.getvalue())
