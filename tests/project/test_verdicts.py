"""Who may prove, and who may say CERTIFIED: solvers/proofs, and nobody else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "solvers" / "proofs"
# The stand-alone checker imports nothing of ours: what it says, it says of a file it has checked.
REFEREE = ROOT / "solvers" / "proof_files" / "checker.py"
ROOMS = ("formulations", "solvers", "cuts", "experiments", "tightmargin")
STATEMENTS = {"LowerBound", "FeasiblePoint", "Infeasible", "Unbounded", "Proof"}
EARNED = {"CERTIFIED", "WITHIN_TOLERANCE"}  # what a verdict is by proofs alone


def product_files() -> list[Path]:
    """Modules outside the kernel; the front door holds links to the rooms."""
    inside = [path for room in ROOMS[:-1] for path in (ROOT / room).rglob("*.py")]
    return sorted(
        path
        for path in [*inside, *(ROOT / ROOMS[-1]).glob("*.py")]
        if KERNEL not in path.parents and path != REFEREE
    )


def forgeries(tree: ast.Module) -> Iterator[str]:
    """Uses of the seal and of the constructors of statements, by whatever name they go."""
    names = {name: name for name in STATEMENTS}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "SEAL":
                    yield f"line {node.lineno}: it takes the seal"
                if alias.name in STATEMENTS and alias.asname:
                    names[alias.asname] = alias.name
        if isinstance(node, ast.Attribute) and node.attr == "SEAL":
            yield f"line {node.lineno}: it takes the seal"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else None
            called = node.func.id if isinstance(node.func, ast.Name) else called
            if called in names:
                yield f"line {node.lineno}: it makes a {names[called]}"


def unearned(tree: ast.Module) -> Iterator[str]:
    """Places where an earned verdict is a value and not something to compare with."""
    allowed: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                sides = [node.left, *node.comparators]
                # `in` has its choices in a tuple, set or list.
                choices = [
                    part
                    for side in sides
                    if isinstance(side, ast.Tuple | ast.Set | ast.List)
                    for part in side.elts
                ]
                allowed |= {id(part) for part in (*sides, *choices)}
            case ast.Dict():  # tables of colours and words, by verdict
                allowed |= {id(key) for key in node.keys}
    for node in ast.walk(tree):
        word = None
        if isinstance(node, ast.Attribute):
            word = node.attr
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = node.value
        if word in EARNED and id(node) not in allowed:
            assert isinstance(node, ast.expr)
            yield f"line {node.lineno}: it says {word}"


def test_nobody_but_the_kernel_proves_or_certifies() -> None:
    files = product_files()
    assert len(files) > 400
    found = {}
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found[str(path.relative_to(ROOT))] = [*forgeries(tree), *unearned(tree)]
    assert {path: said for path, said in found.items() if said} == {}


PLANTED_PROOFS = (
    "from tightmargin.solvers.proofs.statement import SEAL",
    "import tightmargin.solvers.proofs.statement as s\nseal = s.SEAL",
    "bound = LowerBound(subject=1, words='', seal=object(), varying=0.0)",
    "from tightmargin.solvers.proofs.statement import FeasiblePoint as F\nF()",
    "import tightmargin.solvers.proofs.statement as s\ns.Infeasible()",
)
PLANTED_VERDICTS = (
    "verdict = Verdict.CERTIFIED if proven else Verdict.NOT_CERTIFIED",
    "Certificate(Verdict.CERTIFIED)",
    "verdict = Verdict('CERTIFIED')",
    "record = {'verdict': 'CERTIFIED'}",
    "GOOD = (Verdict.CERTIFIED, Verdict.WITHIN_TOLERANCE)",
    "found = Verdict.CERTIFIED or other == 3",
)
HONEST = (
    "if row.verdict is Verdict.CERTIFIED: pass",
    "done = verdict in (Verdict.CERTIFIED, Verdict.WITHIN_TOLERANCE)",
    "colours = {Verdict.CERTIFIED: 'green', 'WITHIN_TOLERANCE': 'yellow'}",
    "open_rows = [row for row in rows if str(row.verdict) != 'CERTIFIED']",
    "refused = Certificate(Verdict.NOT_CERTIFIED, reason)",
    "bound: LowerBound | None = by_lemma(subject, lemma)",
)


def test_planted_proofs_and_verdicts_are_found_and_comparisons_allowed() -> None:
    for planted in PLANTED_PROOFS:
        assert list(forgeries(ast.parse(planted))), planted
    for planted in PLANTED_VERDICTS:
        assert list(unearned(ast.parse(planted))), planted
    for honest in HONEST:
        tree = ast.parse(honest)
        assert not [*forgeries(tree), *unearned(tree)], honest
