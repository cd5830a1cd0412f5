"""Print constraints.txt with every direct dependency at the lowest version we admit."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

root = Path(__file__).resolve().parents[1]
project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
# Packages of "bench" too: newer ones of them would ask for newer solvers.
needed = [
    *project["dependencies"],
    *(words for extra in ("gurobi", "scs", "bench") for words in extras[extra]),
]
lowest = {
    canonicalize_name(requirement.name): specifier.version
    for requirement in map(Requirement, needed)
    for specifier in requirement.specifier
    if specifier.operator == ">="
}
# Newer ones warn of what matplotlib 3.9 does, and a warning is an error in tests.
lowest["pyparsing"] = "3.2.0"
for line in (root / "constraints.txt").read_text().splitlines():
    name = canonicalize_name(re.split("==", line)[0])
    print(f"{line.split('==')[0]}=={lowest[name]}" if name in lowest else line)
