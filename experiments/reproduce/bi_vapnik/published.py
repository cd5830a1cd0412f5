"""The numbers that Bi & Vapnik 2003 print in section 6, as they print them."""

from __future__ import annotations

PAPER = "Bi & Vapnik 2003"

RATIO = "H^2/l"
TABLE2_COLUMNS = ("N_SV", "R_trn", "R_tst", "C", "D", "nu")  # D in units of 1e-2
TABLE2_SIZES = (200, 1000)  # left half, right half

_TABLE2 = """
0.03  184 11.5 20.7 0.075 1.097 0.912   599 10.8 13.8 0.124 0.345 0.579
0.05  167  9.5 19.1 0.129 1.258 0.795   518  9.8 12.6 0.247 0.414 0.482
0.1   140  6.0 17.4 0.298 1.623 0.616   431  8.1 11.7 0.636 0.534 0.374
0.15  127  4.5 16.7 0.476 1.890 0.529   394  6.8 11.3 1.021 0.600 0.333
0.2   119  3.5 16.3 0.712 2.215 0.452   378  5.6 11.3 1.407 0.650 0.308
0.25  114  3.0 16.0 0.982 2.528 0.396   363  5.4 11.5 1.906 0.711 0.281
0.3   105  2.5 16.0 1.21  2.732 0.366   351  5.2 11.7 2.378 0.756 0.265
0.4   100  1.5 16.1 1.71  3.153 0.317   333  4.6 12.1 3.323 0.830 0.241
0.5   100  1.5 16.6 2.25  3.567 0.280   325  4.3 12.2 4.255 0.890 0.225
0.6    95  0.5 16.8 2.90  4.079 0.245   322  3.7 12.6 5.190 0.942 0.212
0.7    96  0   17.2 3.64  4.649 0.215   320  3.2 12.6 6.208 0.996 0.200
0.8    94  0   17.5 4.50  5.326 0.188   318  2.8 12.7 7.233 1.046 0.191
"""

# FP/FN rates of the print are two columns here; left half Adult-4, right half Breast Cancer.
TABLE3_COLUMNS = ("R_trn", "FP_r", "FN_r", "R_tst", "FP_t", "FN_t", "C")
TABLE3_DATA = ("adult", "wdbc")

_TABLE3 = """
0.03  15.1  8.1/17.3 16.7 11.4/18.5 3.2e-1   2.5 0/4.0   2.4 0.7/3.4 2.1e-2
0.05  13.7 10.8/14.6 16.8 14.5/17.6 6.4e-1   2.5 0/4.0   2.4 0.7/3.4 3.7e-1
0.1   13.9  4.4/17.0 18.0 10.9/20.4 1.0e+5   1.5 1.3/1.6 2.2 0.7/3.0 1.3e+0
0.15  15.4  6.0/18.5 19.3 12.8/21.4 1.2e+5   1.5 1.3/1.6 2.4 0.7/3.4 2.6e+0
0.2   13.8  6.0/16.4 19.8 22.0/19.1 1.5e+5   1.0 2.7/0   2.4 0.7/3.4 3.8e+0
0.25  13.4  4.0/16.5 19.5 12.7/21.7 1.6e+5   1.0 2.7/0   3.8 2.1/4.7 4.8e+0
0.3   12.5  2.4/15.8 18.5  9.5/21.1 1.7e+5   1.0 2.7/0   3.5 2.1/4.3 5.5e+0
"""

FIGURE1_SIZES = (100, 200, 300, 500, 1000)
ADVISED = (0.05, 0.30)  # H^2/l, sections 6 and 7
H_LIMIT_SQUARED = {100: "90"}  # section 6, of the first 100 digits

Halves = dict[str, dict[str, str]]


def _half(text: str, names: tuple[str, ...], number: int) -> Halves:
    found = {}
    for line in text.strip().splitlines():
        ratio, *words = line.replace("/", " ").split()
        first = number * len(names)
        found[ratio] = dict(zip(names, words[first : first + len(names)], strict=True))
    return found


def table2(size: int) -> Halves:
    """Print of Table 2 by ratio and column, for l = 200 or 1000."""
    return _half(_TABLE2, TABLE2_COLUMNS, TABLE2_SIZES.index(size))


def table3(data: str) -> Halves:
    """Print of Table 3 by ratio and column, for adult or wdbc."""
    return _half(_TABLE3, TABLE3_COLUMNS, TABLE3_DATA.index(data))
