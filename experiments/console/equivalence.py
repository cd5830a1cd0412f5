"""What a solution of the rigorous SVM is a solution of besides, as people read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

WORDS = (
    ("c_svc", "C", "C"),
    ("nu_svc", "nu", "nu"),
    ("reduced_hull_svc", "D", "hull_bound"),
    ("soft_margin_svc", "ridge", "ridge"),
)
WIDE = 1e-9  # of its ends: an interval of intercepts that is no single number


def equivalence_rows(fact: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Rows of a result page.

    Parameters
    ----------
    fact : mapping
        `Equivalence.to_json()`: what is infinite is None.
    """
    if fact["active"]:
        yield (
            "same solution",
            ", ".join(f"{name} {symbol} = {fact[key]:.9g}" for name, symbol, key in WORDS),
        )
    yield "levels", f"rho = {fact['rho']:.6g}, beta = {fact['beta']:.6g}"
    yield (
        "VC estimate",
        (
            f"min(H^2, d) + 1 = {fact['vc_dimension']:.6g}, R^2 H^2 + 1 = "
            f"{fact['vc_dimension_in_ball']:.6g}"
        ),
    )
    if fact["b_interval"] is not None:
        low, high = fact["b_interval"]
        if high - low > WIDE * max(1.0, abs(low), abs(high)):
            yield "intercepts", f"all from {low:.9g} to {high:.9g} have this loss"
    for note in fact["notes"]:
        yield "note", note
