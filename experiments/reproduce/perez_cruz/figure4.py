"""Figure 4: polynomial and Gaussian kernels through their principal components, nu = 0.51."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from tightmargin.experiments.data.gaussian_classes import clusters
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table, largest
from tightmargin.experiments.reproduce.framework.registry import Effort, reproduction
from tightmargin.experiments.reproduce.framework.report import PaperClaim, Report
from tightmargin.experiments.reproduce.framework.runs import run_tasks
from tightmargin.experiments.reproduce.perez_cruz.figure3 import NUS as LINEAR_NUS
from tightmargin.experiments.reproduce.perez_cruz.pictures import figure4
from tightmargin.experiments.reproduce.perez_cruz.published import (
    BAYES,
    FIGURE4_ERRORS,
    FIGURE4_NU,
    PAPER,
)
from tightmargin.experiments.reproduce.perez_cruz.samples import (
    FIGURE4_NUS,
    KERNELS,
    PLACE,
    POINTS,
)
from tightmargin.experiments.reproduce.perez_cruz.section6_error import bayes_error, error_of, grid
from tightmargin.experiments.reproduce.perez_cruz.solved import Plain, row_of, solved
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.kernel_pca import KernelPca, fit_kernel_pca
from tightmargin.formulations.data.kernels import kernel_matrix
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.kernel.verdict import weakest
from tightmargin.solvers.nu.nu_range import nu_range

NAME = "perez-cruz-figure4"
SAMPLES, QUICK = 40, 4
BLOCK = 20000  # points scored at once
KEYS = (Column("kernel", "kernel"),)
COLUMNS = (
    Column("error", "error", ".4f"), Column("least error", "least error", ".4f"),
    Column("median error", "median error", ".4f"),
    Column("best over nu", r"best over $\nu$", ".4f"), Column("rho", r"$\rho$"),
    Column("lambda", r"$\lambda$"), Column("nu_bar", r"$\bar\nu$", ".4f"),
    Column("variance", "variance", ".5f"),
)  # fmt: skip


def one_sample(seed: int) -> Plain:
    """Both kernels on one sample for every nu, with their probabilities of error."""
    data = clusters(seed, POINTS)
    found: Plain = {"seed": seed}
    for name, (options, keep) in KERNELS.items():
        fitted = fit_kernel_pca(data, keep=keep, **options)
        path = solved(fitted.data, FIGURE4_NUS)
        errors = _errors(fitted, options, path["rows"])
        shown = path["rows"][PLACE]
        a, a0 = fitted.expansion(np.array(shown["w"]), shown["b"])
        found[name] = {
            **{key: shown[key] for key in ("rho", "lambda", "sign", "vectors", "nu_property")},
            "verdict": str(weakest(row["verdict"] for row in path["rows"])),
            "gap": largest(row["gap"] for row in path["rows"]),
            "nu_bar": path["nu_bar_bounds"],
            "variance": fitted.share_kept,
            "errors": errors,
            "a": a.tolist(),
            "a0": a0,
        }
    return found


def _errors(fitted: KernelPca, options: dict[str, Any], rows: Sequence[Plain]) -> list[float]:
    """Probability of error for every nu."""
    expansions = [fitted.expansion(np.array(row["w"]), row["b"]) for row in rows]
    weights, constants = (
        np.array([a for a, _ in expansions]).T,
        np.array([c for _, c in expansions]),
    )
    kind, rest = options["kernel"], {k: v for k, v in options.items() if k != "kernel"}
    places = grid()
    scores = np.vstack([
        kernel_matrix(kind, places[k : k + BLOCK], _points(fitted), **rest) @ weights + constants
        for k in range(0, len(places), BLOCK)
    ])  # fmt: skip
    return [error_of(column) for column in scores.T]


def _points(fitted: KernelPca) -> Array:
    assert isinstance(fitted.points, TrainingData)
    return fitted.points.X


def seeds(count: int) -> list[int]:
    """The first samples that could be the paper's, by what it says of nu_min.

    0.51 < nu_min < 0.69 for the linear classifier of Figure 3, and 0.51 < nu_min for both kernels.
    """
    found: list[int] = []
    seed = 0
    while len(found) < count:
        data = clusters(seed, POINTS)
        if FIGURE4_NU < nu_range(data).nu_bar < LINEAR_NUS[0] and all(
            nu_range(fit_kernel_pca(data, keep=keep, **options).data).nu_bar > FIGURE4_NU
            for options, keep in KERNELS.values()
        ):
            found.append(seed)
        seed += 1
    return found


@reproduction(
    NAME,
    "two normal classes with polynomial and Gaussian kernels: boundary and error, nu = 0.51",
    source=f"{PAPER}, Figure 4",
    quick=f"{QUICK} samples of {SAMPLES}",
)
def run(effort: Effort) -> Report:
    """The printed errors beside those of samples that could be the paper's."""
    asked = QUICK if effort.quick else SAMPLES
    tried = seeds(asked)
    done = run_tasks(one_sample, [(seed,) for seed in tried], effort)
    samples = list(done.results)
    shown = nearest(samples)
    share = f"of the first {tried[-1] + 1} samples {len(tried)} are such"
    title = f"sample {shown['seed']}, the nearest to the print, and {len(samples)} in all"
    rows = (
        Row(("Bayes",), {"error": Cell(bayes_error(), BAYES)}),
        *(_row(name, shown[name], [sample[name] for sample in samples]) for name in KERNELS),
    )
    return Report(
        NAME, f"{PAPER}, Figure 4: nu = {FIGURE4_NU}", (Table(NAME, title, KEYS, COLUMNS, rows),),
        claims=_claims(samples), notes=(*NOTES, share, _flat(samples)),
        figure=figure4(shown),
        unfinished=done.unfinished(asked, "samples"),
    )  # fmt: skip


