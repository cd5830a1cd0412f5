"""Saved results with one word changed, or a few that fit each other: what `certify` says is true.

Every leaf of the file is changed in turn, removed, or joined by another, with a checksum that fits.
Whatever is confirmed must be the optimum of the data that the file names, by a witness that knows
them before any preparation; and the changed word must be within what is computed again, or be
listed as the word of the file.
"""

from __future__ import annotations

import copy
import functools
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import tightmargin as tm
from tests.inside.experiments import Prepared, Verification, certify, origin_of, prepare, recorded
from tests.inside.formulations import Normaliser
from tests.inside.solvers import DERIVED, checksum
from tests.soundness import questions as q
from tests.soundness.asking import said_by
from tests.soundness.exact import constant_of, objective_at
from tests.soundness.judge import REFUSALS, Answer, Case, Kind, Said, Truth
from tests.soundness.questions import TRIALS
from tightmargin.solvers import Verdict

Document = dict[str, Any]
Path_ = tuple[str | int, ...]

AGAIN = 1e-7  # of the unit of a gap: within it a saved number and the one computed again agree
REUSED = 24  # cases of one honest file
ALLOWANCE = 1e9


@dataclass(frozen=True)
class KindOfFile:
    """How an honest file is made."""

    entry: str
    points: str = "plain"  # or sparse, weighted, words (for labels), classes, touching
    options: tuple[tuple[str, Any], ...] = ()  # of `prepare`
    solving: tuple[tuple[str, Any], ...] = ()  # of `solve`
    mode: str = "free"


ZSCORE, UNIT = (("normalise", "zscore"),), (("normalise", "unit"),)
RBF = (("kernel", "rbf"), ("width", 0.75))
KINDS = (
    KindOfFile("c_svc"),
    KindOfFile("c_svc", options=ZSCORE),
    KindOfFile("c_svc", "weighted", ZSCORE),
    KindOfFile("c_svc", "words", solving=(("absolute_gap", 0.5),)),
    KindOfFile("c_svc", "sparse", UNIT),
    KindOfFile("c_svc", options=(("normalise", "centred"),), mode="penalised"),
    KindOfFile("c_svc", options=(*RBF, ("kpca", "full"))),
    KindOfFile("c_svc_dual", options=RBF),
    KindOfFile("nu_svc", options=(("normalise", "zscore_unit"),)),
    KindOfFile("soft_margin_svc_dual"),
    KindOfFile("hinge_power_svc", options=ZSCORE),
    KindOfFile("rsvm", options=ZSCORE),
    KindOfFile("conic_sdp", mode="penalised"),
    KindOfFile("zero_one_big_m", options=ZSCORE, mode="penalised"),
    KindOfFile("zero_one_big_m", "words", solving=(("solver", "scip"), ("prove", False))),
    KindOfFile("zero_one_relaxed"),
    KindOfFile("ramp_big_m"),
    KindOfFile("extended_nu_svc"),
    KindOfFile("multiclass_hinge", "classes", ZSCORE),
    KindOfFile("hard_margin_svc", "touching"),
    KindOfFile("zero_one_big_m", solving=(("method", "conflict-search"),)),
)


@dataclass(frozen=True)
class Honest:
    """A file as it was saved, and what is true of it."""

    kind: KindOfFile
    raw: Any
    prepared: Prepared
    parameters: dict[str, Any]
    truth: Truth
    document: Document


@functools.lru_cache(maxsize=len(KINDS))
def honest(place: int, draw: int) -> Honest:
    """Drawn until its witness knows the optimum; the same in whatever order it is asked for."""
    rng, kind = np.random.default_rng([place, draw]), KINDS[place]
    # ValueError: a point without a direction, a constant feature.
    return q.again(lambda: _drawn(rng, kind), ValueError)


