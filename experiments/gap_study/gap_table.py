"""A gap table: lower bounds from relaxations beside the best point of the exact problem."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightmargin.number_words import bound_text, number_text
from tightmargin.printing import Drawn, Page, Printed, value_text
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.multiclass.dca import TruncatedDca
from tightmargin.solvers.result import TINY, SolveResult, scale_of, size_of
from tightmargin.solvers.tables import Framed, latex_of

ORDER_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Bound(Printed):
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
    claim : float or None
        Lower bound on the exact problem by the solver's word, or by a dual's value.
    is_empty : bool
        Whether it is proven that the exact problem has no point if the row bounds it: a model
        without a point, or a dual without a greatest value.
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
    claim: float | None = None
    is_empty: bool = False

    def _page(self) -> Page:
        return Page(f"Bound: {self.label}", bound_facts(self))

    @property
    def certified(self) -> bool:
        """Whether the row may enter a gap."""
        return self.bound is not None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Framed, Drawn):
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
    exact_seconds : float or None
        For the exact problem, building its model included.
    """

    exact: SolveResult | None
    exact_label: str
    upper: float | None
    rows: tuple[Bound, ...]
    data: Mapping[str, Any]
    include_uncertified: bool = False
    exact_seconds: float | None = None

    def _page(self) -> Page:
        return comparison_page(self)

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
        """Absolute gap over |upper|, or over the exact result's unit where that is smaller.

        None when |upper| is 0 up to rounding.
        """
        gap = self.absolute_gap(row)
        if gap is None or self.upper is None or self._is_tiny:
            return None
        return gap / self._size

    def claimed_gap(self, row: Bound) -> float | None:
        """Relative gap by what is claimed, or proven where that is better; None without a claim."""
        if self.upper is None or row.claim is None or self._is_tiny:
            return None
        bound = row.claim if row.bound is None else max(row.bound, row.claim)
        return max(self.upper - bound, 0.0) / self._size

    @property
    def _size(self) -> float:
        """What a gap is relative to."""
        assert self.upper is not None
        if self.exact is None:
            return abs(self.upper)
        return size_of(self.upper, self.exact.certificate)

    @property
    def _is_tiny(self) -> bool:
        assert self.upper is not None
        unit = 1.0 if self.exact is None else scale_of(self.exact.certificate)
        return self.upper == 0 or abs(self.upper) <= TINY * unit

    @property
    def _tolerance(self) -> float:
        return order_tolerance(self.upper or 0.0, self.exact)

    def violations(self) -> list[str]:
        """Rows that contradict the best known point: one of the two is wrong."""
        found = [(row, self._contradiction(row)) for row in self.rows]
        return [f"{row.label}: {words}" for row, words in found if words]

    def why_no_relaxation(self, row: Bound) -> str:
        """Why a row relaxes something else than the exact problem; empty where nothing says so.

        A relaxation has every point of the exact problem, at no higher price. One that is proven to
        have none, or whose bound exceeds the best point, is no relaxation, if that point is one.
        """
        words = self._contradiction(row)
        sure = self.exact is not None and self.exact.certificate.verdict is Verdict.CERTIFIED
        doubt = "" if sure or not words else ", if that is one"
        return f"no relaxation ({words}{doubt})" if words else ""

    def _contradiction(self, row: Bound) -> str:
        """What of a row the best point refutes."""
        if self.upper is None:
            return ""
        best, bound = f"the best point {self.upper:.9g}", self.bound_of(row)
        if bound is not None and bound > self.upper + self._tolerance:
            return f"bound {bound:.9g} exceeds {best}"
        return f"it is proven to have no point, not even {best}" if row.is_empty else ""

    def _records(self) -> list[dict[str, Any]]:
        """One row a formulation, the exact one last; claims are the solver's word."""
        records = [
            {
                "formulation": row.label,
                "value": row.value,
                "certified bound": row.bound,
                "claimed bound": row.claim,
                "absolute gap": self.absolute_gap(row),
                "relative gap": self.relative_gap(row),
                "claimed gap": self.claimed_gap(row),
                "solver": row.solver,
                "status": str(row.status),
                "seconds": row.seconds,
                "certificate": self.why_no_relaxation(row) or mark(row),
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
                    "claimed bound": exact.certificate.solver_bound,
                    "absolute gap": None if self.upper is None else exact.absolute_gap,
                    "relative gap": None if self.upper is None else exact.relative_gap,
                    "claimed gap": self._claimed_gap_of_exact(),
                    "solver": exact.solver,
                    "status": str(exact.status),
                    "seconds": (
                        exact.seconds if self.exact_seconds is None else self.exact_seconds
                    ),
                    "certificate": exact_remark(exact),
                }
            )
        return records

    def _claimed_gap_of_exact(self) -> float | None:
        claim = None if self.exact is None else self.exact.certificate.solver_bound
        if claim is None or self.upper is None or self._is_tiny:
            return None
        return abs(self.upper - claim) / self._size

    def to_latex(self, columns: Sequence[str] | None = None) -> str:
        """LaTeX table (booktabs), percentages for relative gaps.

        Parameters
        ----------
        columns : sequence of str, optional
            Of `to_frame`, in the order wanted; all of them otherwise.

        Raises
        ------
        ValueError
            A column that is none.
        """
        frame = self.to_frame()
        shares = ("relative gap", "claimed gap")
        for word in shares:
            frame[word] = [
                "" if gap != gap or gap is None else f"{100 * gap:.1f}" for gap in frame[word]
            ]
        percent = {word: f"{word} (%)" for word in shares}
        return latex_of(frame, columns, "%.4g", percent)