NOTES = (
    f"the points are not printed: ours have the distribution of section 6 and {POINTS} points, and "
    "nu_min above 0.51 with both kernels and between 0.51 and 0.69 without, as the paper says of "
    "its own. Errors are probabilities under that distribution, integrated; those of the machines "
    "belong to a sample and are shown, not judged; the Bayes rule's is judged",
    "how many components are kept is not printed either, and decides nu_min: with all of them a "
    "Gaussian kernel separates any 60 different points, and nu-SVC reaches every nu. Ours are 5, "
    "which is all that the polynomial kernel has; variance: their share of it",
    "error, rho, lambda and nu_bar are those of the sample that is drawn, at nu = 0.51; least "
    "error and median error those of all samples there; best over nu: the least error of "
    f"the drawn one over nu = {', '.join(f'{nu:g}' for nu in FIGURE4_NUS)}",
)


def nearest(samples: Sequence[Plain]) -> Plain:
    """The sample whose larger difference of an error from the print is least."""

    def away(sample: Plain) -> float:
        return max(
            abs(sample[name]["errors"][PLACE] - float(printed))
            for name, printed in FIGURE4_ERRORS.items()
        )

    return min(samples, key=away)


def _row(name: str, shown: Plain, found: Sequence[Plain]) -> Row:
    errors = [one["errors"][PLACE] for one in found]
    cells = {
        "error": Cell(shown["errors"][PLACE], FIGURE4_ERRORS[name], None),
        "least error": Cell(min(errors)),
        "median error": Cell(median(errors)),
        "best over nu": Cell(min(shown["errors"])),
        "rho": Cell(shown["rho"]),
        "lambda": Cell(shown["lambda"]),
        "nu_bar": Cell(shown["nu_bar"][1]),
        "variance": Cell(shown["variance"]),
    }
    return row_of((name,), cells, found)


def _claims(samples: Sequence[Plain]) -> tuple[PaperClaim, ...]:
    runs = [sample[name] for sample in samples for name in KERNELS]
    bayes = bayes_error()
    return (
        PaperClaim(
            f"lambda < 0 at nu = {FIGURE4_NU} with both kernels in all {len(samples)} samples, "
            "proven: nu-SVC does not reach it",
            all(run["sign"] < 0 and (run["nu_bar"][0] or 0) > FIGURE4_NU for run in runs),
        ),
        PaperClaim(
            "errors <= nu <= SVs in all of these runs", all(run["nu_property"] for run in runs)
        ),
        PaperClaim(
            f"no machine of any nu has a smaller error than the Bayes rule, {bayes:.5f}",
            all(min(run["errors"]) > bayes for run in runs),
        ),
    )


def _flat(samples: Sequence[Plain]) -> str:
    """How often 0.51 is the best nu, which the paper says of its sample."""
    best = {
        name: sum(min(s[name]["errors"]) == s[name]["errors"][PLACE] for s in samples)
        for name in KERNELS
    }
    counts = ", ".join(f"{count} with {name}" for name, count in best.items())
    return (
        "the paper says that its errors at nu = 0.51 are the least over all nu; of our "
        f"{len(samples)} samples that holds for {counts}, among the {len(FIGURE4_NUS)} nu tried"
    )
