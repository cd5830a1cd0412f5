"""Gap tables: one exact problem, its relaxations, every number with its certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyomo.environ as pyo

from formulations.catalogue import CATALOGUE, Entry, Origin
from formulations.data import GramData, TrainingData
from formulations.parameters import did_you_mean
from solvers.agreement import Agreement
from solvers.algorithms.prepare import build, entry_named
from solvers.answers import ALL, answers
from solvers.result import Certificate, SolveResult, Status, Verdict, is_tiny, scale_of
from solvers.solve import solve

if TYPE_CHECKING:
    import pandas as pd

ORDER_TOLERANCE = 1e-6

Spec = Any  # a name, a (name, parameters) pair, or a Pyomo model


@dataclass(frozen=True, eq=False)
class Bound:
    """One row of a gap table.

    Attributes
    ----------
    label : str
        What the reader sees; the entry's name with its own parameters by default.
    value : float or None
        Objective of the relaxation (minus the objective for a dual).
    bound : float or None
        What of it is a proven lower bound on the exact problem; None when nothing is.
    remark : str
        Why the row is no bound, or what is odd about it.
    claimed : float or None
        What stands in the place of `bound` when uncertified rows are asked for: of a NOT_CERTIFIED
        row the bound that was proven all the same, or else its value.
    """

    label: str
    entry: str
    parameters: Mapping[str, Any]
    value: float | None
    bound: float | None
    status: Status
    solver: str
    seconds: float
    verdict: Verdict
    remark: str
    result: SolveResult
    claimed: float | None = None

    @property
    def certified(self) -> bool:
        """Whether the row may enter a gap."""
        return self.bound is not None


@dataclass(frozen=True, eq=False)
class Comparison:
    """An upper bound (the best point known) and lower bounds from relaxations.

    Attributes
    ----------
    exact : SolveResult or None
        Result of the exact formulation; None when only a known upper bound was given.
    upper : float or None
        Objective of the best feasible point, re-proven.
    rows : tuple of Bound
    include_uncertified : bool
        Whether rows that are NOT_CERTIFIED get a gap; they stay marked. An unproven big-M is no
        bound either way.
    """

    exact: SolveResult | None
    exact_label: str
    upper: float | None
    rows: tuple[Bound, ...]
    data: Mapping[str, Any]
    include_uncertified: bool = False

    def bound_of(self, row: Bound) -> float | None:
        """What of a row enters a gap; None when nothing does."""
        return row.claimed if row.bound is None and self.include_uncertified else row.bound

    def absolute_gap(self, row: Bound) -> float | None:
        """Upper minus bound; None when either is missing or the gap is negative: see violations."""
        bound = self.bound_of(row)
        if self.upper is None or bound is None:
            return None
        gap = self.upper - bound
        return None if gap < -self._tolerance else max(gap, 0.0)

    def relative_gap(self, row: Bound) -> float | None:
        """Absolute gap over |upper|; None when |upper| is 0 up to rounding."""
        gap = self.absolute_gap(row)
        if gap is None or self.upper is None or self._is_tiny:
            return None
        return gap / abs(self.upper)

    @property
    def _is_tiny(self) -> bool:
        assert self.upper is not None
        known = Certificate(Verdict.CERTIFIED) if self.exact is None else self.exact.certificate
        return is_tiny(self.upper, known)

    @property
    def _tolerance(self) -> float:
        return order_tolerance(self.upper or 0.0, self.exact)

    def violations(self) -> list[str]:
        """Rows whose bound exceeds the best known point: one of the two is wrong."""
        if self.upper is None:
            return []
        found = [(row, self.bound_of(row)) for row in self.rows]
        return [
            f"{row.label}: bound {bound:.9g} exceeds the best point {self.upper:.9g}"
            for row, bound in found
            if bound is not None and bound > self.upper + self._tolerance
        ]

    def to_frame(self) -> pd.DataFrame:
        """Table with one row a formulation, the exact one last."""
        import pandas as pd

        records = [
            {
                "formulation": row.label,
                "value": row.value,
                "certified bound": row.bound,
                "absolute gap": self.absolute_gap(row),
                "relative gap": self.relative_gap(row),
                "solver": row.solver,
                "status": str(row.status),
                "seconds": row.seconds,
                "certificate": mark(row),
            }
            for row in self.rows
        ]
        if self.exact is not None:
            exact = self.exact
            records.append(
                {
                    "formulation": f"{self.exact_label} (exact)",
                    "value": self.upper,
                    "certified bound": exact.bound,
                    "absolute gap": None if self.upper is None else exact.absolute_gap,
                    "relative gap": None if self.upper is None else exact.relative_gap,
                    "solver": exact.solver,
                    "status": str(exact.status),
                    "seconds": exact.seconds,
                    "certificate": exact_remark(exact),
                }
            )
        return pd.DataFrame.from_records(records)

    def to_latex(self) -> str:
        """LaTeX table (booktabs), percentages for relative gaps."""
        frame = self.to_frame()
        frame["relative gap"] = [
            "" if gap != gap or gap is None else f"{100 * gap:.1f}" for gap in frame["relative gap"]
        ]
        frame = frame.rename(columns={"relative gap": "relative gap (%)"})
        return frame.to_latex(index=False, escape=True, float_format="%.4g", na_rep="")


def order_tolerance(value: float, result: SolveResult | None) -> float:
    """How far a bound may exceed a value before one of the two is called wrong."""
    if abs(value) >= 1 or result is None:
        return ORDER_TOLERANCE * max(1.0, abs(value))
    return ORDER_TOLERANCE * scale_of(result.certificate)


def mark(row: Bound) -> str:
    """Verdict of a row, or why it is none; what is not certified begins with that word."""
    return str(row.verdict) if row.certified else row.remark


def exact_remark(result: SolveResult) -> str:
    """Verdict of an exact solve with how its bound is proven, or whose word it is."""
    certificate = result.certificate
    if certificate.verdict is Verdict.CERTIFIED:
        return f"CERTIFIED ({certificate.bound_method})"
    if certificate.verdict is Verdict.SOLVER_BOUND:
        claim = certificate.solver_bound
        return f"SOLVER_BOUND ({result.solver} claims {claim:.6g})"
    return f"NOT_CERTIFIED ({certificate.reason})"


@overload
def compare(
    data: TrainingData | GramData | None,
    relaxations: Sequence[Spec],
    *,
    exact: Spec | SolveResult | None = None,
    parameters: Mapping[str, Any] | None = None,
    solver: str = "auto",
    solvers: None = None,
    labels: Mapping[int, str] | None = None,
    progress: Any = None,
    include_uncertified: bool = False,
    **limits: Any,
) -> Comparison: ...
@overload
def compare(
    data: TrainingData | GramData | None,
    relaxations: Sequence[Spec],
    *,
    exact: Spec | None = None,
    parameters: Mapping[str, Any] | None = None,
    solvers: str | Sequence[str],
    labels: Mapping[int, str] | None = None,
    progress: Any = None,
    **limits: Any,
) -> Agreement: ...
def compare(
    data: TrainingData | GramData | None,
    relaxations: Sequence[Spec],
    *,
    exact: Spec | SolveResult | None = None,
    parameters: Mapping[str, Any] | None = None,
    solver: str = "auto",
    solvers: str | Sequence[str] | None = None,
    labels: Mapping[int, str] | None = None,
    progress: Any = None,
    include_uncertified: bool = False,
    **limits: Any,
) -> Comparison | Agreement:
    """Table the gaps of relaxations of an exact problem, or the answers of several solvers.

    Parameters
    ----------
    data : TrainingData or GramData
        For rows given by name; may be None when every row is a model.
    relaxations : sequence
        Names, (name, parameters) pairs, or models, edited ones included.
    exact : name, pair, model, or a result already at hand
        What they relax, by default zero_one_big_m.
    parameters : mapping
        Hyperparameters common to all; a row takes those it knows, its own come first.
    solvers : sequence of names, or "all", optional
        Solve every row, which then need not relax anything, with each of these and tell whether
        they agree. "all" are the installed ones that take the class of a row.
    labels : mapping, optional
        Row number to label.
    progress : callable(str), optional
        Told what is being solved.
    include_uncertified : bool
        Give gaps to rows that are NOT_CERTIFIED too, and to an exact value that is inaccurate.
    limits
        time_limit, threads, seed, log as in solve().

    Returns
    -------
    Comparison, or Agreement when several solvers are asked

    Raises
    ------
    ValueError
        A relaxation that relaxes something else, or in another normalisation.
    """
    if solvers is not None:
        if include_uncertified:
            raise ValueError("include_uncertified is about gaps: leave it out, or name one solver")
        specs = [*relaxations, *([] if exact is None else [exact])]
        models = labelled_models(data, _to_solve(specs, solver), parameters, labels)
        return Agreement(tuple(answers(models, solvers, progress=progress, **limits)))
    if not isinstance(solver, str) or solver == ALL or "," in solver:
        raise ValueError(f"several solvers are asked with solvers={solver!r}, not solver=")
    exact = "zero_one_big_m" if exact is None else exact
    common = dict(parameters or {})
    if not isinstance(exact, SolveResult):  # one row after another: a word may belong to the next
        _refuse_unknown(common)
    say = progress or (lambda text: None)

    def run(spec: Spec) -> tuple[pyo.ConcreteModel, SolveResult]:
        model = spec if isinstance(spec, pyo.ConcreteModel) else _built(spec, data, common)
        say(f"solving {label_of(spec)}")
        return model, solve(model, solver, **limits)

    if isinstance(exact, SolveResult):
        exact_result, exact_name = exact, exact.formulation
    else:
        model, exact_result = run(exact)
        exact_name = exact_result.formulation or model.name
    rows = []
    for k, spec in enumerate(relaxations):
        if not isinstance(spec, pyo.ConcreteModel):
            refuse_unrelated(entry_named(_split(spec)[0]), exact_name)
        _, result = run(spec)
        _refuse_other_price(exact_result, result)
        rows.append(_row((labels or {}).get(k, label_of(spec)), spec, result))
    trusted = exact_result.status is not Status.INACCURATE or include_uncertified
    return Comparison(
        exact_result,
        label_of(exact) if not isinstance(exact, SolveResult) else exact_name,
        exact_result.objective if trusted else None,
        tuple(rows),
        exact_result.data,
        include_uncertified,
    )


def _to_solve(specs: Sequence[Spec], solver: str) -> Sequence[Spec]:
    """What several solvers get; raises for a result at hand, and for one solver beside several."""
    if any(isinstance(spec, SolveResult) for spec in specs):
        raise ValueError("solvers: a result cannot be solved again; give its name or model")
    if solver != "auto":
        raise ValueError("give either solver, for a gap table, or solvers, to compare them")
    return specs


def labelled_models(
    data: TrainingData | GramData | None,
    specs: Sequence[Spec],
    parameters: Mapping[str, Any] | None = None,
    labels: Mapping[int, str] | None = None,
) -> list[tuple[str, pyo.ConcreteModel]]:
    """Label and model of every row; what cannot be built is refused before anything is solved."""
    common, names = dict(parameters or {}), labels or {}
    _refuse_unknown(common)
    return [
        (
            names.get(k, label_of(spec)),
            spec if isinstance(spec, pyo.ConcreteModel) else _built(spec, data, common),
        )
        for k, spec in enumerate(specs)
    ]


def _refuse_unknown(common: Mapping[str, Any]) -> None:
    """Raise ValueError for a common hyperparameter that no entry has: nobody would miss it."""
    known = {word: None for entry in CATALOGUE.values() for word in entry.parameters}
    for word in common:
        if word not in known:
            raise ValueError(
                f"parameters: no formulation has a hyperparameter {word!r}"
                f"{did_you_mean(word, known)}"
            )


def _split(spec: Spec) -> tuple[str, Mapping[str, Any]]:
    assert not isinstance(spec, pyo.ConcreteModel)
    return (spec, {}) if isinstance(spec, str) else spec


def _built(
    spec: Spec, data: TrainingData | GramData | None, common: Mapping[str, Any]
) -> pyo.ConcreteModel:
    if data is None:
        raise ValueError("compare needs data for rows given by name")
    name, own = _split(spec)
    entry = entry_named(name)
    if not isinstance(data, entry.takes):
        able = [e.name for e in CATALOGUE.values() if isinstance(data, e.takes)]
        raise ValueError(
            f"{name} reads {' or '.join(kind.__name__ for kind in entry.takes)}, not "
            f"{type(data).__name__}: take one of {', '.join(able)}"
        )
    known = entry.parameters
    shared = {word: value for word, value in common.items() if word in known}
    return build(name, data, **(shared | dict(own)))


def label_of(spec: Spec) -> str:
    """Name of a row: the entry with its own parameters, or the model's name."""
    if isinstance(spec, pyo.ConcreteModel):
        return f"{spec.name} (model)"
    name, own = _split(spec)
    words = ", ".join(f"{word}={value}" for word, value in own.items())
    return f"{name}:{words}" if words else name


