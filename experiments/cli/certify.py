"""The certify command: a saved result proven again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tightmargin.experiments.cli import options
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import complain, working
from tightmargin.experiments.saved_results.training_data import certify
from tightmargin.experiments.saved_results.verification_verdict import Verification
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.plain_json import plain
from tightmargin.solvers.proof_files.checker import BY_ALLOWANCE
from tightmargin.solvers.result import SolveResult

Saved = Annotated[Path, typer.Argument(metavar="FILE.json", help="Written by solve --out.")]


def certify_command(
    file: Saved,
    data: options.OptionalSpec = None,
    label: options.Label = None,
    positive: options.Positive = None,
    absolute_gap: options.AbsoluteGap = 0.0,
    json: options.Json = False,
) -> int:
    """Prove the point and our own bounds of a saved result again, without any solver.

    Only the bound of a search over more than four features, or at nu_bar, takes linear programs, by
    highspy; and that of a search over cones of directions takes semidefinite ones, by Clarabel.

    Leaves with 0 when all of it was proven again, with 3 when what was proven is that the model is
    infeasible or unbounded, with 5 when the gap is closed by --absolute-gap alone, and with 1 when
    something in the file was not confirmed.
    """
    with working(f"proving {file}"):
        result = SolveResult.load(file)
        found = certify(result, data, label=label, positive=positive, absolute_gap=absolute_gap)
    if json:
        emit("certify", {"file": str(file)} | _document(result, found))
    else:
        from tightmargin.experiments.console.result import verification_page
        from tightmargin.experiments.console.tables import show

        show(verification_page(found))
    if not found.confirmed:
        complain(f"{file}: NOT_CERTIFIED, {found.reason}")
        return 1
    if found.verdict is Verdict.WITHIN_TOLERANCE:
        complain(f"{file}: {found.verdict}, the bound is proven, and the point misses a row")
    if found.absolute_gap:
        return BY_ALLOWANCE
    return 3 if found.without_optimum else 0


def _document(result: SolveResult, found: Verification) -> dict[str, Any]:
    return {
        "formulation": result.formulation,
        "problem_class": result.problem_class,
        "parameters": plain(dict(result.parameters)),
        "normalisation": plain(dict(result.normalisation)),
        "status": str(result.status),
        "numbers": {
            number.name: {
                "saved": number.saved,
                "recomputed": number.recomputed,
                "confirmed": number.confirmed,
            }
            for number in found.numbers
        },
        "certificate": {
            "verdict": str(found.verdict),
            "reason": found.reason,
            "bound_method": found.bound_method,
            "absolute_gap": found.absolute_gap or None,
        },
        "claims": list(found.claims),
        "unchecked": list(found.unchecked),
        "data": dict(result.data),
    }
