"""The path command: the extended nu-SVC for a list of nu, each value with its proof."""

from __future__ import annotations

import csv as csv_format
import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cuts.extended_nu_path import INTERRUPTED, ExtendedNuPath, extended_nu_path
from cuts.search_engines import METHODS
from experiments.commands import options
from experiments.commands.comparing import PICTURES
from experiments.commands.settings import (
    Settings,
    parse_settings,
    refuse_unknown,
    split_preprocessing,
)
from experiments.commands.streams import complain, emit, working
from experiments.preparation import Prepared
from formulations.data import TrainingData
from formulations.parameters import one_of
from solvers.algorithms.prepare import entry_named
from solvers.result import SCHEMA, Verdict, plain
from solvers.versions import versions

ENTRY = "extended_nu_svc"
ARRAYS = ("w", "alpha")  # of a row, left out of the table of numbers
SHARED = ("class_balance", "intercept")


def path_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"{ENTRY}, which has a path.")],
    data: options.Spec,
    settings: options.Settings = None,
    method: Annotated[
        str, typer.Option(metavar="M", help=f"Below nu_bar: {', '.join(METHODS)}.")
    ] = "auto",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Write what --json prints.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Write the table.")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw the least CVaR: png, pdf or svg."),
    ] = None,
    label: options.Label = None,
    positive: options.Positive = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="For each nu.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Solve the extended nu-SVC for a list of nu, from the largest down (Algorithm 11).

    As in: path extended_nu_svc --data SPEC --set nu=0.8,0.7,0.6. Leaves with 0 when every value is
    proven, with 1 when one is not, and with 130 after Ctrl-C, which keeps the rows found so far.
    """
    for file, suffixes in ((out, (".json",)), (csv, (".csv",)), (plot, PICTURES)):
        options.writable(file, suffixes)
    nus, shared, preprocessing = _asked(name, parse_settings(settings or ()))
    one_of("method", method, METHODS)
    with working(f"path of {name}"):
        prepared = options.prepared_data(data, label, positive, preprocessing)
        if not isinstance(prepared.data, TrainingData):
            raise ValueError(f"{name} reads points, not a kernel matrix: add kpca=full, or leave "
                             "kernel out")  # fmt: skip
        path = extended_nu_path(prepared.data, nus, engine=method, time_limit=time_limit, **shared)
        document = _document(path, prepared, method)
        _write(path, document, out, csv, plot)
    if json:
        emit("path", document)
    else:
        from experiments.render import path_page, show

        show(path_page(path))
    return _judge(path)


def _asked(name: str, settings: Settings) -> tuple[tuple[Any, ...], Settings, Settings]:
    """The list of nu, what else the path takes, and what is done to the data."""
    if entry_named(name).name != ENTRY:
        raise ValueError(f"only {ENTRY} has a path, not {name}")
    refuse_unknown(settings, [name])
    preprocessing, own = split_preprocessing(settings)
    if "nu" not in own:
        raise ValueError("path needs the list of nu, as in --set nu=0.8,0.7,0.6")
    given = own.pop("nu")
    if own.pop("scale", "takeda") != "takeda":
        raise ValueError("path prints objectives of Takeda & Sugiyama: leave scale out")
    nus = given if isinstance(given, tuple) else (given,)
    return nus, {word: own[word] for word in SHARED if word in own}, preprocessing


def _document(path: ExtendedNuPath, prepared: Prepared, method: str) -> dict[str, Any]:
    raw, rows = prepared.raw, []
    for row in path.rows:
        rows.append(asdict(row) | {"verdict": str(row.verdict), "gap": row.gap})
    return {
        "formulation": ENTRY,
        "method": method,
        "parameters": {"class_balance": path.class_balance, "intercept": path.intercept},
        "range": {
            "nu_bar": path.range.nu_bar,
            "nu_bar_bounds": list(path.nu_bar_bounds),
            "nu_max": path.range.nu_max,
            "constant_until": path.range.constant_until,
        },
        "rows": rows,
        "searches": path.searches,
        "left_out": list(path.left_out),
        "interrupted": _was_interrupted(path),
        "data": {"spec": raw.spec, "n": raw.n, "d": raw.d, "sha256": raw.sha256},
        "normalisation": dict(prepared.record),
        "versions": versions(),
    }


def _write(
    path: ExtendedNuPath,
    document: dict[str, Any],
    out: Path | None,
    csv: Path | None,
    plot: Path | None,
) -> None:
    if out is not None:
        whole = plain({"schema": SCHEMA, "command": "path"} | document)
        text = json_format.dumps(whole, allow_nan=False, indent=1)
        out.write_text(text, encoding="utf-8")
    if csv is not None:
        kept = [{k: v for k, v in row.items() if k not in ARRAYS} for row in document["rows"]]
        with csv.open("w", newline="", encoding="utf-8") as stream:
            table = csv_format.DictWriter(stream, list(kept[0]))
            table.writeheader()
            table.writerows(kept)
    if plot is not None:
        from cuts.cvar_profile import cvar_profile
        from experiments.cvar_plot import save_profile

        save_profile(cvar_profile(path), plot, str(document["data"]["spec"]))


def _was_interrupted(path: ExtendedNuPath) -> bool:
    return bool(path.left_out) or any(row.stop == INTERRUPTED for row in path.rows)


def _judge(path: ExtendedNuPath) -> int:
    """Exit code, and on standard error why it is not 0."""
    if _was_interrupted(path):
        left = ", ".join(f"{nu:g}" for nu in path.left_out)
        words = f"{ENTRY}: interrupted; kept {len(path.rows)} rows"
        complain(f"{words}{left and f', without nu = {left}'}")
        return 130
    code = 0
    for row in path.rows:
        if row.verdict is not Verdict.CERTIFIED:
            bound = row.claimed_bound if row.verdict is Verdict.SOLVER_BOUND else row.lower_bound
            complain(
                f"{ENTRY}: nu = {row.nu:g}: {row.verdict}, value {row.value:.9g}, bound "
                f"{bound:.9g} ({row.stop})"
            )
            code = 1
    return code
