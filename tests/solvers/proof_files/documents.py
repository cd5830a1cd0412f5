"""Proof files that are written and worked by hand."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def line(*coefficients: str) -> list[Any]:
    """Coefficients of the first columns."""
    return [[j, c] for j, c in enumerate(coefficients)]


def row(lower: str | None, upper: str | None, linear: list[Any]) -> Document:
    return {"name": "row", "lower": lower, "upper": upper, "linear": linear}


def bent_row(upper: str, linear: list[Any], products: list[Any], constant: str = "0") -> Document:
    return row(None, upper, linear) | {"constant": constant, "products": products}


def proof(columns: int, ends: Any, point: Any = (), /, **parts: Any) -> Document:
    """The claim of an optimum between two ends; without ends, that there is no point.

    The parts are those of the model, of its objective and of the document.
    """
    model: Document = {"variables": [f"x{j}" for j in range(columns)]}
    model |= {"lower": [None] * columns, "upper": [None] * columns, "integer": []}
    model |= {"rows": [], "quadratic": [], "psd": []}
    model |= {key: parts.pop(key) for key in (*model, "terms") if key in parts}
    goal = {"constant": "0", "linear": [], "products": []}
    model["objective"] = {key: parts.pop(key, none) for key, none in goal.items()}
    found: Document = {"schema": "tightmargin-proof/1", "model": model}
    if ends is None:
        return found | {"claim": {"kind": "infeasible"}} | parts
    found["claim"] = {"kind": parts.pop("kind", "optimum"), "lower": ends[0], "upper": ends[1]}
    if "tree" not in parts:
        found["bound"] = {"objective": "1"} | parts.pop("bound", {})
    return found | {"point": [*point], "curvature": [bent("objective")]} | parts


def bent(of: Any, *least: str) -> Document:
    """What is said of the curvature of the objective, or of a side of a row."""
    return {"of": of, "least": line(*least)}


X, Y, T = ({"constant": "0", "linear": [[j, "1"]]} for j in range(3))  # single columns
HALF = {"cone": 0, "alpha": "1/2", "beta": "1/2"}
SQUARES = [[0, 0, "1"], [1, 1, "1"]]
NORM = [*SQUARES, [2, 2, "-1"]]

BY_HAND: dict[str, Document] = {
    # x + 2 y over x + y >= 1, 3 x + y >= 2 and x, y >= 0: y = (1, 0) leaves r = (0, 1).
    "lp": proof(
        2, ("1", "1"), ["1", "0"], lower=["0", "0"], linear=line("1", "2"),
        rows=[row("1", None, line("1", "1")), row("2", None, line("3", "1"))],
        bound={"rows": [[0, "1"]]},
    ),
    # 7 t with t >= 3 x - 1 and t >= 2 - 4 x: y = (4, 3), the point (3/7, 2/7), and 2.
    "lp_rational": proof(
        2, ("2", "2"), ["3/7", "2/7"], linear=[[1, "7"]], bound={"rows": line("4", "3")},
        rows=[row("-1", None, line("-3", "1")), row("2", None, line("4", "1"))],
    ),
    # (x - 1)^2 + (y - 2)^2 less its constant 5 over x + y <= 2: 1/2 - 5 at (1/2, 3/2).
    "qp": proof(
        2, ("-9/2", "-9/2"), ["1/2", "3/2"], constant="5", linear=line("-2", "-4"),
        products=SQUARES, rows=[row(None, "2", line("1", "1"))],
        bound={"at": line("1/2", "3/2"), "rows": [[0, "-1"]]},
        curvature=[bent("objective", "1", "1")],
    ),
    # - x - y on x^2 + y^2 <= 2: nu = 1/2 at (1, 1) leaves r = 0, and -2.
    "disc": proof(
        2, ("-2", "-2"), ["1", "1"], linear=line("-1", "-1"),
        quadratic=[bent_row("2", [], SQUARES)],
        bound={"at": line("1", "1"), "quadratic": [[0, "upper", "1/2"]]},
        curvature=[bent("objective"), bent([0, "upper"])],
    ),
    # t >= ||(x, y)|| over x >= 3 and y >= 4: t - (3 x + 4 y) / 5 >= 0, and 5.
    "norm": proof(
        3, ("5", "5"), ["3", "4", "5"], lower=["3", "4", "0"], linear=[[2, "1"]],
        quadratic=[bent_row("0", [], NORM)],
        cones=[{"row": 0, "side": "upper", "factors": [T, T]}],
        bound={"cones": [HALF | {"direction": line("3/5", "4/5")}]},
    ),
    # x + 4 y with z^2 <= x y and z >= 3: x + 4 y - 4 z >= 0, and 12 at (6, 3/2, 3).
    "product": proof(
        3, ("12", "12"), ["6", "3/2", "3"], lower=["0", "0", "3"], linear=line("1", "4"),
        quadratic=[bent_row("0", [], [[2, 2, "1"], [1, 0, "-1"]])],
        cones=[{"row": 0, "side": "upper", "factors": [X, Y]}],
        bound={"cones": [{"cone": 0, "alpha": "1", "beta": "4", "direction": [[2, "4"]]}]},
    ),
    # x + y with [[x, 2], [2, y]] semidefinite: Z = [[1, -1], [-1, 1]], and 4 at (2, 2).
    "sdp": proof(
        2, ("4", "4"), ["2", "2"], linear=line("1", "1"),
        psd=[{"name": "matrix", "order": 2, "entries": [
            [0, 0, "0", [[0, "1"]]], [1, 0, "2", []], [1, 1, "0", [[1, "1"]]]]}],
        bound={"psd": [{"row": 0, "matrix": [[0, 0, "1"], [1, 0, "-1"], [1, 1, "1"]]}]},
    ),
    # x + y / 1000 over 3 x >= 1 and x + y >= 1 and x <= 1: a step proves y >= 0, and x >= 1/3.
    # r = (999/1000, 0): 999/3000 + 1/1000 at (1/3, 2/3).
    "by_step": proof(
        2, ("167/500", "167/500"), ["1/3", "2/3"], upper=["1", None], linear=line("1", "1/1000"),
        rows=[row("1", None, line("3")), row("1", None, line("1", "1"))],
        steps=[{"certificate": {"rows": [[0, "1"]]}, "columns": [[0, "3", "1/3"]]},
               {"certificate": {"rows": [[1, "1"]]}, "columns": [[1, "1", "0"]]}],
        bound={"rows": [[1, "1/1000"]]},
    ),
    # x + y <= 1, x - y >= 0 and x - 3 y <= -4: times -2, 1 and -1 they sum to 0 >= 2.
    "farkas": proof(
        2, None, bound={"rows": line("-1", "2", "-1")},
        rows=[row(None, "1", line("1", "1")), row("0", None, line("1", "-1")),
              row(None, "-4", line("1", "-3"))],
    ),
    # 2 <= x + y <= 1, and 2 <= x^2 <= 1: no multipliers are needed.
    "crossing": proof(2, None, rows=[row("2", "1", line("1", "1"))]),
    "bent_crossing": proof(1, None, quadratic=[bent_row("1", [], SQUARES[:1]) | {"lower": "2"}]),
    # - t over t >= x^2: up from the origin.
    "ray": proof(
        2, None, linear=[[1, "-1"]], quadratic=[bent_row("0", [[1, "-1"]], SQUARES[:1])],
        claim={"kind": "unbounded"}, point=["0", "0"], ray=["0", "1"],
    ),
    # x with 2 x >= 3: 3 - 2 x >= 1 where x <= 1, and else x >= 2.
    "split": proof(
        1, ("2", "2"), ["2"], lower=["0"], integer=[0], linear=line("1"),
        rows=[row("3", None, line("2"))],
        tree={"certificates": [{"rows": [[0, "1"]]}, {"objective": "1"}], "nodes": [[0, 1], 0, 1]},
    ),
    # The same by its relaxation, 3/2, and by the whole numbers that alone are values of x.
    "rounded": proof(
        1, ("2", "2"), ["2"], lower=["0"], integer=[0], linear=line("1"),
        rows=[row("3", None, line("2"))], bound={"rows": [[0, "1/2"]]},
    ),
    # 2 x + 2 y = 3 over 0 <= x, y <= 1: 3 - 2 y >= 1 at x = 0, and at x = 1 it is 2 or 4.
    "parity": proof(
        2, None, lower=["0", "0"], upper=["1", "1"], integer=[0, 1],
        rows=[row("3", "3", line("2", "2"))],
        tree={"certificates": [{"rows": [[0, "1"]]}, {"rows": [[0, "-1"]]}],
              "nodes": [[0, 0], 0, [1, 0], 0, 1]},
    ),
    # 5 z + w over w >= 1 - 10 z: a point that costs 1 or less has z = 0, so that w >= 1 always.
    # At z = 1 the objective is 5 + w: w + 1/4 (5 + w) - 1/4 >= 1.
    "switched": proof(
        2, ("1", "1"), ["0", "1"], lower=["0", "0"], upper=["1", None], integer=[0],
        linear=line("5", "1"), rows=[row("1", None, line("10", "1"))],
        steps=[{"row": {"upper": "-1", "linear": [[1, "-1"]]}, "column": 0,
                "certificates": [{"rows": [[0, "1"]]}, {"objective": "1/4"}]}],
        bound={"rows": [[1, "-1"]]},
    ),
    # x + y with x + 2 y >= 2 and 2 x + y >= 2: both together are 3 x + 3 y >= 4, and 2 in all.
    "derived": proof(
        2, ("2", "2"), ["1", "1"], lower=["0", "0"], integer=[0, 1], linear=line("1", "1"),
        rows=[row("2", None, line("1", "2")), row("2", None, line("2", "1"))],
        steps=[{"row": {"upper": "-4", "linear": line("-3", "-3")},
                "certificates": [{"rows": line("1", "1")}]}],
        bound={"rows": [[2, "-1/3"]]},
    ),
    # x^2 - x of a free integer is 0 at least: at x^ = 0 it is - x + (x - 0)^2 on both sides.
    "free_integer": proof(
        1, ("0", "0"), ["1"], integer=[0], linear=line("-1"), products=SQUARES[:1],
        curvature=[bent("objective", "1")],
        tree={"certificates": [{"objective": "1"}], "nodes": [[0, 0], 0, 0]},
    ),
    # 3 x + y with y >= 2 - 4 x: what costs 3 at most has - x + 1/3 (3 x + y) >= 0, so that x <= 1;
    # x = 0 leaves y >= 2. All of it is 2 at least, which x = 0 and y = 2 shows.
    "below_cutoff": proof(
        2, ("2", "2"), ["0", "2"], lower=["0", "0"], integer=[0], linear=line("3", "1"),
        rows=[row("2", None, line("4", "1"))], cutoff="3",
        steps=[{"certificate": {"objective": "1/3"}, "columns": [[0, "-1", "1"]]}],
        tree={"certificates": [{"objective": "1", "rows": [[0, "1"]]}, {"objective": "1"}],
              "nodes": [[0, 0], 0, [0, 1], 1, None]},
    ),
    # Two discs around 0 and 3, linearised at (1, 0) and at (2, 0): 2 x <= 2 and 2 x >= 4.
    "two_points": proof(
        2, None, curvature=[bent([k, "upper"], "1") for k in (0, 1)],
        quadratic=[bent_row("1", [], SQUARES), bent_row("1", line("-6"), SQUARES, "9")],
        bound={"quadratic": [[0, "upper", "1", line("1")], [1, "upper", "1", line("2")]]},
    ),
    # exp(x) - x: with the slope 1 the tangent is t - x >= 1, and at (0, 1) both are met.
    "exponential": proof(
        2, ("1", "1"), ["0", "1"], linear=line("-1", "1"), bound={"rows": [[0, "1"]]},
        terms=[{"function": "exp", "column": 1, "parts": [["1", line("1")]]}],
        steps=[{"tangents": [[0, "1", ["1"]]]}],
    ),
}  # fmt: skip
