"""The path command: one problem for a list of values of its hyperparameter, each with its proof.

What can follow a path is in FAMILIES; each family is a file of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightmargin.experiments.cli import options
from tightmargin.experiments.cli.settings import parse_settings, refuse_unknown, split_preprocessing
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import working
from tightmargin.experiments.console.tables import show
from tightmargin.experiments.paths import class_probabilities, conic, extended_nu, rigorous_svm
from tightmargin.experiments.paths.family import (
    ARRAYS,
    Family,
    with_checksum,
    write_document,
    write_table,
)
from tightmargin.experiments.plots.style import SUFFIXES
from tightmargin.formulations.catalogue import entry_named
from tightmargin.formulations.data.multiclass_data import points_or_kernel
from tightmargin.solvers.plain_json import plain

__all__ = ["ARRAYS", "FAMILIES", "path_command"]

FAMILIES: dict[str, Family] = {
    extended_nu.ENTRY: extended_nu.FAMILY,
    conic.PENALTY: conic.FAMILY,
    conic.BUDGET: conic.FAMILY,
    **dict.fromkeys(rigorous_svm.ENTRIES, rigorous_svm.FAMILY),
    class_probabilities.ENTRY: class_probabilities.FAMILY,
}


def path_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"{', '.join(FAMILIES)}.")],
    data: options.Spec,
    settings: options.Settings = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="M",
            help=f"{extended_nu.ENTRY}: {', '.join(extended_nu.METHODS)}; "
            f"{rigorous_svm.ENTRIES[0]}: {', '.join(rigorous_svm.METHODS)}; "
            f"{class_probabilities.ENTRY}: {', '.join(class_probabilities.METHODS)}.",
        ),
    ] = "auto",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Write what --json prints.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="Write the table.")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png",
            help="Draw the least CVaR, value and sum z, loss, C and nu, or probabilities: png, "
            "pdf or svg.",
        ),
    ] = None,
    label: options.Label = None,
    positive: options.Positive = None,
    weight_column: options.WeightColumn = None,
    class_weight: options.ClassWeights = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="For each value.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Solve a problem for a list of hyperparameters, every value proven.

    extended_nu_svc over nu, from the largest down (Algorithm 11): --set nu=0.8,0.7,0.6.
    conic_sdp over penalty and conic_sdp_budget over budget, with warm starts: --set penalty=0.1,1
    or --set budget=0.3,0.1; 100 values when none is named. rsvm and rsvm_dual over norm_bound H, or
    over capacity = H^2 / n: --set norm_bound=1,2,4; the paper's 12 values when none is named, and
    eta=0.05 vc_form=vapnik for the VC bound that is printed. weighted_svc over pi, which gives
    probabilities: --set ridge=0.01 and pi=0.25,0.5,0.75 or grid=19, that many equally spaced ones;
    predict takes what --out writes. Leaves with 0 when every value is proven, with 1 when one is
    not, and with 130 after Ctrl-C, which keeps the rows found so far.
    """
    data = options.weighted_spec(data, weight_column, class_weight)
    for file, suffixes in ((out, (".json",)), (csv, (".csv",)), (plot, SUFFIXES)):
        options.writable(file, suffixes)
    found = parse_settings(settings or ())
    family = _family(name)
    refuse_unknown(found, [name], family.words)
    preprocessing, own = split_preprocessing(found)
    asked = family.asked(name, own, method)
    with working(f"path of {name}") as progress:
        prepared = options.prepared_data([name], data, label, positive, preprocessing)
        points = points_or_kernel(prepared.data)
        path = family.solve(points, asked, time_limit, lambda text: progress(f"{name}: {text}"))
        document = family.document(name, path, prepared, method)
        words = {"label": label, "positive": positive}
        document["data"] |= {word: value for word, value in words.items() if value is not None}
        rows = document["rows"]
        document = with_checksum(plain(document))
        if out is not None:
            write_document(document, out)
        if csv is not None:
            write_table(rows, csv)
        if plot is not None:
            family.draw(path, plot, str(document["data"]["spec"]))
    if json:
        emit("path", document)
    else:
        show(family.page(path))
    return family.judge(name, path)


def _family(name: str) -> Family:
    if entry_named(name).name not in FAMILIES:
        others = ", ".join(
            f"{entry} over {family.parameter(entry)}"
            for entry, family in FAMILIES.items()
            if entry != extended_nu.ENTRY
        )
        raise ValueError(
            f"{name} has no path: only {extended_nu.ENTRY} has a path over nu, {others}"
        )
    return FAMILIES[name]
