"""Saved results, honest and forged: what `certify` confirms must be true."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import tightmargin as tm
from tests.inside.experiments import certify_command
from tests.soundness.asking import SECONDS, said_by
from tests.soundness.catalogue import TRIALS, drawn
from tests.soundness.judge import Answer, Case, Said

SAVED = ("c_svc", "zero_one_big_m", "conic_sdp", "nu_svc", "zero_one_relaxed", "rsvm",
         "extended_nu_svc", "ramp_big_m", "soft_margin_svc_dual")  # fmt: skip

Result = tm.SolveResult


def _claiming(result: Result, objective: float | None, bound: float | None) -> Result:
    """The same result with another objective and bound, certified."""
    certificate = replace(
        result.certificate, bound=bound, verdict=type(result.certificate.verdict)("CERTIFIED")
    )
    return replace(result, objective=objective, bound=bound, certificate=certificate)


def worse_optimum(result: Result) -> Result:
    wrong = 1.25 * (result.objective or 1.0)
    return _claiming(result, wrong, wrong)


def better_optimum(result: Result) -> Result:
    wrong = 0.75 * (result.objective or 1.0)
    return _claiming(result, wrong, wrong)


def bound_above(result: Result) -> Result:
    return _claiming(result, result.objective, (result.bound or 0.0) + abs(result.objective or 1.0))


def facts_grown(result: Result) -> Result:
    """Every number among the facts, 1e20 times as large."""
    facts = {name: _times(value, 1e20) for name, value in result.certificate.facts.items()}
    return replace(result, certificate=replace(result.certificate, facts=facts))


def strengthened_at_nothing(result: Result) -> Result:
    """w = 0 with every point given up, and a strengthening that nothing supports."""
    values = {name: np.zeros_like(array) for name, array in result.values.items()}
    n = len(values.get("z", ()))
    if n:
        values["z"] = np.ones(n)
    price = float(result.parameters.get("penalty") or 1.0) * n
    forged = _claiming(replace(result, values=values), price, price)
    facts = dict(result.certificate.facts) | {"relaxation_strengthening": [1e20] * n}
    return replace(forged, certificate=replace(forged.certificate, facts=facts))


def duals_grown(result: Result) -> Result:
    duals = {name: 3.0 * array for name, array in result.duals.items()}
    return bound_above(replace(result, duals=duals))


def values_halved(result: Result) -> Result:
    """Another point, said to have the optimum's objective."""
    return replace(result, values={name: 0.5 * array for name, array in result.values.items()})


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [_times(part, factor) for part in value]
    return value * factor if isinstance(value, float) else value


FORGERIES: tuple[Callable[[Result], Result] | None, ...] = (
    None, worse_optimum, better_optimum, bound_above, facts_grown, strengthened_at_nothing,
    duals_grown, values_halved,
)  # fmt: skip


def file_case(rng: np.random.Generator, index: int) -> Case:
    """Solve, save, perhaps forge, and ask certify: exit code 0 confirms what the file says.

    An honest file has exit code 0 or is open; of one that it confirms every number is judged.
    """
    name = SAVED[index // len(FORGERIES) % len(SAVED)]
    forge = FORGERIES[index % len(FORGERIES)]
    data, parameters, truth, words = drawn(rng, TRIALS[name])
    label = f"certify {name} {words} {'honest' if forge is None else forge.__name__}"

    def ask() -> list[Answer]:
        model = tm.build(name, data, **parameters)
        result = tm.solve(model, time_limit=SECONDS)
        if name == "zero_one_big_m":
            result = tm.solve(model, method="conflict-search", time_limit=SECONDS)
        with tempfile.TemporaryDirectory() as folder:
            points, file = Path(folder, "points.csv"), Path(folder, "saved.json")
            header = ",".join(["y", *(f"x{j}" for j in range(data.d))])
            np.savetxt(
                points,
                np.c_[data.y, data.X],
                delimiter=",",
                header=header,
                comments="",
                fmt="%.17g",
            )
            (result if forge is None else forge(result)).save(file)
            quiet = io.StringIO()
            with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                code = certify_command(file, data=str(points), label="y")
            confirmed = tm.SolveResult.load(file)
        # What exit code 0 leaves in the reader's hand is the file.
        if code == 0:
            return [Answer(label, said_by(confirmed, model), truth)]
        return [Answer(label, Said(status=quiet.getvalue()[-150:]), truth)]

    return Case(label, ask)
