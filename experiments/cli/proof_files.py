"""The prove and check commands: proofs as files that anybody can check."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from tightmargin.experiments.cli import options
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import complain, working
from tightmargin.experiments.saved_results.training_data import training_data
from tightmargin.experiments.saved_results.verification import rebuilt_case
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.proof_files import checker
from tightmargin.solvers.proof_files.result_proof import SECONDS, write_proof
from tightmargin.solvers.proof_files.write import refuse_bad_path
from tightmargin.solvers.result import SolveResult

Proof = Annotated[Path, typer.Argument(metavar="FILE", help="Written by solve --proof or prove.")]


def prove_command(
    file: Annotated[Path, typer.Argument(metavar="RESULT.json", help="Written by solve --out.")],
    proof: Annotated[Path, typer.Argument(metavar="FILE.json.gz", help="Where the proof goes.")],
    data: options.OptionalSpec = None,
    label: options.Label = None,
    positive: options.Positive = None,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            help="For the branch and bound that proves a mixed-integer model.",
        ),
    ] = SECONDS,
    json: options.Json = False,
) -> int:
    """Write the proof of a saved result, for check; a mixed-integer one is searched for."""
    refuse_bad_path(proof)
    limit = checked_limits(time_limit).time_limit
    with working(f"proving {file}"):
        result = SolveResult.load(file)
        case = rebuilt_case(result, training_data(result, data, label, positive))
        found = write_proof(proof, case, result, limit)
    _say("prove", proof, found, json=json)
    return 0


def check_command(
    file: Proof,
    copy_checker: Annotated[
        Path | None,
        typer.Option(
            "--copy-checker", metavar="FOLDER", help="Put the checker there, for a referee."
        ),
    ] = None,
    json: options.Json = False,
) -> int:
    """Check a proof file in exact arithmetic, without any solver.

    Leaves with 0 when everything that the file claims is proven, and with 1 otherwise. The checker
    is one file that needs nothing but Python: python checker.py FILE.
    """
    if copy_checker is not None:
        if not copy_checker.is_dir():
            raise ValueError(f"--copy-checker: there is no folder {copy_checker}")
        shutil.copy(checker.__file__, copy_checker / "checker.py")
    try:
        with working(f"checking {file}"):
            found = checker.check(checker.read(str(file)))
    except FileNotFoundError:
        raise ValueError(
            f"{file}: there is no such file; `tightmargin solve --proof FILE.json.gz` writes one"
        ) from None
    except Exception as error:  # whatever a damaged file may cause, as in the checker's own door
        complain(f"{file}: not proven, {error}")
        return 1
    _say("check", file, found, json=json)
    return 0


def _say(command: str, file: Path, found: checker.Proof, *, json: bool) -> None:
    lines = checker.told(found)
    if json:
        emit(command, {"file": str(file), "claim": str(found.kind), "proven": lines})
    else:
        print("\n".join(lines))
