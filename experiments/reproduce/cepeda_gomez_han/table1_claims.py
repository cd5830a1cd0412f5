"""What section 5.1.3 says of Table 1 and Figure 2, and why the hinge breaks down."""

from __future__ import annotations

from collections.abc import Sequence

from tightmargin.experiments.reproduce.cepeda_gomez_han.published import METHODS, SIGMAS
from tightmargin.experiments.reproduce.cepeda_gomez_han.replications import (
    Found,
    Spread,
    rates,
    spread,
    tie_note,
    where,
)
from tightmargin.experiments.reproduce.cepeda_gomez_han.samples import PRINTED
from tightmargin.experiments.reproduce.framework.report import PaperClaim
from tightmargin.experiments.validation.result import TIES

BROKEN = 25.0  # percent of errors; the ideal is 0.6 where it is asked
HALF = 50.0
POINTS = 1.0  # what "almost identical" is read as, in points of the mean


def claims(runs: Sequence[Found]) -> list[PaperClaim]:
    """The sentences that our runs can bear out; those about parts that were not run are left out.

    runs: of `replications.outlier_run`.
    """
    found = []
    for percent in sorted({run["percent"] for run in runs}, reverse=True):
        bold = where(runs, kind="clustered", sigma=0.2, percent=percent)
        found += [_half(bold, percent)] if bold else []
    for sigma in SIGMAS:
        part = where(runs, sigma=float(sigma), percent=PRINTED)
        clustered = where(part, kind="clustered")
        found += [_better(clustered, "clustered", sigma)] if clustered else []
        spread_out = where(part, kind="spread")
        found += [_steadier(spread_out, sigma)] if spread_out else []
        clean = where(part, kind="none")
        found += [_same(clean, sigma)] if clean else []
    return found


def _both(runs: Sequence[Found]) -> tuple[Spread, Spread]:
    hinge, conic = (spread(rates(runs, method)) for method in METHODS)
    return hinge, conic


def _text(one: Spread) -> str:
    return f"{one.mean:.2f} +- {one.deviation:.2f}"


def _half(runs: Sequence[Found], percent: int) -> PaperClaim:
    hinge, conic = _both(runs)
    return PaperClaim(
        f"clustered outliers ({percent} %), sigma 0.2, {hinge.count} runs: the conic mean "
        f"{_text(conic)} is below half the hinge mean {_text(hinge)}",
        conic.mean < hinge.mean / 2,
    )


def _better(runs: Sequence[Found], kind: str, sigma: str) -> PaperClaim:
    hinge, conic = _both(runs)
    return PaperClaim(
        f"{kind} outliers, sigma {sigma}: the conic machine has the smaller mean, "
        f"{_text(conic)} against {_text(hinge)}",
        conic.mean < hinge.mean,
    )


def _steadier(runs: Sequence[Found], sigma: str) -> PaperClaim:
    hinge, conic = _both(runs)
    return PaperClaim(
        f"spread outliers, sigma {sigma}: the conic machine is no worse by more than {POINTS:g} "
        f"point, {_text(conic)} against {_text(hinge)}",
        conic.mean <= hinge.mean + POINTS,
    )


def _same(runs: Sequence[Found], sigma: str) -> PaperClaim:
    hinge, conic = _both(runs)
    return PaperClaim(
        f"no outliers, sigma {sigma}: the means are within {POINTS:g} point of each other, "
        f"{_text(conic)} conic and {_text(hinge)} hinge",
        abs(conic.mean - hinge.mean) <= POINTS,
    )


def notes(runs: Sequence[Found]) -> list[str]:
    """Definitions, and why the numbers differ from the print."""
    found = [
        "rates on 100000 test points without outliers, as printed; the csv of all runs has the "
        "exact rate, by the normal distribution, and the other tie rules as well",
        tie_note(runs, METHODS, TIES),
        _judged(runs),
        "bayes is Phi(-1 / (2 sigma)), and its deviation that of counting on 100000 points",
    ]
    for percent in sorted({run["percent"] for run in runs}, reverse=True):
        bold = where(runs, kind="clustered", sigma=0.2, percent=percent)
        if bold:
            found.append(_breakdown(bold, percent))
    return [*found, _reason(), *_deviations(runs)]


def _judged(runs: Sequence[Found]) -> str:
    if all(run["kind"] == "clustered" for run in runs):
        return "with clustered outliers nothing is judged but the orderings"
    return (
        "means without outliers and with spread ones are judged, each within the printed standard "
        "deviation; with clustered ones nothing is judged but the orderings, as said below"
    )


def _breakdown(runs: Sequence[Found], percent: int) -> str:
    """How often each machine breaks down, and whether the sum of y x tells."""
    texts = []
    for method in METHODS:
        broken = [rate > BROKEN for rate in rates(runs, method)]
        above = sum(rate > HALF for rate in rates(runs, method))
        texts.append(f"{method} {sum(broken)} ({above} of them above {HALF:g} %)")
    away = where(runs, away=True)
    kept = where(runs, away=False)
    told = ", ".join(
        f"{sum(rate > BROKEN for rate in rates(part, 'hinge'))} of {len(part)} {word}"
        for part, word in ((away, "where sum y_i x_i points away"), (kept, "elsewhere"))
        if part
    )
    return (
        f"{percent} % clustered outliers, sigma 0.2: of {len(runs)} runs there are more than "
        f"{BROKEN:g} % errors in: {', '.join(texts)}. The hinge breaks in {told}"
    )


def _deviations(runs: Sequence[Found]) -> list[str]:
    """Where the conic machine has not the smaller deviation that the paper speaks of."""
    wider = []
    for sigma in SIGMAS:
        part = where(runs, kind="clustered", sigma=float(sigma), percent=PRINTED)
        if part:
            hinge, conic = _both(part)
            if conic.deviation >= hinge.deviation:
                wider.append(f"sigma {sigma} ({conic.deviation:.1f} against {hinge.deviation:.1f})")
    if not wider:
        return []
    return [
        "the paper finds smaller deviations with the conic machine; ours has larger ones with "
        f"clustered outliers at {', '.join(wider)}: a hinge that always breaks down is steady"
    ]


def _reason() -> str:
    return (
        "why the hinge breaks down: its machine for small beta is along sum y_i x_i, whose mean "
        "changes sign at a share of 1/11 = 9.1 % of clustered outliers, (1 - f) / 2 = 5 f; the "
        "printed share is 10 %, so that it is on the wrong side for more than half of all "
        "samples, the more the larger n, and at 5 or 6 % only for some small ones: breakdowns at "
        "small n alone are what the paper's Figure 2 has. Its own generator is not known"
    )
