"""The export command: a formulation on data as a file that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightmargin.experiments.cli import options
from tightmargin.experiments.cli.settings import parse_settings
from tightmargin.experiments.cli.solve import prepared_model
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import working
from tightmargin.solvers.files.export import SUFFIXES, export


def export_command(
    name: options.Name,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.{lp,mps,nl,cbf,ptf,task,jtask,dat-s}", help="Its suffix is the format."
        ),
    ],
    data: options.Spec,
    settings: options.Settings = None,
    label: options.Label = None,
    positive: options.Positive = None,
    weight_column: options.WeightColumn = None,
    class_weight: options.ClassWeights = None,
    json: options.Json = False,
) -> int:
    """Write a formulation on data as a file, with the names of its rows and variables.

    MOSEK writes cbf, ptf, task and jtask, for which it needs no licence.
    """
    data = options.weighted_spec(data, weight_column, class_weight)
    options.writable(file, SUFFIXES)
    with working(f"writing {file}"):
        _, model = prepared_model(name, data, label, positive, parse_settings(settings or ()))
        export(model, file)
    if json:
        document = {"formulation": name, "file": str(file), "format": file.suffix.lower()[1:]}
        emit("export", document)
    else:
        print(f"wrote {file}")
    return 0
