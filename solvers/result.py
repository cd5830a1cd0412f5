"""Results: what a solver claimed, what was proven, and a file format that cannot run code."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tightmargin.number_words import (
    bound_text,
    count_text,
    number_text,
    proven_ends,
    short,
    with_bound,
)
from tightmargin.printing import Drawn, Page, Printed, value_text
from tightmargin.solvers.exact import rounded_down, rounded_up
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.plain_json import checksum, companion_arrays, plain, write_atomically

# --- What a solved model prints: five lines, from what it is to what to look at next -------------


COPY, OF_THE_PROBLEM = "solved_copy", "bounds_edited_problem"
NOT_BOUNDED = "no bound of the problem it stands for"
BOUNDED = "the bound is one of the edited problem"
SETTINGS = 40  # characters of the hyperparameters in a title


def result_title(result: SolveResult) -> str:
    """The formulation with its class, its size and its hyperparameters."""
    data = result.data
    parts = [f"{result.formulation or 'a model'} ({result.problem_class or 'of unknown class'})"]
    if "n" in data:
        parts.append(count_text(data["n"], "point"))
    if "d" in data:
        parts.append(count_text(data["d"], "feature"))
    told = ((word, value_text(value)) for word, value in result.parameters.items())
    settings = ", ".join(f"{word} = {text}" for word, text in told if text)
    return ", ".join([*parts, *([short(settings, SETTINGS)] if settings else [])])


def result_page(result: SolveResult) -> Page:
    """What a solve amounts to."""
    facts = [
        (_value_word(result), _value(result)),
        ("verdict", verdict_line(result)),
        *problem_line(result.certificate),
        ("solver", f"{result.solver} {result.version}".strip() + f", {result.seconds:.2g} s"),
        ("next", ", ".join(_next(result))),
    ]
    return Page(f"SolveResult: {result_title(result)}", facts)


def _value_word(result: SolveResult) -> str:
    return "status" if result.objective is None else "objective"


def _value(result: SolveResult) -> str:
    if result.objective is None:
        told = "" if result.bound is None else f", proven bound {bound_text(result.bound)}"
        return f"{str(result.status).replace('_', ' ')}{told}"
    if result.interval is None:
        return with_bound(result.objective, result.bound)
    gap = result.absolute_gap
    value, ends = upper_text(result), ", ".join(proven_ends(*result.interval))
    told = f"{value}, optimum proven in [{ends}]"
    if not gap or result.relative_gap is None:
        return told
    return f"{told}, gap {gap:.2g} (relative {result.relative_gap:.2g})"


def upper_text(result: SolveResult) -> str:
    """The objective, of a proven point as the end of its interval that it is."""
    assert result.objective is not None
    low_and_high = result.interval
    if low_and_high is None or result.objective not in low_and_high or result.absolute_gap == 0:
        return number_text(result.objective)
    return proven_ends(*low_and_high)[low_and_high.index(result.objective)]


def verdict_line(result: SolveResult) -> str:
    """The verdict and what it rests on."""
    certificate = result.certificate
    why = certificate.reason
    if certificate.verdict is Verdict.CERTIFIED:
        why = certificate.bound_method
    elif certificate.verdict is Verdict.SOLVER_BOUND and certificate.solver_bound is not None:
        claim = f"{result.solver} claims {number_text(certificate.solver_bound)}"
        why = f"{claim}; {why}" if why else claim
    verdict = f"{certificate.verdict}{of_a_copy(certificate)}"
    return f"{verdict}: {why}" if why else verdict


def of_a_copy(certificate: Certificate) -> str:
    """What of an edited problem is said that was not solved by the model as it stands."""
    copied = certificate.facts.get(COPY)
    return f" of the edited problem, by a copy with {copied}" if copied else ""


def problem_line(certificate: Certificate) -> list[tuple[str, str]]:
    """Whether what is proven of a model bounds the problem it stands for, where that is asked."""
    held = certificate.facts.get(OF_THE_PROBLEM)
    if certificate.unproven:
        return [("problem", f"{NOT_BOUNDED}: {certificate.unproven}")]
    return [("problem", f"{BOUNDED}: {held}")] if held else []


def _next(result: SolveResult) -> Iterator[str]:
    if result.values:
        yield f".values ({value_text(result.values)})"
    if result.ray:
        yield ".ray"
    if result.status == "infeasible":
        yield "tm.explain_infeasible(model)"
    yield from (".certificate", ".to_dict()")


def certificate_page(certificate: Certificate) -> Page:
    """What was recomputed, and how it is proven."""
    level = {"paper": "the paper's formula", "model": "the model"}
    residuals = [
        f"{word} {value:.1e}"
        for word, value in (
            ("primal", certificate.primal_residual),
            ("dual", certificate.dual_residual),
            ("complementarity", certificate.complementarity),
        )
        if value is not None
    ]
    facts = [
        ("reason", certificate.reason),
        ("proven", _proven(certificate)),
        ("claimed", "" if certificate.solver_bound is None else _claim(certificate)),
        *problem_line(certificate),
        ("residuals", ", ".join(residuals)),
        ("facts", value_text(certificate.facts)),
    ]
    what = of_a_copy(certificate) or f", of {level.get(certificate.level, 'the model')}"
    title = f"Certificate: {certificate.verdict}{what}"
    return Page(title, [(word, text) for word, text in facts if text][:5])


def _claim(certificate: Certificate) -> str:
    assert certificate.solver_bound is not None
    return f"bound {number_text(certificate.solver_bound)}, the solver's word"


def _proven(certificate: Certificate) -> str:
    bound, upper = certificate.bound, certificate.upper
    how = f" ({certificate.bound_method})" if certificate.bound_method else ""
    if bound is not None and upper is not None:
        ends = ", ".join(proven_ends(min(bound, upper), max(bound, upper)))
        return f"[{ends}]{how}"
    if bound is not None:
        return f"bound {bound_text(bound)}{how}"
    return how[2:-1] if upper is None else f"a point of {bound_text(upper)}"


def search_page(
    title: str,
    objective: float,
    bound: float | None,
    *,
    ended: str,
    effort: str,
    parts: str,
) -> Page:
    """What a search or a heuristic found, proved and took.

    Parameters
    ----------
    ended : str
        Why it stopped.
    effort : str
        Steps and seconds.
    parts : str
        What to look at next.
    """
    facts = [
        ("objective", with_bound(objective, bound)),
        ("ended", ended.replace("_", " ")),
        ("took", effort),
        ("next", parts),
    ]
    return Page(title, [(word, text) for word, text in facts if text])


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
        this file.
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


class Provable(Protocol):
    """What a solve has kept of its proof."""

    def write(self, path: Path, result: SolveResult) -> object:
        """Check the proof and put it in place, or raise a ValueError with what is missing."""


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
    _evidence: Provable | None = None  # of a result that was loaded there is none

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

    def save_proof(self, path: str | Path) -> Path:
        """Write the proof of this result to a file that anybody can check (docs/proof_files.md).

        It is a proof about the model as it was solved, whatever became of it since.

        Parameters
        ----------
        path : str or path
            Ends in .json or .json.gz.

        Raises
        ------
        ValueError
            A path that cannot be written to, a result that was loaded, or nothing that is proven
            in exact arithmetic. No file is written then.

        Examples
        --------
        >>> import tempfile, pathlib, tightmargin as tm
        >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
        >>> result = tm.solve(tm.c_svc(data, C=1.0))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save_proof(pathlib.Path(folder) / "c_svc.json.gz").name
        'c_svc.json.gz'
        """
        refuse_bad_path(path)
        if self._evidence is None:
            raise ValueError(
                "this result was loaded from a file, or nothing was solved for it: "
                "`tightmargin prove` writes the proof of a saved result"
            )
        self._evidence.write(Path(path), self)
        return Path(path)

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
    """What gaps of a result are relative to, see kernel/statement.py; 1 where nothing is said."""
    scale = certificate.facts.get("unit")
    return scale if isinstance(scale, float) and scale > 0 else unsaid


# --- The names under which a certificate keeps further numbers, each with its meaning ------------
# The fields of a certificate are final; whatever else is computed goes into its `facts`, under one
# of these names, into the JSON file and onto the screen.


MODEL_FACTS = {
    "unit": "what a gap is relative to: the larger of |objective| and |bound|, with the constant "
    "of the objective or without it, whichever is less",
    "exact_upper": "the proven upper end as a fraction, where no double holds it",
    "exact_bound": "the proven lower end as a fraction, where no double holds it",
    "absolute_gap": "what the caller is content with where that is nearly 0",
    "stationarity": "largest entry of P x + q + A'z, relative to the terms of its column",
    "dual_cone_violation": "how far the solver's multipliers are outside their cones, relative",
    "objective_curvature": "smallest eigenvalue of the Hessian of the objective",
    "row_curvature": "smallest eigenvalue of the Hessians of the convex quadratic rows",
    "cone_rows": "number of quadratic rows that are convex as second-order cones only",
    "matrix_eigenvalue": "smallest eigenvalue of the matrices of the semidefinite rows",
    "dual_matrix_eigenvalue": "smallest eigenvalue of their multipliers, the dual slack matrices",
    "no_duals": "why the result holds no duals",
    "solved_copy": "what a copy has of its own by which an edited exact model was solved: the "
    "result is of the edited problem",
    "bounds_edited_problem": "why the bound of an edited relaxation is one of its problem too",
    "bound_duals": "multipliers behind the bound, by row, where the solver gave none",
    "bound_point": "the point of the relaxation they belong to, where its objective is quadratic",
}

INTEGER_FACTS = {
    "fixed_objective": "certified optimum with the integers fixed at the incumbent",
    "fixed_verdict": "its verdict",
    "solver_objective": "objective of the solver's own point, where a better one replaced it",
    "trace": "rows of (seconds, bound, incumbent) of a search; a solver's bounds are its word",
    "relaxation_strengthening": "gamma of the SDP relaxation whose closed form is the bound",
}

SECOND_SOLVER_FACTS = {
    "second_solver": "name of the solver asked for a second opinion",
    "second_version": "its version",
    "second_status": "its status",
    "second_objective": "objective of its point, recomputed",
    "second_bound": "its own bound, a claim",
    "second_agrees": "whether the two agree within their tolerances",
}

SEARCH_FACTS = {
    "engine": "search of our own that found the point: hull, branch_and_cut, cutting_plane, local, "
    "ball (the convex problem above nu_bar), boundary (at it), conflict-search (0-1 loss), "
    "cone-search (0-1 and ramp loss), "
    "branch-and-bound (any mixed-integer model that is convex once relaxed), sgd "
    "(soft margin), dca (truncated hinge), alternating (bounded rank), or a method of the rigorous "
    "SVM",
    "stop": "why it ended, in a word",
    "nodes": "boxes of branch and cut, or nodes of the conflict search",
    "cells": "cones of directions that were bounded",
    "steps": "steps of the active-set method in the conflict search, of the rigorous SVM's, of sgd",
    "descent": "rows of (steps, objective of the averaged iterate, proven bound) of sgd",
    "expected_gap": "what theory promises of sgd: no more than this, in the mean over the draws",
    "rounds": "rounds of the hull engine or of the cutting plane loop",
    "linear_programs": "how many it solved",
    "cuts_until_no_face": "cuts until no face of the polytope was left",
    "faces": "faces that strategy literal met: cuts before, dimension, tight rows, its cut",
    "cuts": "how many it used",
    "starts": "directions that local searches started from, or starts of a heuristic",
    "start_values": "objective at which each start of a heuristic ended",
    "iterations": "linear programs that local searches solved in all",
}

CLASSIFIER_FACTS = {
    "errors": "training points on the wrong side of the hyperplane or on it; of several classes "
    "those for which another class scores as high",
    "errors_by_class": "errors among the points of each class",
    "fisher_consistency": "why the truncated loss need not find the most probable class",
    "margin_errors": "points below the margin level rho",
    "margin_error_share": "their share, by weight; at most nu",
    "margin_violations": "points with y_i f(x_i) < 1",
    "singular_values": "of the weight matrix B, largest first",
    "used_weights": "coordinates of w that are not 0 up to rounding",
    "ranks": "of each class's matrix: singular values above 1e-7 of the largest",
    "rank": "of B: singular values above 1e-7 of the largest",
    "nuclear_norm": "sum of the singular values of B",
    "trace_P": "trace of the relaxed projection onto the columns of B, at most the bounded rank",
    "rounded_objective": "objective of the exact problem at the nearest B of the bounded rank",
    "cells": "cones of directions whose relaxation a search has solved",
    "support_vectors": "points with a multiplier, or (from w alone) not beyond the margin level",
    "support_vector_share": "their share, by weight; at least nu",
    "nu_property": "whether margin_error_share <= nu <= support_vector_share, or why not asked",
    "cvar": "conditional value at risk of the margin error, recomputed by sorting",
    "norm_multiplier": "multiplier of the norm row, minus half the objective",
    "norm": "length of w, with b where it is penalised; of a kernel machine in feature space",
    "norm_active": "whether that is norm_bound, up to 1e-6 of it",
    "gamma": "multiplier of half the norm row, sqrt(S) / H; 1 / C of the same C-SVC",
    "capacity_price": "sqrt(S) = gamma H: what the loss falls by for a unit more of norm_bound",
    "hull_distance": "distance of the nearest points of the two (reduced) hulls",
    "half_distance": "half of it; the hard margin when the hulls are plain and disjoint",
    "side": "on which side of nu_bar the optimum lies",
    "degenerate": "why the optimum says nothing about the points",
    "violations": "points that pay the 0-1 loss: y_i f(x_i) < 1",
    "outliers": "points whose loss is capped, or which the extended robust machine leaves out",
    "strengthening": "gamma_i of the conic losses",
    "conic_losses": "loss of every point at that gamma (Cepeda et al., Proposition 1)",
    "rank_of_lift": "rank of W - w w'",
    "rank_tolerance": "eigenvalues of W - w w' up to this size count as 0",
    "spent": "share of the budget on violations that is spent",
    "active": "points with a positive multiplier",
    "least_errors": "points of both labels in one place: no classifier makes fewer errors",
    "active_bounds": "bounds on the hyperplane that hold the optimum back",
    "components": "of a kernel matrix: its eigenvalues that are no rounding, one entry of w each",
    "kernel_shift": "number added to the diagonal of a kernel matrix that was not semidefinite",
    "binding_big_m": "rows that a big-M holds at z_i = 1",
    "big_m_slack": "margin that an indicator within the solver's tolerance of 0 buys for nothing",
    "penalty": "penalty that the budget corresponds to",
    "cutoff": "known objective that the slack bounds start from",
    "kept": "points that the slack bounds keep for sure",
    "violated": "points that they violate for sure",
    "conflicts": "sets of points of which one is violated",
    "intercepts": "both ends of the interval of intercepts of least loss",
    "equivalence": "C, nu, D, ridge and the rest that stand for this norm_bound",
    "at_cutoff": "the relaxation reaches the known objective, which is optimal then",
}

FACTS = MODEL_FACTS | INTEGER_FACTS | SECOND_SOLVER_FACTS | SEARCH_FACTS | CLASSIFIER_FACTS


# --- Which software the numbers of a result went through, for its record -------------------------


VERSION = "0.1.0"
PACKAGES = ("pyomo", "numpy", "scipy")


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    own = (("tightmargin", VERSION), ("python", platform.python_version()))
    return (*own, *((name, version(name)) for name in PACKAGES))


def versions() -> dict[str, str]:
    """Versions of tightmargin, Python and the packages between the data and the solver."""
    return dict(_versions())


SUFFIXES = (".json", ".json.gz")  # of proof files


def refuse_bad_path(path: Path | str | None) -> None:
    """Refuse a file that cannot be written, before any work is done.

    Raises ValueError: another suffix, a folder that is missing, or a folder in the place of a file.
    """
    if path is None:
        return
    path = Path(path)
    if not path.name.endswith(SUFFIXES):
        raise ValueError(f"{path}: the name must end in {' or '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name a file")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{path}: the folder {path.parent} cannot be written to")