def _drawn(rng: np.random.Generator, kind: KindOfFile) -> Honest:
    trial = TRIALS[kind.entry]
    n = int(rng.integers(5, max(6, min(trial.most, 9)) + 1))
    X, y = q.points(rng, n, min(trial.features, 2) if kind.points != "classes" else 2)
    if kind.points == "touching":
        X[0], y[0], y[-1] = X[-1], -y[-1], y[-1]
    repeats = rng.integers(1, 4, size=n) if kind.points == "weighted" else np.ones(n, dtype=int)
    seen, options = _by_hand(np.repeat(X, repeats, axis=0), dict(kind.options)), dict(kind.options)
    raw: Any
    if kind.points == "classes":
        labels = rng.permutation(np.arange(n) % 3)
        raw, own = tm.MulticlassData(X, labels), tm.MulticlassData(seen, labels)
    else:
        own = tm.TrainingData(seen, np.repeat(y, repeats))
        words = np.where(y > 0, "yes", "no") if kind.points == "words" else y
        weights = {"sample_weight": repeats} if kind.points == "weighted" else {}
        points = csr_array(X) if kind.points == "sparse" else X
        raw = tm.TrainingData(points, words, "points.csv", **weights)
    if kind.points == "touching":
        asked, truth = {}, Truth(Kind.INFEASIBLE)
    else:
        question = trial.draw(rng, own, kind.mode)
        value = question.value()
        asked, error = question.parameters, question.error * max(1.0, abs(float(value)))
        # Prepared twice, by hand and by the product, points differ in their last digits.
        error += 1e-9 * abs(float(value)) if options else 0.0
        known = Kind.POINT if question.upper else Kind.OPTIMUM
        truth = Truth(known, trial.sign * Fraction(value), error=error, size=own.n)
    prepared = prepare(raw, options)
    parameters = {"intercept": kind.mode, **asked}
    model = tm.build(kind.entry, prepared.data, **parameters)
    result = recorded(tm.solve(model, **dict(kind.solving)), prepared, None, None)
    truth = replace(truth, constant=constant_of(model), paper=trial.paper)
    return Honest(kind, raw, prepared, parameters, truth, result.to_json())


def _by_hand(X: np.ndarray, options: Document) -> np.ndarray:
    """Points as a textbook prepares them; with a kernel any points with its inner products."""
    if "kernel" in options:
        apart = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        values, vectors = np.linalg.eigh(np.exp(-options["width"] * apart))
        kept = values > 1e-12
        return vectors[:, kept] * np.sqrt(values[kept])
    how = options.get("normalise", "none")
    if how in ("zscore", "zscore_unit", "centred"):
        X = X - X.mean(axis=0)
    if how in ("zscore", "zscore_unit"):
        X = X / X.std(axis=0)
    if how in ("unit", "zscore_unit", "centred"):
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        X = X / np.where(lengths > 1e-12, lengths, np.nan)
    if not np.isfinite(X).all():
        raise ValueError("a constant feature, or a point without a direction")
    return X


def places(part: Any, at: Path_ = ()) -> Iterator[Path_]:
    """Every leaf, every list and every object of a document."""
    if at:
        yield at
    if isinstance(part, dict | list):
        parts = part.items() if isinstance(part, dict) else enumerate(part)
        for key, inner in parts:
            yield from places(inner, (*at, key))


def chosen(rng: np.random.Generator, document: Document, turn: int) -> Path_:
    """A place; those that differ in their list entries alone count once."""
    groups: dict[Path_, list[Path_]] = {}
    for place in places(document):
        kind = tuple("*" if isinstance(key, int) else key for key in place)
        groups.setdefault(kind, []).append(place)
    members = list(groups.values())[turn % len(groups)]
    return members[int(rng.integers(len(members)))]


WORDS = ("", "optimal", "feasible", "inaccurate", "interrupted", "infeasible", "unbounded",
         "CERTIFIED", "SOLVER_BOUND", "paper", "model", "zscore", "unit", "none", "rsvm", "c_svc",
         "free", "penalised", "LP", "QP", "x")  # fmt: skip