def order_tolerance(value: float, result: SolveResult | None) -> float:
    """How far a bound may exceed a value before one of the two is called wrong."""
    if abs(value) >= 1 or result is None:
        return ORDER_TOLERANCE * max(1.0, abs(value))
    return ORDER_TOLERANCE * scale_of(result.certificate)


def comparison_page(table: Comparison) -> Page:
    """The gap table: the bounds of the relaxations, the exact row last."""
    title = "Gap table: no best point"
    if table.upper is not None:
        whose = f" of {table.exact_label}" if table.exact is not None else ", given"
        title = f"Gap table, best point {number_text(table.upper)}{whose}"
    records = table._records()
    told = any(r["claimed gap"] is not None and r["relative gap"] is None for r in records)
    columns = [
        "formulation",
        "bound",
        "gap %",
        *(["claimed %"] if told else []),
        "s",
        "certificate",
    ]
    wrong = table.violations()
    return Page(
        f"{title}; WRONG: {wrong[0]}" if wrong else title,
        columns=columns,
        rows=[tuple(_cells(record)[word] for word in columns) for record in records],
        more=".rows, .exact, .to_frame(), .to_latex(), .plot()",
    )


def _cells(record: Mapping[str, Any]) -> dict[str, str]:
    """Text by column."""
    bound = record["certified bound"]
    return {
        "formulation": record["formulation"],
        "bound": "-" if bound is None else bound_text(bound, math.inf),
        "gap %": _percent(record["relative gap"]),
        "claimed %": _percent(record["claimed gap"]),
        "s": f"{record['seconds']:.2g}",
        "certificate": str(record["certificate"]).partition(" (")[0],
    }


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2g}"


def bound_facts(row: Bound) -> list[tuple[str, str]]:
    """What one row says."""
    bound = "none" if row.bound is None else bound_text(row.bound, math.inf)
    facts = [
        ("value", value_text(row.value)),
        ("bound", f"{bound} (proven)" if row.certified else bound),
        ("verdict", mark(row) or str(row.verdict)),
        ("solver", f"{row.solver}, {row.seconds:.2g} s"),
        ("next", ".result, .parameters"),
    ]
    return [(word, text) for word, text in facts if text]


def mark(row: Bound) -> str:
    """Verdict of a row with a remark on it, or why it is none; only the first begins with it."""
    if not row.certified:
        return row.remark
    return f"{row.verdict} ({row.remark})" if row.remark else str(row.verdict)


