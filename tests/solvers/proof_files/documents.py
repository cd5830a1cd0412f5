"""Proof files that are written and worked by hand."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def hand_model(columns: int, **parts: Any) -> Document:
    """A model whose columns are free and whose objective is 0, but for what is given."""
    goal = {"constant": "0", "linear": [], "products": []} | parts.pop("objective", {})
    empty: Document = {
        "variables": [f"x{j}" for j in range(columns)],
        "lower": [None] * columns,
        "upper": [None] * columns,
        "integer": [],
        "rows": [],
        "quadratic": [],
        "psd": [],
    }
    return empty | {"objective": goal} | parts


def row(lower: str | None, upper: str | None, *linear: list[Any]) -> Document:
    return {"name": "row", "lower": lower, "upper": upper, "linear": list(linear)}


def bent_row(upper: str, linear: list[Any], products: list[Any], constant: str = "0") -> Document:
    return row(None, upper, *linear) | {"constant": constant, "products": products}


def proof(model: Document, lower: str, upper: str, point: list[str], **parts: Any) -> Document:
    """The claim of an optimum."""
    claim = {"kind": "optimum", "lower": lower, "upper": upper}
    flat = {"of": "objective", "least": []}
    found = {"schema": "tightmargin-proof/1", "model": model, "claim": claim, "point": point}
    return found | {"curvature": [flat]} | parts


def lp() -> Document:
    """x + 2 y over x + y >= 1, 3 x + y >= 2 and x, y >= 0: y = (1, 0) leaves r = (0, 1)."""
    rows = [row("1", None, [0, "1"], [1, "1"]), row("2", None, [0, "3"], [1, "1"])]
    goal = {"linear": [[0, "1"], [1, "2"]]}
    model = hand_model(2, lower=["0", "0"], rows=rows, objective=goal)
    return proof(model, "1", "1", ["1", "0"], bound={"objective": "1", "rows": [[0, "1"]]})


def lp_rational() -> Document:
    """7 t with t >= 3 x - 1 and t >= 2 - 4 x: y = (4, 3), the point (3/7, 2/7), and 2."""
    rows = [row("-1", None, [0, "-3"], [1, "1"]), row("2", None, [0, "4"], [1, "1"])]
    model = hand_model(2, rows=rows, objective={"linear": [[1, "7"]]})
    bound = {"objective": "1", "rows": [[0, "4"], [1, "3"]]}
    return proof(model, "2", "2", ["3/7", "2/7"], bound=bound)


def qp() -> Document:
    """(x - 1)^2 + (y - 2)^2 less its constant 5 over x + y <= 2: 1/2 - 5 at (1/2, 3/2)."""
    goal = {
        "constant": "5",
        "linear": [[0, "-2"], [1, "-4"]],
        "products": [[0, 0, "1"], [1, 1, "1"]],
    }
    model = hand_model(2, rows=[row(None, "2", [0, "1"], [1, "1"])], objective=goal)
    bound = {"objective": "1", "at": [[0, "1/2"], [1, "3/2"]], "rows": [[0, "-1"]]}
    bends = [{"of": "objective", "least": [[0, "1"], [1, "1"]]}]
    return proof(model, "-9/2", "-9/2", ["1/2", "3/2"], bound=bound, curvature=bends)


def disc() -> Document:
    """- x - y on x^2 + y^2 <= 2: nu = 1/2 at (1, 1) leaves r = 0, and -2."""
    circle = bent_row("2", [], [[0, 0, "1"], [1, 1, "1"]])
    goal = {"linear": [[0, "-1"], [1, "-1"]]}
    model = hand_model(2, quadratic=[circle], objective=goal)
    bound = {
        "objective": "1",
        "at": [[0, "1"], [1, "1"]],
        "quadratic": [[0, "upper", "1/2"]],
    }
    bends = [{"of": "objective", "least": []}, {"of": [0, "upper"], "least": []}]
    return proof(model, "-2", "-2", ["1", "1"], bound=bound, curvature=bends)


def norm() -> Document:
    """t >= ||(x, y)|| over x >= 3 and y >= 4: t - (3 x + 4 y) / 5 >= 0, and 5."""
    cone = bent_row("0", [], [[0, 0, "1"], [1, 1, "1"], [2, 2, "-1"]])
    t = {"constant": "0", "linear": [[2, "1"]]}
    model = hand_model(3, lower=["3", "4", "0"], quadratic=[cone], objective={"linear": [[2, "1"]]})
    multiplier = {
        "cone": 0,
        "alpha": "1/2",
        "beta": "1/2",
        "direction": [[0, "3/5"], [1, "4/5"]],
    }
    return proof(
        model, "5", "5", ["3", "4", "5"],
        cones=[{"row": 0, "side": "upper", "factors": [t, t]}],
        bound={"objective": "1", "cones": [multiplier]},
    )  # fmt: skip


def product() -> Document:
    """x + 4 y with z^2 <= x y and z >= 3: x + 4 y - 4 z >= 0, and 12 at (6, 3/2, 3)."""
    cone = bent_row("0", [], [[2, 2, "1"], [1, 0, "-1"]])
    factors = [{"constant": "0", "linear": [[j, "1"]]} for j in (0, 1)]
    goal = {"linear": [[0, "1"], [1, "4"]]}
    model = hand_model(3, lower=["0", "0", "3"], quadratic=[cone], objective=goal)
    multiplier = {"cone": 0, "alpha": "1", "beta": "4", "direction": [[2, "4"]]}
    return proof(
        model, "12", "12", ["6", "3/2", "3"],
        cones=[{"row": 0, "side": "upper", "factors": factors}],
        bound={"objective": "1", "cones": [multiplier]},
    )  # fmt: skip


def sdp() -> Document:
    """x + y with [[x, 2], [2, y]] semidefinite: Z = [[1, -1], [-1, 1]], and 4 at (2, 2)."""
    entries = [[0, 0, "0", [[0, "1"]]], [1, 0, "2", []], [1, 1, "0", [[1, "1"]]]]
    matrix = {"name": "matrix", "order": 2, "entries": entries}
    model = hand_model(2, psd=[matrix], objective={"linear": [[0, "1"], [1, "1"]]})
    Z = [[0, 0, "1"], [1, 0, "-1"], [1, 1, "1"]]
    bound = {"objective": "1", "psd": [{"row": 0, "matrix": Z}]}
    return proof(model, "4", "4", ["2", "2"], bound=bound)


def by_step() -> Document:
    """x + y / 1000 over 3 x >= 1 and x + y >= 1 and x <= 1: a step proves y >= 0, and x >= 1/3."""
    rows = [row("1", None, [0, "3"]), row("1", None, [0, "1"], [1, "1"])]
    goal = {"linear": [[0, "1"], [1, "1/1000"]]}
    model = hand_model(2, upper=["1", None], rows=rows, objective=goal)
    steps = [
        {"certificate": {"rows": [[0, "1"]]}, "columns": [[0, "3", "1/3"]]},
        {"certificate": {"rows": [[1, "1"]]}, "columns": [[1, "1", "0"]]},
    ]
    bound = {"objective": "1", "rows": [[1, "1/1000"]]}
    # r = (999/1000, 0): 999/3000 + 1/1000 at (1/3, 2/3).
    return proof(model, "167/500", "167/500", ["1/3", "2/3"], steps=steps, bound=bound)


def farkas() -> Document:
    """x + y <= 1, x - y >= 0 and x - 3 y <= -4: times -2, 1 and -1 they sum to 0 >= 2."""
    rows = [
        row(None, "1", [0, "1"], [1, "1"]),
        row("0", None, [0, "1"], [1, "-1"]),
        row(None, "-4", [0, "1"], [1, "-3"]),
    ]
    found = proof(hand_model(2, rows=rows), "0", "0", [])
    bound = {"rows": [[0, "-1"], [1, "2"], [2, "-1"]]}
    del found["point"], found["curvature"]
    return found | {"claim": {"kind": "infeasible"}, "bound": bound}


def crossing() -> Document:
    """2 <= x + y <= 1: no multipliers are needed."""
    found = proof(hand_model(2, rows=[row("2", "1", [0, "1"], [1, "1"])]), "0", "0", [])
    del found["point"], found["curvature"]
    return found | {"claim": {"kind": "infeasible"}}


def bent_crossing() -> Document:
    """2 <= x^2 <= 1."""
    bent = bent_row("1", [], [[0, 0, "1"]]) | {"lower": "2"}
    return crossing() | {"model": hand_model(1, quadratic=[bent])}


def ray() -> Document:
    """- t over t >= x^2: up from the origin."""
    above = bent_row("0", [[1, "-1"]], [[0, 0, "1"]])
    model = hand_model(2, quadratic=[above], objective={"linear": [[1, "-1"]]})
    found = proof(model, "0", "0", ["0", "0"], ray=["0", "1"])
    del found["curvature"]
    return found | {"claim": {"kind": "unbounded"}}


BY_HAND = (
    lp, lp_rational, qp, disc, norm, product, sdp, by_step, farkas, crossing, bent_crossing,
    ray,
)  # fmt: skip