def other(rng: np.random.Generator, value: Any) -> Any:
    """Another value in the place of one."""
    if isinstance(value, dict):
        return [{}, value | {"forged": 1.0}, [], None, "x"][int(rng.integers(5))]
    if isinstance(value, list):
        changed = [list(reversed(value)), value[1:], [*value, *value[-1:]], [], None]
        return changed[int(rng.integers(5))]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        size = max(abs(value), 1e-3)
        moves = (value + 1e-3 * size, value - 1e-3 * size, value + 1e-5 * size, 2 * value + 1,
                 value / 2, -value - 1, 0.0, 1.0, 1e9, -1e9, 1e300, None, "1", True)  # fmt: skip
        return moves[int(rng.integers(len(moves)))]
    if value is None:
        return (0.0, 1.0, -1.0, "x", 7)[int(rng.integers(5))]
    return str(rng.choice([word for word in WORDS if word != value]))


def changed(document: Document, place: Path_, value: Any, *, gone: bool = False) -> Document:
    """A copy with another value in one place, or with nothing."""
    forged = copy.deepcopy(document)
    part = _value(forged, place[:-1])
    if gone:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return forged


def _stated(document: Document, objective: float, bound: float, **certificate: Any) -> Document:
    """The same file with other ends, and all that follows from them."""
    forged = copy.deepcopy(document)
    forged.update(status="optimal", objective=objective, bound=bound)
    size = max(abs(objective), abs(bound))
    gap = (objective - bound) / size if size else 0.0
    own = {"bound": bound, "upper": objective, "gap": gap, "verdict": "CERTIFIED", "reason": ""}
    forged["certificate"].update(own | certificate)
    forged["certificate"]["facts"]["unit"] = size
    return forged


def allowed(case: Honest, rng: np.random.Generator) -> Document:
    """The optimum of other hyperparameters as a worse point of these, within a huge allowance."""
    document = other_machine(case, rng)
    model = tm.build(case.kind.entry, case.prepared.data, **case.parameters)
    values = {name: np.asarray(array) for name, array in document["values"].items()}
    at = objective_at(model, values)
    value = case.document["objective"] if at is None else float(at[0])
    bound = case.document["bound"] or -1.0
    document["duals"] = case.document["duals"]
    document = _stated(document, (value or 0.0) if rng.random() < 0.7 else bound, bound)
    document["certificate"]["facts"]["absolute_gap"] = ALLOWANCE
    return document


def other_machine(case: Honest, _: np.random.Generator) -> Document:
    """The optimum for other hyperparameters, stated as that of the file's."""
    moves = {k: 1.25 if k == "exponent" else 0.75 for k in case.parameters}
    words = {k: v * moves[k] for k, v in case.parameters.items() if isinstance(v, float)}
    return _solved_for(case, case.prepared.data, case.parameters | words)


def other_points(case: Honest, rng: np.random.Generator) -> Document:
    """The optimum of the points in other units, with a record that says so."""
    record = copy.deepcopy(case.document["normalisation"])
    factor, data = float(rng.choice([1e-3, 7.0])), case.prepared.data
    if "components" in record:
        basis = np.asarray(record["components"]["basis"]) / factor
        record["components"]["basis"] = basis.tolist()
        data = replace(data, X=data.X / factor)
    elif "kind" in record:
        for name, move in (("scale", factor), ("shift", 1.25)):
            if record[name] is not None:
                record[name] = (np.asarray(record[name]) * move + (name == "shift")).tolist()
        data = replace(data, X=Normaliser.from_json(record).apply(case.raw.X))
    return _solved_for(case, data, case.parameters) | {"normalisation": record}


def _solved_for(case: Honest, data: Any, parameters: Document) -> Document:
    """The honest file with the point, multipliers and certificate of another model."""
    model = tm.build(case.kind.entry, data, **parameters)
    found = tm.solve(model, **dict(case.kind.solving)).to_json()
    parts = ("values", "duals", "ray", "status", "objective", "bound", "certificate")
    return copy.deepcopy(case.document) | {name: found[name] for name in parts}


