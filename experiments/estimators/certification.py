"""What a fit does about a machine that our own code has not proven optimal."""

from __future__ import annotations

import warnings

from tightmargin.formulations.parameters import one_of
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.probability.binary import ClassProbabilities
from tightmargin.solvers.result import SolveResult

UNCERTIFIED = ("warn", "raise", "ignore")


class UncertifiedWarning(UserWarning):
    """A machine was fitted whose optimality our own code has not proven.

    Examples
    --------
    >>> import warnings
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> with warnings.catch_warnings(category=tm.UncertifiedWarning, action="error"):
    ...     fitted = tm.FormulationClassifier("c_svc", C=1.0).fit(data.X, data.y)
    """


class UncertifiedError(RuntimeError):
    """With uncertified="raise": our own code has not proven that the machine is optimal.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> machine = tm.FormulationClassifier("c_svc", C=1.0, uncertified="raise")
    >>> try:
    ...     fitted = machine.fit(data.X, data.y)
    ... except tm.UncertifiedError as error:
    ...     print("not proven:", error)
    """


def interrupted(result: SolveResult) -> bool:
    """Whether Ctrl-C ended the solve; what was found until then is kept."""
    return result.status is Status.INTERRUPTED or "interrupted" in result.message


def judge(result: SolveResult, uncertified: str) -> None:
    """Warn or raise where our own code has not proven the machine optimal.

    Where all that is missing is that its point misses rows by a tolerance, "raise" warns.

    Raises UncertifiedError: with "raise".
    """
    certificate, gap = result.certificate, result.relative_gap
    if certificate.verdict is Verdict.CERTIFIED:
        return
    why = certificate.reason or f"the bound is a claim of {result.solver}"
    left = "no bound" if result.bound is None else f"the bound {result.bound:.6g}"
    if result.objective is not None:
        left += f" for the objective {result.objective:.6g}"
    if gap is not None:
        left += f", a gap of {100 * gap:.3g} %"
    text = f"formulation={result.formulation}: {certificate.verdict}, {why}; proven is {left}"
    _say(text, _softened(certificate.verdict, uncertified))


def judge_grid(machines: ClassProbabilities, uncertified: str) -> None:
    """The same for the machines of a grid of pi; see `judge`."""
    bad = [row.pi for row in machines.rows if row.verdict is not Verdict.CERTIFIED]
    if bad:
        largest = machines.gaps.max()
        _say(
            f"probability_grid: {len(bad)} of {len(machines.rows)} machines are not CERTIFIED, "
            f"that of pi = {bad[0]:g} first; the largest gap is {largest:.3g}",
            _softened(machines.verdict, uncertified),
        )


def _softened(verdict: Verdict, uncertified: str) -> str:
    """What to do about a verdict that is not CERTIFIED."""
    near = verdict is Verdict.WITHIN_TOLERANCE
    return "warn" if near and uncertified == "raise" else uncertified


def _say(text: str, uncertified: str) -> None:
    if uncertified == "raise":
        raise UncertifiedError(text)
    if uncertified == "warn":
        warnings.warn(text, UncertifiedWarning, stacklevel=4)


def checked_uncertified(word: str) -> str:
    """Return what to do about a machine that is not certified, or raise ValueError."""
    return one_of("uncertified", word, UNCERTIFIED)
