"""The first second: importing tightmargin and asking its command for help, beside Pyomo's import.

A fifth of "import and solve" is scipy.stats, which nothing here uses: Pyomo's hook imports it where
SciPy is loaded beside Pyomo, in whichever order, and models need both.

python -m benchmarks.start [repeats]
"""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.measuring import in_turns
from benchmarks.report import OURS, Line, Table, show

PYOMO = "import pyomo.environ"
ROUTES = {
    f"{OURS}, import": ("-c", "import tightmargin"),
    f"{OURS}, --help": ("-m", "tightmargin", "--help"),
    f"{OURS}, --version": ("-m", "tightmargin", "--version"),
    f"{OURS}, import and solve": ("-c", "import tightmargin as tm; tm.solve"),
    PYOMO: ("-c", "import pyomo.environ"),
}
NOTE = (
    "CPU seconds of a fresh interpreter. Asked: 1.2 times Pyomo's import at most, and 0.3 s for "
    "--help and --version. The solvers behind tm.solve are loaded when it is first used."
)


def child_seconds(words: tuple[str, ...]) -> float:
    """CPU seconds of an interpreter and its children, from start to end."""
    before = os.times()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    ended = after.children_user + after.children_system
    return ended - before.children_user - before.children_system


def measure(repeats: int = 7) -> list[Table]:
    """Every route in turns, each in an interpreter of its own."""
    routes = {name: lambda words=words: words for name, words in ROUTES.items()}
    numbers = in_turns(routes, (), (), repeats, measured=lambda route: child_seconds(route()))
    tables = []
    for name in ROUTES:
        if name != PYOMO and name != f"{OURS}, import and solve":
            lines = (Line(OURS, numbers[name]), Line(PYOMO, numbers[PYOMO], at_most=1.2))
            tables.append(Table(f"start, {name.partition(', ')[2]}", "s", lines, NOTE))
    whole = (
        Line(OURS, numbers[f"{OURS}, import and solve"]),
        Line(PYOMO, numbers[PYOMO]),
    )
    return [*tables, Table("start, import and solve", "s", whole, NOTE)]


if __name__ == "__main__":
    show(measure(*(int(word) for word in sys.argv[1:])))