def multiplied(case: Honest, rng: np.random.Generator) -> Document:
    """Every array of the point times a number, with the ends that the forger would like."""
    document, factor = copy.deepcopy(case.document), float(rng.choice([0.0, 0.5, 1.0, 3.0, 1e6]))
    for group in ("values", "duals"):
        arrays = {k: (np.asarray(v) * factor).tolist() for k, v in document[group].items()}
        document[group] = arrays if group == "values" or rng.random() < 0.5 else document[group]
    value = (document["objective"] or 1.0) * float(rng.choice([1.0, factor, 0.75, 1.25]))
    return _stated(document, value, value + float(rng.choice([0.0, 1.0])) * abs(value))


def grown(case: Honest, rng: np.random.Generator) -> Document:
    """Every number among the facts, or every multiplier with a bound that it would prove."""
    document = copy.deepcopy(case.document)
    if rng.random() < 0.5:
        document["certificate"]["facts"] = _times(document["certificate"]["facts"], 1e20)
        return document
    value = document["objective"] or 1.0
    return _stated(document | {"duals": _times(document["duals"], 3.0)}, value, value + abs(value))


def nothing(case: Honest, rng: np.random.Generator) -> Document:
    """w = 0 with every point given up, and a strengthening that nothing supports."""
    document = copy.deepcopy(case.document)
    document["values"] = _times(document["values"], 0.0)
    count = len(document["values"].get("z", ()))
    if count:
        document["values"]["z"] = [1.0] * count
    price = float(case.parameters.get("penalty") or 1.0) * count
    document = _stated(document, price, price)
    document["certificate"]["facts"]["relaxation_strengthening"] = [1e20] * count
    return document


def as_it_was(case: Honest, rng: np.random.Generator) -> Document:
    return copy.deepcopy(case.document)


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, dict):
        return {name: _times(part, factor) for name, part in value.items()}
    if isinstance(value, list):
        return [_times(part, factor) for part in value]
    return value * factor if isinstance(value, float) else value


Scheme = Callable[[Honest, np.random.Generator], Document]
SCHEMES: tuple[Scheme, ...] = (
    allowed, other_machine, other_points, multiplied, grown, nothing, multiplied, as_it_was,
)  # fmt: skip


