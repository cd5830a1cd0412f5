"""The numbers that Perez-Cruz et al. 2003 print, as they print them."""

from __future__ import annotations

PAPER = "Perez-Cruz et al. 2003"

SHARES = ("errors", "SVs")
MARGIN = "rho/||w||"

# Table 1: nu, share of margin errors, share of support vectors, margin rho / ||w||.
_TABLE1 = """
0.1 0.00 0.29 0.005
0.2 0.07 0.36 0.018
0.3 0.25 0.43 0.115
0.4 0.32 0.46 0.156
0.5 0.39 0.57 0.364
0.6 0.50 0.68 0.419
0.7 0.61 0.79 0.461
0.8 0.71 0.86 0.546
"""

# Section 4, of Figure 2b: "there are 17 SVs", and nu_min is between 14/60 and 17/60.
FIGURE2_POINTS, FIGURE2_ERRORS, FIGURE2_SVS = 60, "14", "17"

# Caption of Figure 3: nu, rho, lambda.
_FIGURE3 = """
0.69  1.59  1.78
0.51  0.69 -4.60
0.33 -0.04 -7.01
0.01 -1.79 -0.54
"""

# Section 6, of Figure 4: nu; probability of error of the Bayes rule and of both machines.
FIGURE4_NU = 0.51
BAYES = "0.200"
FIGURE4_ERRORS = {"poly": "0.205", "rbf": "0.217"}

# Table 3: nu, rho, lambda, share of support vectors; means of five splits.
_TABLE3 = """
0.01 -1.12 -0.78 .025
0.16 -0.27 -13.3 .167
0.26 -0.07 -15.7 .265
0.31  0.02 -15.8 .312
0.36  0.09 -15.5 .361
0.41  0.15 -14.6 .420
0.56  0.34 -9.59 .569
0.71  0.54 -0.63 .716
0.76  0.69  3.59 .767
0.81  1.09  9.46 .811
"""

# Section 6, of Figure 5: the least test error of nu-SVC and of the extended nu-SVC.
FIGURE5 = {"0.76": "0.325", "0.41": "0.293"}

Printed = dict[str, dict[str, str]]


def _rows(text: str, names: tuple[str, ...]) -> Printed:
    lines = [line.split() for line in text.strip().splitlines()]
    return {nu: dict(zip(names, words, strict=True)) for nu, *words in lines}


def table1() -> Printed:
    """Print of Table 1 by nu and column."""
    return _rows(_TABLE1, (*SHARES, MARGIN))


def figure3() -> Printed:
    """Print of the caption of Figure 3 by nu and column."""
    return _rows(_FIGURE3, ("rho", "lambda"))


def table3() -> Printed:
    """Print of Table 3 by nu and column."""
    return _rows(_TABLE3, ("rho", "lambda", "fSVs"))
