"""Running the command line in tests: in this process, and in one of its own."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tests.inside.experiments import app
from tests.support import long_runs
from tightmargin.formulations import TrainingData

ROOT = long_runs.ROOT


def _no_constant(word: str) -> float:
    raise AssertionError(f"{word} is no JSON")


@dataclass(frozen=True)
class Answer:
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The document on standard output, which must be all there is."""
        return json.loads(self.stdout, parse_constant=_no_constant)

    @property
    def complaint(self) -> str:
        """The one line on standard error of a refused command."""
        (line,) = self.stderr.splitlines()
        assert self.stdout == ""
        assert "Traceback" not in line
        return line


def run(*words: str | Path | float) -> Answer:
    """Run a command in this process."""
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    return Answer(done.exit_code, done.stdout, done.stderr)


def start(*words: str | Path, cwd: Path, prelude: str = "") -> long_runs.Process:
    """Start a command in a process of its own, after some lines of Python."""
    script = f"{prelude}\nfrom tightmargin.experiments.cli.app import main\nmain()"
    return long_runs.start(*map(str, words), script=script, cwd=cwd)


def finish(process: long_runs.Process) -> Answer:
    """Wait for a process."""
    return Answer(*long_runs.finish(process))


def write_csv(path: Path, data: TrainingData) -> Path:
    """Write data with every digit: features x0, x1, ... and labels y."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow([*(f"x{j}" for j in range(data.d)), "y"])
        for row, label in zip(data.X.tolist(), data.y.tolist(), strict=True):
            table.writerow([*map(repr, row), int(label)])
    return path