def refuse_unrelated(entry: Entry, exact_name: str) -> None:
    """Raise ValueError unless a row bounds the exact problem in the same normalisation."""
    if exact_name not in CATALOGUE:
        return
    exact_names = _same_problem(exact_name)
    if not _bounded_by(entry) & exact_names:
        allowed = [e.name for e in CATALOGUE.values() if _bounded_by(e) & exact_names]
        raise ValueError(
            f"{entry.name} is not known to bound {exact_name} from below in the same objective; "
            f"these do: {', '.join(allowed)}"
        )


_LOOSER_FIRST = ("free", "penalised", "none")


def _refuse_other_price(exact: SolveResult, row: SolveResult) -> None:
    """A row with another penalty, or a tighter treatment of b, bounds another problem."""
    if not (exact.formulation and row.formulation):
        return
    for word in ("penalty", "C", "ridge", "nu", "beta", "class_balance", "class_weight", "scale"):
        if word not in row.parameters or word not in exact.parameters:
            continue
        own, wanted = row.parameters[word], exact.parameters[word]
        if not np.array_equal(own, wanted):
            raise ValueError(
                f"{row.formulation} has {word}={own} and {exact.formulation} {word}={wanted}: "
                "it would bound another problem"
            )
    own, wanted = row.parameters.get("intercept"), exact.parameters.get("intercept")
    if own and wanted and _LOOSER_FIRST.index(own) > _LOOSER_FIRST.index(wanted):
        raise ValueError(
            f"{row.formulation} has intercept={own} and {exact.formulation} intercept={wanted}: "
            f"only a looser one ({' before '.join(_LOOSER_FIRST)}) gives a bound"
        )


