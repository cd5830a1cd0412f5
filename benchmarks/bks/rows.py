"""One solve of one instance, and the file that keeps all of them."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.bks.instances import FOLDER, Instance
from benchmarks.bks.planes import objective_of
from benchmarks.measuring import ROOT
from tightmargin.experiments.data.specs import data_folder
from tightmargin.formulations.zero_one.big_m_models import zero_one_big_m
from tightmargin.solvers.exact import rounded_down, rounded_up
from tightmargin.solvers.kernel.cones import WORDS as CONES
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.proof_files import checker
from tightmargin.solvers.result import SolveResult, versions
from tightmargin.solvers.solve import solve

HOME = ROOT / "benchmarks" / "bks"
STORE = HOME / "values.jsonl"
PROOFS = ROOT / "out" / "bks"
METHOD = "cones-then-conflicts"
WRITING = 60.0  # seconds for a proof file beside those of the solve
QUICKER = 10  # a file of conflicts is written and checked so much sooner than one of cones
CLOSED = 1e-6  # relative gap

Key = tuple[str, float]


@dataclass(frozen=True)
class Row:
    """One instance solved once, in the units of 1/2 ||w||^2 + C #violations.

    Attributes
    ----------
    instance, C : str, float
    objective : float
        Of (w, b), recomputed in exact arithmetic and rounded up.
    bound : float
        Proven here, at most the optimum; 0 where nothing is.
    verdict : str
        Of the certificate of the solve.
    method : str
        "cones" or "conflicts": what proved the bound.
    seconds, limit : float
        Wall clock of the solve with its certificate, and what was allowed.
    w, b : list of float, float
    proof : list of two floats, or None
        Bound and objective that the stand-alone checker read from the proof file and proved; None
        where no file was written.
    published : list of two floats, or None
        Least objective and greatest bound of the literature.
    date, versions : str, mapping
    """

    instance: str
    C: float
    objective: float
    bound: float
    verdict: str
    method: str
    seconds: float
    limit: float
    w: list[float]
    b: float
    proof: list[float] | None
    published: list[float] | None
    date: str
    versions: Mapping[str, str]

    @property
    def key(self) -> Key:
        """Instance and C."""
        return self.instance, self.C

    @property
    def gap(self) -> float:
        """(objective - bound) / objective."""
        return relative_gap(self.objective, self.bound)


def relative_gap(objective: float, bound: float) -> float:
    """(objective - bound) / objective, and 0 where both are 0."""
    return max(objective - bound, 0.0) / objective if objective else 0.0


def solved(instance: Instance, C: float, limit: float, proof_below: float) -> Row:
    """Solve an instance, and write and check its proof where the solve was quick.

    Parameters
    ----------
    limit : float
        Seconds.
    proof_below : float
        Seconds of a solve over cones up to which its proof is written and checked, which takes some
        ten times as long; QUICKER times as many for conflicts, whose files take as long as the
        solve; 0 for never.

    Raises
    ------
    FileNotFoundError
        The points are not at hand.
    KeyboardInterrupt
        A run that was interrupted is no row.
    """
    data = instance.data()
    model = zero_one_big_m(data, penalty=2.0 * C, big_m="derived", intercept="free")
    began = time.perf_counter()
    result = solve(model, method=METHOD, time_limit=limit)
    seconds = time.perf_counter() - began
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    w, b = result.values["w"].tolist(), float(result.values["b"])
    by_cones = CONES in result.certificate.bound_method
    proof = None
    quick = proof_below if by_cones else QUICKER * proof_below
    if result.certificate.verdict.closed and seconds <= quick:
        proof = _checked_proof(model, file_of(instance.name, C), limit)
    return Row(
        instance.name, C, objective_of(data, w, b, C), _half_bound(result),
        str(result.certificate.verdict), "cones" if by_cones else "conflicts", round(seconds, 3),
        limit, w, b, proof, published(instance, C), date.today().isoformat(), versions(),
    )  # fmt: skip


def file_of(name: str, C: float) -> Path:
    """Where the proof of a row is written."""
    return PROOFS / f"{name}-C{C:g}.json.gz"


def _half_bound(result: SolveResult) -> float:
    return 0.0 if result.bound is None else result.bound / 2


def _checked_proof(model: Any, path: Path, limit: float) -> list[float] | None:
    """Bound and objective of a proof file, as the checker proves them; None without a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    solve(model, method=METHOD, time_limit=limit + WRITING, proof=path)
    if not path.exists():
        return None
    proof = checker.check(checker.read(str(path)))
    assert proof.lower is not None
    assert proof.upper is not None
    constant: Fraction = proof.model.constant
    return [rounded_down((proof.lower + constant) / 2), rounded_up((proof.upper + constant) / 2)]


def published(instance: Instance, C: float) -> list[float] | None:
    """Least objective and greatest bound of the literature; None where there are none at hand.

    The better ones of plain branch and bound and of combinatorial Benders cuts, 600 s each, in
    Santana, Serrano, Schiffer & Vidal (arXiv 2207.07690).
    """
    folder = data_folder()
    if not instance.published or folder is None:
        return None
    with (folder / FOLDER / "published_bounds.csv").open(encoding="utf-8") as stream:
        for line in csv.DictReader(stream):
            if line["instance"] == instance.name and float(line["C"]) == C:
                ends = {
                    end: [float(line[f"{way}_{end}"]) for way in ("baseline", "benders")]
                    for end in ("upper", "lower")
                }
                return [min(ends["upper"]), max(ends["lower"])]
    return None


def kept(store: Path) -> list[Row]:
    """All rows of a store, in the order in which they were run."""
    if not store.exists():
        return []
    return [Row(**json.loads(line)) for line in store.read_text(encoding="utf-8").splitlines()]


def keep(store: Path, row: Any) -> None:
    """Add a line to a store."""
    with store.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(row)) + "\n")


def is_done(rows: Iterable[Row], key: Key, limit: float) -> bool:
    """Whether a row was proven, or run with at least that limit."""
    return any(
        row.key == key and (row.gap <= CLOSED or row.limit >= limit * (1 - 1e-9)) for row in rows
    )
