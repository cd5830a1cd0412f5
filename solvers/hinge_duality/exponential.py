"""exp(t) for t <= 0 from additions and multiplications alone, with a proven error.

IEEE arithmetic bounds the error of those, and nobody bounds that of a library's exp. With
t = k ln 2 + r and |r| <= 0.35, exp(r) is its Taylor polynomial of degree 14 up to 0.35^15 / 15! <
2e-19, and its 2 * 14 roundings in Horner's scheme cost less than 30 units of roundoff. ln 2 is
taken as two doubles, of which the first has 21 zero bits at its end, so that k times it is exact; r
is off by at most 4 units of roundoff of 0.35 and by 2^-80 |k|. All of it is below RELATIVE.
"""

from __future__ import annotations

import math

import numpy as np

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF
from tightmargin.formulations.data.arrays import Array

HIGH, LOW = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
PER_LN2 = 1 / math.log(2)
TERMS = [1 / math.factorial(k) for k in range(14, -1, -1)]
RELATIVE = 64 * ROUNDOFF
LEAST = -660.0  # exp of anything below is less than 1e-286, and is called 0
LOST = 1e-286


def exp_of_negative(t: Array) -> Array:
    """exp(t) of numbers t <= 0: off by RELATIVE of itself, or below LOST and called 0."""
    inside = np.maximum(t, LEAST)
    k = np.rint(inside * PER_LN2)
    r = (inside - k * HIGH) - k * LOW
    total = np.full_like(r, TERMS[0])
    for term in TERMS[1:]:
        total *= r
        total += term
    found: Array = np.where(t < LEAST, 0.0, np.ldexp(total, k.astype(np.int32)))
    return found