def forged_case(rng: np.random.Generator, index: int) -> Case:
    """One change of one file; every third is a scheme of several."""
    place, turn = index % len(KINDS), index // len(KINDS)
    schemed = (turn + place) % 3 == 2
    scheme = SCHEMES[(turn + place) // 3 % len(SCHEMES)] if schemed else None
    kind = KINDS[place]
    label = f"forged {kind.entry} {kind.points} {' '.join(map(str, dict(kind.options).values()))}"

    def ask() -> list[Answer]:
        try:
            case = honest(place, turn // REUSED)
            # By sevens, so that a few cases are of many places.
            words, document, at = _forged(case, rng, 7 * turn + 5 * place, scheme)
        except REFUSALS as error:  # of the harness, and no refusal of the product
            raise RuntimeError(f"{label}: no file: {error}") from error
        answers = [_judged(f"{label}: {words}", case, document, at)]
        if scheme is allowed:
            answers.append(_judged(f"{label}: {words} by us", case, document, at, ALLOWANCE))
        return answers

    return Case(label, ask)


def _forged(
    case: Honest, rng: np.random.Generator, turn: int, scheme: Scheme | None
) -> tuple[str, Document, Path_]:
    """Words for a change, the changed file, and where it was changed if in one place."""
    at: Path_ = ()
    if scheme is not None:
        words, document = scheme.__name__, scheme(case, rng)
    else:
        at = chosen(rng, case.document, turn)
        gone = bool(rng.random() < 0.15)
        to = None if gone else other(rng, _value(case.document, at))
        document = changed(case.document, at, to, gone=gone)
        words = f"{'.'.join(map(str, at))} {'removed' if gone else json.dumps(to)[:60]}"
    # The forger makes what follows from other numbers follow, unless it is what he changes.
    if not at or at[0] not in DERIVED:
        document = {k: v for k, v in document.items() if k not in DERIVED}
    return words, document, at


def _judged(
    label: str, case: Honest, document: Document, at: Path_, allowance: float = 0.0
) -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "forged.json")
        file.write_text(json.dumps(document | {"sha256": checksum(document)}))
        result = tm.SolveResult.load(file)
        found = certify(result, case.raw, absolute_gap=allowance)
    if not found.confirmed:
        return Answer(label, Said(status=found.reason), case.truth)
    if found.absolute_gap:  # the two ends are true, and no optimum is said to be known
        objective, _, bound = (row.recomputed for row in found.numbers)
        assert objective is not None
        upper = objective + AGAIN * abs(objective)
        return Answer(label, Said(bound=bound, upper=upper), case.truth)
    model = tm.build(case.kind.entry, case.prepared.data, **case.parameters)
    said = said_by(result, model)
    numbers = {row.name: row.recomputed for row in found.numbers}
    # What is proven is the bound that was computed again; the saved one is as good up to AGAIN.
    said = replace(said, bound=numbers.get("bound"), numbers=numbers)
    if said.upper is not None:
        said = replace(said, upper=said.upper + AGAIN * abs(said.upper))
    extra = "" if not at else _unfounded(case, document, result, found, at)
    if at[:1] == ("parameters",) and not extra:
        return Answer(label, Said(status="another problem"), case.truth)
    return Answer(label, said, case.truth, extra)


def _unfounded(
    case: Honest, document: Document, result: Any, found: Verification, at: Path_
) -> str:
    """Why a changed word is confirmed without a reason; empty where there is one."""
    before, after = _value(case.document, at), _value(document, at)
    if at[0] == "parameters":
        return _another_problem(case, result)
    told = (*found.unchecked, *found.claims)
    named = before == after or any(_named(at) in words for words in told)
    weaker = at[-1] == "verdict" and list(Verdict).index(after) > list(Verdict).index(before)
    # Another point that is as good is for the judge, who evaluates it.
    if named or weaker or at[0] == "values" or (not after and after != 0):
        return ""
    if isinstance(before, dict) and isinstance(after, dict):
        more = [key for key in after if key not in before]
        return "" if any(key in words for key in more for words in told) else f"{more} is believed"
    numbers = [x for x in (before, after) if isinstance(x, int | float)]
    size = max(1e-12, *(abs(x) for x in numbers)) if len(numbers) == 2 else 0.0
    if at[-1] in ("objective", "bound", "upper"):
        size = max(size, result.unit or 0.0)
    if at[-1] in ("gap", "primal_residual"):
        size = max(1.0, size)
    if len(numbers) == 2 and abs(before - after) <= 1e-6 * size:
        return ""
    return f"{before!r:.40} became {after!r:.40} and is confirmed"


def _value(document: Any, at: Path_) -> Any:
    """What stands in a place; None where there is none."""
    for key in at:
        if isinstance(document, dict):
            document = document.get(key)
        elif isinstance(document, list) and isinstance(key, int) and key < len(document):
            document = document[key]
        else:
            return None
    return document


def _named(at: Path_) -> str:
    """The word under which a verification lists a place as unchecked."""
    first, *rest = (str(key).replace("_", " ") for key in at)
    if first == "solver":
        word = rest[0] if rest else "name"
        return {"name": "solver", "version": "its version", "options": "its options"}.get(
            word, word
        )
    if first == "certificate" and rest == ["solver bound"]:
        return "the word of"
    if first == "certificate" and rest:
        return rest[1] if rest[0] == "facts" and len(rest) > 1 else rest[0]
    if first == "duals" and rest:
        return f"multipliers of {at[1]}"
    return f"{rest[0]} of its data" if first == "data" and rest else first


def _another_problem(case: Honest, result: tm.SolveResult) -> str:
    """Whether the file is true of its changed hyperparameters, by a solve of their model."""
    origin = origin_of(result, case.prepared)
    again = tm.solve(tm.build(origin.entry, origin.data, **origin.parameters)).objective
    stated = result.objective
    same = again is stated or (
        None not in (again, stated) and math.isclose(again, stated, rel_tol=1e-5, abs_tol=1e-9)
    )
    return "" if same else f"{stated} of changed hyperparameters, whose optimum is {again}"
