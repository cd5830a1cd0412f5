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
from tightmargin.experiments.saved_results.verification_verdict import asked_gap
from tightmargin.solvers.engines.running import checked_limits
from tightmargin.solvers.proof_files import checker
from tightmargin.solvers.proof_files.write import NotProvenError
from tightmargin.solvers.result import SCHEMA, SolveResult, refuse_bad_path
from tightmargin.solvers.result_proof import write_proof

Proof = Annotated[Path, typer.Argument(metavar="FILE", help="Written by solve --proof or prove.")]


def prove_command(
    file: Annotated[Path, typer.Argument(metavar="RESULT.json", help="Written by solve --out.")],
    proof: Annotated[Path, typer.Argument(metavar="FILE.json.gz", help="Where the proof goes.")],
    data: options.OptionalSpec = None,
    label: options.Label = None,
    positive: options.Positive = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            help="For the branch and bound that proves a mixed-integer model.",
        ),
    ] = None,
    absolute_gap: options.AbsoluteGap = 0.0,
    json: options.Json = False,
) -> int:
    """Write the proof of a saved result, for check; a mixed-integer one is searched for."""
    refuse_bad_path(proof)
    limits = checked_limits(time_limit, absolute_gap=absolute_gap)
    with working(f"proving {file}"):
        result = SolveResult.load(file)
        prepared = training_data(result, data, label, positive)
        case = rebuilt_case(result, prepared, limits.absolute_gap)
        try:
            found = write_proof(proof, case, result, limits.time_limit)
        except NotProvenError as error:
            asked = "" if absolute_gap else asked_gap(result.certificate)
            raise NotProvenError(f"{error}{asked}") from None
    return _say("prove", proof, found, json=json)


def check_command(
    file: Proof,
    copy_checker: Annotated[
        Path | None,
        typer.Option(
            "--copy-checker", metavar="FOLDER", help="Put the checker there, for a referee."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite another checker.py in that folder.")
    ] = False,
    time_limit: Annotated[
        float,
        typer.Option("--time-limit", metavar="SECONDS", help="For the checker."),
    ] = checker.LONGEST_TIME,
    size_limit: Annotated[
        int,
        typer.Option("--size-limit", metavar="BYTES", min=1, help="Of the file, once unpacked."),
    ] = checker.LARGEST_FILE,
    json: options.Json = False,
) -> int:
    """Check a proof file in exact arithmetic, without any solver.

    Leaves with 0 when everything that the file claims is proven, with 4 when a limit was reached
    before that was decided, with 5 when the gap is closed by an absolute gap that the file allows
    itself and by nothing else, and with 1 otherwise. The checker is one file that needs nothing but
    Python: python checker.py FILE.
    """
    limit = checked_limits(time_limit).time_limit
    if copy_checker is not None:
        _put_checker(copy_checker, force=force)
    try:
        with working(f"checking {file}"):
            found = checker.check_file(str(file), limit or checker.LONGEST_TIME, size_limit)
    except FileNotFoundError:
        raise ValueError(
            f"{file}: there is no such file; `tightmargin solve --proof FILE.json.gz` writes one"
        ) from None
    except checker.LimitError as error:
        complain(f"{file}: not decided, {error}")
        return checker.LIMIT_REACHED
    except Exception as error:  # whatever a damaged file may cause, as in the checker's own door
        _refuse_saved_result(file)
        complain(f"{file}: not proven, {error}")
        return 1
    return _say("check", file, found, json=json)


def _put_checker(folder: Path, *, force: bool) -> None:
    """Copy the checker, over another file only where that is asked for."""
    if not folder.is_dir():
        raise ValueError(f"--copy-checker: there is no folder {folder}")
    own, there = Path(checker.__file__), folder / "checker.py"
    if there.exists() and there.read_bytes() == own.read_bytes():
        return
    if there.exists() and not force:
        raise ValueError(f"--copy-checker: {there} is another file; --force overwrites it")
    shutil.copy(own, there)


def _refuse_saved_result(file: Path) -> None:
    """Raise ValueError for a saved result, which is no proof and may be made one."""
    try:
        document = checker.read(str(file))
    except (OSError, EOFError, ValueError, RecursionError, checker.ProofError):
        return
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        return
    raise ValueError(
        f"{file} is a saved result and no proof file: `tightmargin certify {file}` proves it again,"
        f" and `tightmargin prove {file} FILE.json.gz` writes its proof"
    )


def _say(command: str, file: Path, found: checker.Proof, *, json: bool) -> int:
    lines = checker.told(found)
    if json:
        emit(command, {"file": str(file), "claim": str(found.kind), "proven": lines})
    else:
        print("\n".join(lines))
    return checker.BY_ALLOWANCE if found.by_allowance else 0
