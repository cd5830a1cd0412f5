"""exp and log of rational numbers between two rational numbers, by whole numbers alone.

Nobody bounds the error of a library's exp. Here every number is a multiple of 2^-BITS, sums and
products of such numbers are whole-number operations, each is rounded towards the side that is asked
for, and what a series leaves out is bounded by its first term:

    exp(r) = sum_k r^k / k!                  0 <= r < 1; left out is at most 2 r^(N+1) / (N+1)!
    log(m) = 2 sum_k z^(2k+1) / (2k+1)       z = (m - 1) / (m + 1) <= 1/3; at most 3 z^(2N+3)

with exp(x) = 2^k exp(x - k log 2) and log(2^e m) = e log 2 + log(m), 1 <= m < 2.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

BITS = 160
ONE = 1 << BITS
# Beyond these exp is a double no longer: its end is that of the number in its place.
LEAST, LARGEST = -745, 709

Interval = tuple[Fraction, Fraction]


def log_between(y: Fraction) -> Interval:
    """Rational numbers between which log(y) lies, 2^-140 apart for doubles y.

    Raises
    ------
    ValueError
        y is not positive.
    """
    if y <= 0:
        raise ValueError(f"log({float(y)}) is no number")
    top, bottom = y.numerator, y.denominator
    e = top.bit_length() - bottom.bit_length()
    if e > 0:
        bottom <<= e
    else:
        top <<= -e
    if top < bottom:
        e, top = e - 1, 2 * top
    low, high = _log_of_mantissa(top, bottom)
    two_low, two_high = _log_of_two()
    if e < 0:
        two_low, two_high = two_high, two_low
    return Fraction(e * two_low + low, ONE), Fraction(e * two_high + high, ONE)


def exp_between(x: Fraction) -> tuple[Fraction, Fraction | None]:
    """Rational numbers between which exp(x) lies; None above where it is beyond the doubles."""
    if x > LARGEST:
        return exp_between(Fraction(LARGEST))[0], None
    if x < LEAST:
        return Fraction(0), exp_between(Fraction(LEAST))[1]
    two_low, two_high = _log_of_two()
    scaled = x * ONE
    k = int(scaled // two_high) if x >= 0 else int(scaled // two_low)
    # r = x - k log 2, whatever k is; it is chosen so that r is at least 0 and less than 1.
    ends = sorted((k * two_low, k * two_high))
    low, high = _floor(scaled) - ends[1], _ceil(scaled) - ends[0]
    factor = Fraction(2) ** k
    return Fraction(_exp_series(max(low, 0), up=False), ONE) * factor, Fraction(
        _exp_series(high, up=True), ONE
    ) * factor


def _exp_series(r: int, *, up: bool) -> int:
    """exp(r 2^-BITS) 2^BITS on one side, for 0 <= r 2^-BITS <= 1."""
    assert 0 <= r <= ONE
    total, term, k = ONE, ONE, 0
    while term > 1:
        k += 1
        term = _shifted(term * r, up=up)
        term = -(-term // k) if up else term // k
        total += term
    # Each later term is at most half of the one before it.
    return total + 2 * term if up else total


def _log_of_mantissa(top: int, bottom: int) -> tuple[int, int]:
    """log(top / bottom) 2^BITS, below and above, for 1 <= top / bottom <= 2."""
    z, rest = divmod((top - bottom) << BITS, top + bottom)
    return _log_series(z, up=False), _log_series(z + bool(rest), up=True)


@cache
def _log_of_two() -> tuple[int, int]:
    return _log_of_mantissa(2, 1)


def _log_series(z: int, *, up: bool) -> int:
    """2 artanh(z 2^-BITS) 2^BITS on one side, for 0 <= z 2^-BITS <= 1/3 and a unit more."""
    square = _shifted(z * z, up=up)
    power, k = z, 0
    total = power
    while power > 1:
        k += 1
        power = _shifted(power * square, up=up)
        total += -(-power // (2 * k + 1)) if up else power // (2 * k + 1)
    # Each later power is at most a fifth of the one before it.
    return 2 * (total + power) if up else 2 * total


def _shifted(product: int, *, up: bool) -> int:
    """A product of two numbers at 2^BITS, at 2^BITS again."""
    return -(-product >> BITS) if up else product >> BITS


def _floor(number: Fraction) -> int:
    return number.numerator // number.denominator


def _ceil(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)
