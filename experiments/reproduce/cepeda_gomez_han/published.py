"""The numbers that Cepeda, Gomez & Han 2024 print in section 5 and Appendix B."""

from __future__ import annotations

from tightmargin.experiments.reproduce.framework.printed import printed

_PRINT = printed("cepeda_gomez_han")

PAPER: str = _PRINT["paper"]
METHODS = ("hinge", "conic")
BAYES, AVERAGE = "bayes", "average"
SIGMAS = tuple(_PRINT["table1"])
KINDS = tuple(_PRINT["table1"][SIGMAS[0]][BAYES])
SIZES = tuple(int(n) for n in _PRINT["table2"])
DIMENSIONS = tuple(int(d) for d in _PRINT["table2"][str(SIZES[0])][METHODS[0]])
FLIPS = tuple(_PRINT["table4"][METHODS[0]])  # tau of Table 4
NOISES = ("0.0", *FLIPS)  # tau of Table 3
REPLICATIONS: int = _PRINT["replications"]
GRID: int = _PRINT["grid"]
TEST_POINTS: int = _PRINT["test_points"]
POINTS: dict[str, int] = {name: size["points"] for name, size in _PRINT["data"].items()}
FEATURES: dict[str, int] = {name: size["features"] for name, size in _PRINT["data"].items()}

Pair = tuple[str, str]


def _pair(word: str) -> Pair:
    mean, _, deviation = word.partition("/")
    return mean, deviation


def table1(sigma: str, method: str, kind: str) -> Pair:
    """Mean and standard deviation of the rate of errors, percent; method also bayes."""
    return _pair(_PRINT["table1"][sigma][method][kind])


def table2(n: int, d: int, method: str) -> Pair:
    """Mean and standard deviation of the seconds for 100 training problems."""
    return _pair(_PRINT["table2"][str(n)][method][str(d)])


def table3(data: str, method: str, tau: str) -> Pair:
    """Mean and standard deviation of the rate of errors, percent; data also average."""
    return _pair(_PRINT["table3"][data][method][tau])


def table3_seconds(data: str, method: str) -> Pair:
    """Mean and standard deviation of the seconds for 100 training problems."""
    return _pair(_PRINT["table3"][data][method]["seconds"])


def table4(method: str, tau: str) -> Pair:
    """Mean and standard deviation of the rate of errors, percent."""
    return _pair(_PRINT["table4"][method][tau])
