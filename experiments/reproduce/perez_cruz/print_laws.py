"""What every global optimum of the extended nu-SVC obeys, asked of printed numbers.

In the scale of the paper, at the optimum for nu on n points,

    2 lambda = n nu rho - sum_i xi_i <= n nu rho,

and G(nu) = -2 lambda is concave in nu with the slope -n rho, being the least of functions that are
linear in nu, so that for every other nu'

    lambda(nu') >= lambda(nu) + n rho(nu) (nu' - nu) / 2.

Both are linear in (rho, lambda), and hold for means over parts of n points each.
"""

from __future__ import annotations

import math

from tightmargin.experiments.reproduce.framework.comparison import interval
from tightmargin.experiments.reproduce.perez_cruz.published import Printed


def most_lambda(nu: str, rho: str, n: int) -> float:
    """The largest lambda that goes with any rho that rounds to the print."""
    return n * float(nu) * interval(rho)[1] / 2


def above_its_slack(rows: Printed, n: int) -> list[str]:
    """The nu whose printed lambda is larger than every lambda that its printed rho allows."""
    return [
        nu for nu, row in rows.items()
        if interval(row["lambda"])[0] > most_lambda(nu, row["rho"], n)
    ]  # fmt: skip


def broken_tangents(rows: Printed, n: int) -> list[tuple[str, str]]:
    """Pairs (nu, nu') whose printed numbers break the second law, whatever their next digits."""
    found = []
    for nu, row in rows.items():
        for other, its in rows.items():
            step = float(other) - float(nu)
            least = interval(row["lambda"])[0] + min(
                n * rho * step / 2 for rho in interval(row["rho"])
            )
            if interval(its["lambda"])[1] < least:
                found.append((nu, other))
    return found


def sizes_without_slack(nu: str, rho: str, lambda_: str) -> list[int]:
    """Numbers n of points for which 2 lambda = n nu rho fits the print, where all slacks are 0."""
    ratios = [
        2 * value / (float(nu) * level) for value in interval(lambda_) for level in interval(rho)
    ]
    return list(range(math.ceil(min(ratios)), math.floor(max(ratios)) + 1))


def least_support_share(nu: float, n: int) -> float:
    """Least share of points with a multiplier: each class has the sum n nu / 2 and caps of 1."""
    return 2 * math.ceil(n * nu / 2 - 1e-9) / n