def _bounded_by(entry: Entry) -> set[str]:
    """Names an entry bounds from below: itself, what it relaxes, and through its primal."""
    found = _same_problem(entry.name)
    for name in (entry.relaxes, entry.dual_of):
        if name is not None:
            found |= _bounded_by(CATALOGUE[name])
    return found


def _same_problem(name: str) -> set[str]:
    """Entries that state the same problem in the same objective."""
    root = CATALOGUE[name].restates or name
    return {root, *(e.name for e in CATALOGUE.values() if e.restates == root)}


def _row(label: str, spec: Spec, result: SolveResult) -> Bound:
    certificate = result.certificate
    name = result.formulation
    dual = name in CATALOGUE and CATALOGUE[name].dual_of is not None
    value = result.objective
    if dual:
        # A feasible point of the dual is a proof by itself; its own lower bound is not needed.
        value = None if result.objective is None else -result.objective
        proven = value if certificate.verdict is Verdict.CERTIFIED else None
    else:
        proven = result.bound
    remark, claimed = certificate.reason, None
    if certificate.unproven:
        proven, remark = None, f"no bound: {certificate.unproven}"
    elif certificate.verdict is Verdict.NOT_CERTIFIED:
        claimed = value if dual or result.bound is None else result.bound
        proven = None
        remark = f"NOT_CERTIFIED: {certificate.reason}"
    elif isinstance(spec, pyo.ConcreteModel) and not isinstance(
        getattr(spec, "origin", None), Origin
    ):
        remark = "a foreign model: that it relaxes the exact one is the user's word"
    return Bound(
        label=label,
        entry=name,
        parameters=result.parameters,
        value=value,
        bound=proven,
        status=result.status,
        solver=result.solver,
        seconds=result.seconds,
        verdict=certificate.verdict,
        remark=remark,
        result=result,
        claimed=claimed,
    )