def exact_remark(result: SolveResult) -> str:
    """Verdict of an exact solve with how its bound is proven, or whose word it is."""
    certificate = result.certificate
    why = certificate.reason
    if certificate.verdict is Verdict.CERTIFIED:
        why = certificate.bound_method
    if certificate.verdict is Verdict.SOLVER_BOUND:
        why = f"{result.solver} claims {certificate.solver_bound:.6g}"
    return f"{certificate.verdict} ({why})"


# --- How far the d.c. algorithm may be from the optimum, by what is proven of the exact model ----


EXACT = "multiclass_truncated"


@dataclass(frozen=True, repr=False)
class CertifiedGap(Printed):
    """Upper bounds and lower bounds of one truncated machine.

    Attributes
    ----------
    upper : float
        Value of the d.c. algorithm, from the data.
    hinge_start : float
        Value of its run from the hinge machine alone.
    exact : float or None
        Value of the exact model's point.
    bound, bound_method : float or None, str
        Lower bound proven by our own computation, and how.
    claimed : float or None
        The solver's own bound.
    """

    upper: float
    hinge_start: float
    exact: float | None
    bound: float | None
    bound_method: str
    claimed: float | None
    _shown = ("upper", "bound", "gap", "bound_method", "exact", "hinge_start", "claimed")

    @property
    def gap(self) -> float | None:
        """(upper - bound) / upper, with the proven bound alone."""
        return None if self.bound is None or self.upper == 0 else 1 - self.bound / self.upper

    @property
    def excess(self) -> float | None:
        """(upper - exact) / exact: negative where the search found the better point."""
        return _relative(self.upper, self.exact)

    @property
    def hinge_excess(self) -> float | None:
        """(hinge_start - exact) / exact."""
        return _relative(self.hinge_start, self.exact)


def _relative(value: float, exact: float | None) -> float | None:
    return None if not exact else value / exact - 1


def certified_gap(found: TruncatedDca, exact: SolveResult) -> CertifiedGap:
    """Put a d.c. search beside the solved multiclass_truncated of the same machine.

    Parameters
    ----------
    found : TruncatedDca
        What the search found.
    exact : SolveResult
        Of multiclass_truncated, with a proven bound.

    Raises
    ------
    ValueError
        A result of another formulation, other data or other hyperparameters; a proven bound above
        the value of the search, which cannot be.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.gaussian_class_data(n=12, d=2, classes=3, sigma=0.5, seed=0)
    >>> found = tm.search.truncated_dca(data, ridge=0.1, truncation=0.0)
    >>> model = tm.multiclass_truncated(data, ridge=0.1, truncation=0.0, big_m="derived")
    >>> 0 <= tm.search.certified_gap(found, tm.solve(model)).gap < 1
    True
    """
    if exact.formulation != EXACT:
        raise ValueError(f"exact must be a result of {EXACT}, got {exact.formulation!r}")
    if exact.data.get("sha256") != found.data.sha256:
        raise ValueError("exact is a result on other data than the search")
    _refuse_other_words(found, exact.parameters)
    bound = exact.bound
    if bound is not None and bound > found.objective + order_tolerance(found.objective, exact):
        raise ValueError(f"bound {bound:.9g} exceeds the value {found.objective:.9g} of a point")
    certificate = exact.certificate
    return CertifiedGap(
        found.objective, found.runs[0].objective, exact.objective, bound, certificate.bound_method,
        certificate.solver_bound,
    )  # fmt: skip


def _refuse_other_words(found: TruncatedDca, words: Mapping[str, Any]) -> None:
    for name in ("ridge", "truncation"):
        if not math.isclose(getattr(found, name), float(words[name]), rel_tol=1e-12):
            raise ValueError(f"exact has {name} {words[name]}, the search {getattr(found, name)}")
    if found.intercept != words["intercept"]:
        raise ValueError(
            f"exact has intercept {words['intercept']!r}, the search {found.intercept!r}"
        )
    theirs, ours = (
        np.ones(found.data.n_classes) if given is None else np.asarray(given, dtype=float)
        for given in (words["class_weight"], found.class_weight)
    )
    if not np.allclose(theirs, ours, rtol=1e-12, atol=0):
        raise ValueError(f"exact has class_weight {theirs}, the search {ours}")
