"""Results: what a solver claimed, what was proven, and a file format that cannot run code."""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.printing import Drawn, Page, Printed
from tightmargin.solvers.exact_arithmetic import rounded_down, rounded_up
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.plain_json import checksum, companion_arrays, plain, write_atomically
from tightmargin.solvers.printing.results import certificate_page, result_page, result_title
from tightmargin.solvers.proofs.verdict import Verdict

SCHEMA = "tightmargin/1"
INLINE_LIMIT = 1000
GROUPS = ("values", "duals", "ray")
DERIVED = ("interval", "absolute_gap", "relative_gap")  # of the other numbers of a file
# Facts under which a proven end is kept as a fraction where no double holds it.
EXACT_UPPER, EXACT_BOUND = "exact_upper", "exact_bound"
TINY = 1e-6  # of the unit of a gap: what a certificate leaves open

Arrays = Mapping[str, NDArray[np.float64]]

# What a truncated, altered or foreign file makes the parsers raise.
_UNREADABLE = (
    OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, zipfile.BadZipFile,
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Certificate(Printed):
    """What was recomputed from the data.

    Attributes
    ----------
    verdict : Verdict
        CERTIFIED: an exactly feasible point and a bound, proven here. WITHIN_TOLERANCE: the same
        bound, and a point that misses rows by at most 1e-9 of their largest coefficient.
        SOLVER_BOUND: a point, and the named solver's bound. NOT_CERTIFIED: see `reason`.
    level : str
        "paper" when the formulation's own formula was re-evaluated from the data, "model" when
        only the (edited or foreign) model was.
    primal_residual : float or None
        Largest violation of a row, relative to the row's size.
    dual_residual, complementarity : float or None
        Stationarity and complementarity of the multipliers before their repair, relative.
    gap : float or None
        (upper - bound) / min(max(|upper|, |bound|), max(|upper - k|, |bound - k|)) of the proven
        ends, k being the constant of the objective, at least 0; None when the bound exceeds the
        objective, and `reason` says so. The denominator is in `facts` as "unit", and ends that no
        double holds are there as fractions, "exact_upper" and "exact_bound".
    upper : float or None
        The objective of a point that is feasible in exact arithmetic, rounded up (down, when
        maximising); None where no such point is proven. With `bound` it is `interval`.
    bound, bound_method : float or None, str
        The proven lower bound and how it is proven.
    solver_bound : float or None
        The solver's own bound: a claim.
    unproven : str
        Why the model is no exact statement (or no relaxation) of the paper's problem, if so: its
        bounds are then no bounds for that problem.
    facts : mapping
        Further numbers, and counts and remarks from the formulation's check, under the names of
        fact_names.py.
    """

    verdict: Verdict
    reason: str = ""
    level: str = "model"
    primal_residual: float | None = None
    dual_residual: float | None = None
    complementarity: float | None = None
    gap: float | None = None
    upper: float | None = None
    bound: float | None = None
    bound_method: str = ""
    solver_bound: float | None = None
    unproven: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def _title(self) -> str:
        return str(self.verdict)

    def _page(self) -> Page:
        return certificate_page(self)


@dataclass(frozen=True, eq=False, repr=False)
class SolveResult(Printed, Drawn):
    """A solved model.

    Attributes
    ----------
    status : Status
    objective : float or None
        Value at `values`, recomputed; None unless a feasible point exists.
    bound : float or None
        A lower bound (upper, when maximising) proven by our own computation, never a claim.
    values : mapping
        Arrays by variable name; `rows[k]` order is that of the index set, and lifted matrices
        (indexed by lower-triangle pairs) come back square. Of an unbounded model that is proven to
        be one: the feasible point from which `ray` leaves.
    duals : mapping
        By constraint name: d objective / d right-hand side; cone rows give the multiplier vector
        or matrix. Empty when the solver has none. Of an infeasible model that is proven to be one:
        the Farkas multipliers of its linear rows, d (sum of violations) / d right-hand side.
    certificate : Certificate
        Verdict, the proven interval, what proves it, and what is missing where it is not proven.
    solver, version, seconds : str, str, float
        Who found the values, "tightmargin" for a method of ours; and in how much wall clock.
    message, log : str
        Which route was taken and why, what the solver said; its output, where asked for.
    formulation, problem_class, parameters, data : str, str, mapping, str
        What was solved: name, class, hyperparameters and data in words.
    options, seed, threads, time_limit, normalisation
        As they were given; what was done to the points before, for new ones.
    ray : mapping
        By variable name: the direction in which an unbounded model falls (or rises, when
        maximising) for ever without leaving its rows. Empty for all others.
    versions : mapping
        Of tightmargin, Python and the packages that the numbers went through.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> tm.solve(tm.c_svc(data, C=1.0)).values["w"].shape
    (2,)
    """

    status: Status
    objective: float | None
    bound: float | None
    values: Arrays
    duals: Arrays
    certificate: Certificate
    solver: str
    version: str = ""
    seconds: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    log: str = ""
    formulation: str = ""
    problem_class: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    threads: int | None = None
    time_limit: float | None = None
    normalisation: Mapping[str, Any] = field(default_factory=dict)
    ray: Arrays = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def _title(self) -> str:
        return result_title(self)

    def _page(self) -> Page:
        return result_page(self)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The proven ends between which the optimum lies, the smaller one first.

        They are the bound and the objective of an exactly feasible point; None without one of them.
        """
        bound, upper = self.bound, self.certificate.upper
        if bound is None or upper is None or not np.isfinite([bound, upper]).all():
            return None
        return min(bound, upper), max(bound, upper)

    @property
    def unit(self) -> float | None:
        """What the certificate's gap is measured against; None without a point and a bound."""
        found = self.certificate.facts.get("unit")
        return found if isinstance(found, float) else None

    @property
    def absolute_gap(self) -> float | None:
        """Distance from the objective to the proven bound, whatever the sense.

        None without one of the two, and where the bound is on the wrong side of the objective.
        """
        if self.objective is None or self.bound is None or self.certificate.gap is None:
            return None
        if self.certificate.gap == 0:
            return 0.0
        if not (math.isfinite(self.objective) and math.isfinite(self.bound)):
            return abs(self.objective - self.bound)
        upper = self._exact(self.objective, EXACT_UPPER)
        return rounded_up(abs(upper - self._exact(self.bound, EXACT_BOUND)))

    def _exact(self, end: float, name: str) -> Fraction:
        """A proven end before it was rounded; the double itself where it was not."""
        said = self.certificate.facts.get(name)
        exact = Fraction(said) if isinstance(said, str) else Fraction(end)
        return exact if end in (rounded_down(exact), rounded_up(exact)) else Fraction(end)

    @property
    def relative_gap(self) -> float | None:
        """Absolute gap over |objective|, or over the unit where a constant makes that smaller.

        None when the objective is 0, as far as can be told.
        """
        gap = self.absolute_gap
        if gap is None or self.objective is None or is_tiny(self.objective, self.certificate):
            return None
        return gap / size_of(self.objective, self.certificate)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionary in the documented layout; arrays become lists."""
        return {
            "schema": SCHEMA,
            "command": "solve",
            "formulation": self.formulation,
            "problem_class": self.problem_class,
            "parameters": plain(dict(self.parameters)),
            "status": str(self.status),
            "objective": plain(self.objective),
            "bound": plain(self.bound),
            "interval": plain(self.interval),
            "absolute_gap": plain(self.absolute_gap),
            "relative_gap": plain(self.relative_gap),
            "values": plain(dict(self.values)),
            "duals": plain(dict(self.duals)),
            "certificate": plain(asdict(self.certificate)),
            "solver": {
                "name": self.solver,
                "version": self.version,
                "options": plain(dict(self.options)),
                "seed": self.seed,
                "threads": self.threads,
                "time_limit": plain(self.time_limit),
            },
            "seconds": self.seconds,
            "message": self.message,
            "data": plain(dict(self.data)),
            "normalisation": plain(dict(self.normalisation)),
            "ray": plain(dict(self.ray)),
            "versions": plain(dict(self.versions)),
        }

    def save(self, path: str | Path) -> Path:
        """Write JSON (and FILE.npz for arrays above 1000 entries), atomically, with checksums."""
        path = Path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{path}: there is no folder {path.parent}")
        document = self.to_json()
        large = {
            f"{group}/{name}": np.asarray(array, dtype=np.float64)
            for group in GROUPS
            for name, array in getattr(self, group).items()
            if np.asarray(array).size > INLINE_LIMIT
        }
        if large:
            companion = path.with_suffix(".npz")
            if companion == path:
                companion = path.with_name(path.name + ".npz")
            write_atomically(companion, lambda file: np.savez(file, **large))  # type: ignore[arg-type]
            digest = hashlib.sha256(companion.read_bytes()).hexdigest()
            for key in large:
                group, name = key.split("/", 1)
                document[group][name] = {"npz": key}
            document["arrays"] = {"file": companion.name, "sha256": digest}
        document["sha256"] = checksum(document)
        text = json.dumps(document, allow_nan=False, indent=1)
        write_atomically(path, lambda file: file.write(text.encode()))
        return path

    @classmethod
    def load(cls, path: str | Path) -> SolveResult:
        """Read a saved result.

        Raises
        ------
        ValueError
            When the file is truncated, altered, or none that `save` wrote, or contradicts itself.
        """
        path = Path(path)
        try:
            content = path.read_bytes()
            other = _what_else(content)
            if other:
                raise ValueError(other)
            document = json.loads(content)
            stated = document.pop("sha256")
            if stated != checksum(document):
                raise ValueError("the checksum does not match: the file was altered")
            _refuse_other_kinds(document)
            arrays = companion_arrays(path, document)
            found = cls._from_json(document, arrays)
            again = found.to_json()
            for name in DERIVED:
                if name in document and document[name] != again[name]:
                    raise ValueError(
                        f"it contradicts itself: its {name} is {document[name]}, and its other "
                        f"numbers make it {again[name]}"
                    )
            return found
        except _UNREADABLE as error:
            raise ValueError(f"{path} is not a readable result: {error}") from None

    @classmethod
    def _from_json(cls, document: dict[str, Any], arrays: Arrays) -> SolveResult:
        def group(name: str) -> dict[str, NDArray[np.float64]]:
            return {
                key: arrays[entry["npz"]]
                if isinstance(entry, dict)
                else np.array(entry, dtype=np.float64)
                for key, entry in document[name].items()
            }

        certificate, solver = document["certificate"], document["solver"]
        return cls(
            status=Status(document["status"]),
            objective=document["objective"],
            bound=document["bound"],
            values=group("values"),
            duals=group("duals"),
            certificate=Certificate(**(certificate | {"verdict": Verdict(certificate["verdict"])})),
            solver=solver["name"],
            version=solver["version"],
            seconds=document["seconds"],
            options=solver["options"],
            message=document["message"],
            formulation=document["formulation"],
            problem_class=document["problem_class"],
            parameters=document["parameters"],
            data=document["data"],
            seed=solver["seed"],
            threads=solver["threads"],
            time_limit=solver["time_limit"],
            normalisation=document["normalisation"],
            ray=group("ray") if "ray" in document else {},  # earlier files have none
            versions=document.get("versions", {}),
        )

    def with_data(self, **entries: Any) -> SolveResult:
        """Copy with more said about the data."""
        return replace(self, data=dict(self.data) | entries)


_NUMBER, _TEXT = (int, float, type(None)), (str,)
# What every part of a file is. A bool counts as none of the numbers.
_KINDS: dict[str, dict[str, tuple[type, ...]]] = {
    "": {
        **dict.fromkeys(("formulation", "problem_class", "status", "message"), _TEXT),
        **dict.fromkeys(("objective", "bound"), _NUMBER),
        **dict.fromkeys(("parameters", "data", "normalisation", *GROUPS, "versions"), (dict,)),
        **dict.fromkeys(("certificate", "solver"), (dict,)),
        "seconds": (int, float),
    },
    "certificate": {
        **dict.fromkeys(("verdict", "reason", "level", "bound_method", "unproven"), _TEXT),
        **dict.fromkeys(("primal_residual", "dual_residual", "complementarity"), _NUMBER),
        **dict.fromkeys(("gap", "upper", "bound", "solver_bound"), _NUMBER),
        "facts": (dict,),
    },
    "solver": {
        **dict.fromkeys(("name", "version"), _TEXT),
        **dict.fromkeys(("seed", "threads"), (int, type(None))),
        "time_limit": _NUMBER,
        "options": (dict,),
    },
}


def _refuse_other_kinds(document: Mapping[str, Any]) -> None:
    """Raise ValueError where a number is expected and something else stands, and the like."""
    for name, kinds in _KINDS.items():
        part = document[name] if name else document
        for word, kind in kinds.items():
            # Files of earlier versions have no ray and no versions.
            if word in part and (isinstance(part[word], bool) or not isinstance(part[word], kind)):
                where = f"{name}.{word}" if name else word
                names = " or ".join("null" if k is type(None) else k.__name__ for k in kind)
                raise ValueError(f"its {where} is {str(part[word])[:40]}, and no {names}")


def _what_else(content: bytes) -> str:
    """What a file is that no `save` wrote, and who takes it; empty for a saved result."""
    written = "a result is what `tightmargin solve --out FILE.json` or result.save() writes"
    if content[:2] == b"\x1f\x8b":
        return f"it is packed, as proof files are, which `tightmargin check` decides; {written}"
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        truncated = content.lstrip()[:1] == b"{"
        return f"it is {'cut off' if truncated else 'no JSON'}; {written}"
    if not isinstance(document, dict) or "schema" not in document:
        rows = isinstance(document, dict) and "rows" in document
        return f"it holds {'the rows of a path' if rows else 'no result'}; {written}"
    if str(document["schema"]).startswith("tightmargin-proof/"):
        return f"it is a proof file, which `tightmargin check` decides; {written}"
    if document["schema"] != SCHEMA:
        return f"schema {document['schema']!r}, expected {SCHEMA!r}; {written}"
    if document.get("command", "solve") != "solve":
        return f"it is what `tightmargin {document['command']}` wrote; {written}"
    return "" if "sha256" in document else f"it has no checksum; {written}"


def was_interrupted(result: SolveResult) -> bool:
    """Whether the user stopped the solver (SCIP keeps Ctrl-C to itself and says so)."""
    return result.status is Status.INTERRUPTED or "interrupted" in result.message


def is_tiny(objective: float, certificate: Certificate) -> bool:
    """Whether an objective is 0 as far as its certificate can tell: no gap is relative to it."""
    return objective == 0 or abs(objective) <= TINY * scale_of(certificate)


def size_of(objective: float, certificate: Certificate) -> float:
    """What a gap in percent is relative to: |objective|, or the unit where that is smaller.

    It is smaller only where the objective contains a constant that is larger than the rest.
    """
    return min(abs(objective), scale_of(certificate, math.inf))


def scale_of(certificate: Certificate, unsaid: float = 1.0) -> float:
    """What gaps of a result are relative to, see proofs/gap.py; 1 where nothing is said."""
    scale = certificate.facts.get("unit")
    return scale if isinstance(scale, float) and scale > 0 else unsaid
