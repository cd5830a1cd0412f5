"""The numbers that Cepeda, Gomez & Han 2024 print in section 5 and Appendix B, as printed."""

from __future__ import annotations

PAPER = "Cepeda, Gomez & Han 2024"

METHODS = ("hinge", "conic")
BAYES = "bayes"
KINDS = ("none", "clustered", "spread")
SIZES = (100, 200, 500, 1000)  # n
DIMENSIONS = (3, 5, 10, 30)  # p, without the constant column
SIGMAS = ("0.2", "0.5", "1.0")
REPLICATIONS = 20
GRID = 100
TEST_POINTS = 100_000
NOISES = ("0.0", "0.1", "0.2", "0.3")  # tau of Table 3
FLIPS = ("0.1", "0.2", "0.3")  # tau of Table 4
POINTS = {"breast": 196, "german": 1000, "immunotherapy": 90, "ionosphere": 351, "sonar": 208}
FEATURES = {"breast": 36, "german": 24, "immunotherapy": 6, "ionosphere": 34, "sonar": 60}
AVERAGE = "average"

# sigma, method, then mean/deviation in percent for each kind of outliers
_TABLE1 = """
0.2 hinge  0.8/0.2  3.9/10.9  0.9/0.5
0.2 conic  1.0/0.5  1.2/1.2   1.0/0.6
0.2 bayes  0.6/0.0  0.6/0.0   0.6/0.0
0.5 hinge 16.8/1.3 21.7/8.7  18.2/2.3
0.5 conic 17.0/1.3 18.3/3.5  17.5/1.8
0.5 bayes 15.9/0.1 15.9/0.1  15.9/0.1
1.0 hinge 32.5/1.9 36.5/5.6  34.4/3.0
1.0 conic 32.6/1.9 34.1/3.4  32.9/2.1
1.0 bayes 30.9/0.1 30.9/0.1  30.9/0.1
"""

# n, method, then mean/deviation in seconds for each p
_TABLE2 = """
100  hinge  0.2/0.0  0.2/0.0  0.2/0.0   0.3/0.0
100  conic  2.8/0.3  2.9/0.4  5.2/1.4  41.2/4.7
200  hinge  0.5/0.1  0.5/0.1  1.9/0.2   2.2/2.0
200  conic  3.5/0.5  3.7/0.5  8.7/2.6  94.1/42.7
500  hinge  6.2/1.4  6.2/1.5  5.8/0.8  11.3/2.0
500  conic 14.7/4.7 14.5/4.7 20.6/4.9 152.8/25.8
1000 hinge  0.6/0.1  0.7/0.1  1.1/0.1   2.0/0.4
1000 conic 18.5/2.3 20.5/2.6 25.2/9.3 167.2/62.5
"""

# data, method, seconds mean/deviation, then percent mean/deviation for each tau
_TABLE3 = """
breast        hinge   0.1/0.0  16.9/4.4 18.3/4.6 17.9/5.0  19.4/7.7
breast        conic  45.4/4.1  16.8/4.2 17.6/4.5 17.5/4.4  18.8/5.5
german        hinge   3.1/0.3  25.0/1.9 25.8/2.3 27.5/2.0  29.4/2.4
german        conic  72.0/6.2  29.6/2.1 29.4/2.3 29.7/2.2  29.5/1.9
immunotherapy hinge   0.1/0.0  20.5/8.0 24.1/9.1 28.6/10.4 34.6/11.9
immunotherapy conic   2.5/0.1  20.7/6.3 20.7/6.3 21.1/6.0  27.0/16.6
ionosphere    hinge   0.5/0.0  16.0/3.3 19.2/4.4 20.9/5.0  24.0/6.9
ionosphere    conic  82.0/6.0  15.8/3.1 18.0/3.6 20.5/4.8  24.1/6.4
sonar         hinge   0.3/0.0  25.4/7.3 30.0/7.6 32.7/7.5  42.3/10.7
sonar         conic 202.8/15.1 30.1/6.4 31.9/6.1 37.3/9.5  45.6/6.8
average       hinge   -/-      20.8/5.0 23.5/5.6 25.5/6.0  29.9/7.9
average       conic   -/-      22.6/4.2 23.5/4.6 25.2/5.4  29.0/7.4
"""

# method, then mean/deviation in percent for each tau
_TABLE4 = """
hinge 2.7/2.5 4.9/5.4 7.1/7.2
conic 3.1/3.1 4.5/4.5 6.4/6.6
"""

Pair = tuple[str, str]


def _lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


def _pair(word: str) -> Pair:
    mean, _, deviation = word.partition("/")
    return mean, deviation


def table1(sigma: str, method: str, kind: str) -> Pair:
    """Mean and standard deviation of the rate of errors, percent; method also bayes."""
    rows = {(words[0], words[1]): words[2:] for words in _lines(_TABLE1)}
    return _pair(rows[sigma, method][KINDS.index(kind)])


def table2(n: int, d: int, method: str) -> Pair:
    """Mean and standard deviation of the seconds for 100 training problems."""
    rows = {(words[0], words[1]): words[2:] for words in _lines(_TABLE2)}
    return _pair(rows[str(n), method][DIMENSIONS.index(d)])


def table3(data: str, method: str, tau: str) -> Pair:
    """Mean and standard deviation of the rate of errors, percent; data also average."""
    rows = {(words[0], words[1]): words[3:] for words in _lines(_TABLE3)}
    return _pair(rows[data, method][NOISES.index(tau)])


def table3_seconds(data: str, method: str) -> Pair:
    """Mean and standard deviation of the seconds for 100 training problems."""
    return _pair(next(words[2] for words in _lines(_TABLE3) if words[:2] == [data, method]))


def table4(method: str, tau: str) -> Pair:
    """Mean and standard deviation of the rate of errors, percent."""
    rows = {words[0]: words[1:] for words in _lines(_TABLE4)}
    return _pair(rows[method][FLIPS.index(tau)])
