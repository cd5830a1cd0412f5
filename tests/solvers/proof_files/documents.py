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


def nowhere(model: Document, **parts: Any) -> Document:
    """The claim that there is no point."""
    claim = {"kind": "infeasible"}
    return {"schema": "tightmargin-proof/1", "model": model, "claim": claim} | parts


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
    goal = {"linear": [[0, "-2"], [1, "-4"]], "products": [[0, 0, "1"], [1, 1, "1"]]}
    goal |= {"constant": "5"}
    model = hand_model(2, rows=[row(None, "2", [0, "1"], [1, "1"])], objective=goal)
    bound = {"objective": "1", "at": [[0, "1/2"], [1, "3/2"]], "rows": [[0, "-1"]]}
    bends = [{"of": "objective", "least": [[0, "1"], [1, "1"]]}]
    return proof(model, "-9/2", "-9/2", ["1/2", "3/2"], bound=bound, curvature=bends)


def disc() -> Document:
    """- x - y on x^2 + y^2 <= 2: nu = 1/2 at (1, 1) leaves r = 0, and -2."""
    circle = bent_row("2", [], [[0, 0, "1"], [1, 1, "1"]])
    goal = {"linear": [[0, "-1"], [1, "-1"]]}
    model = hand_model(2, quadratic=[circle], objective=goal)
    at = [[0, "1"], [1, "1"]]
    bound = {"objective": "1", "at": at, "quadratic": [[0, "upper", "1/2"]]}
    bends = [{"of": "objective", "least": []}, {"of": [0, "upper"], "least": []}]
    return proof(model, "-2", "-2", ["1", "1"], bound=bound, curvature=bends)


def norm() -> Document:
    """t >= ||(x, y)|| over x >= 3 and y >= 4: t - (3 x + 4 y) / 5 >= 0, and 5."""
    cone = bent_row("0", [], [[0, 0, "1"], [1, 1, "1"], [2, 2, "-1"]])
    t = {"constant": "0", "linear": [[2, "1"]]}
    model = hand_model(3, lower=["3", "4", "0"], quadratic=[cone], objective={"linear": [[2, "1"]]})
    along = [[0, "3/5"], [1, "4/5"]]
    multiplier = {"cone": 0, "alpha": "1/2", "beta": "1/2", "direction": along}
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
    return nowhere(hand_model(2, rows=rows), bound={"rows": [[0, "-1"], [1, "2"], [2, "-1"]]})


def crossing() -> Document:
    """2 <= x + y <= 1: no multipliers are needed."""
    return nowhere(hand_model(2, rows=[row("2", "1", [0, "1"], [1, "1"])]))


def bent_crossing() -> Document:
    """2 <= x^2 <= 1."""
    bent = bent_row("1", [], [[0, 0, "1"]]) | {"lower": "2"}
    return nowhere(hand_model(1, quadratic=[bent]))


def ray() -> Document:
    """- t over t >= x^2: up from the origin."""
    above = bent_row("0", [[1, "-1"]], [[0, 0, "1"]])
    model = hand_model(2, quadratic=[above], objective={"linear": [[1, "-1"]]})
    return nowhere(model, point=["0", "0"], ray=["0", "1"]) | {"claim": {"kind": "unbounded"}}


# --- trees, and terms ---------------------------------------------------------------------------


def split() -> Document:
    """x with 2 x >= 3: 3 - 2 x >= 1 where x <= 1, and else x >= 2."""
    goal = {"linear": [[0, "1"]]}
    model = hand_model(1, lower=["0"], integer=[0], rows=[row("3", None, [0, "2"])], objective=goal)
    tree = {"certificates": [{"rows": [[0, "1"]]}, {"objective": "1"}], "nodes": [[0, 1], 0, 1]}
    return proof(model, "2", "2", ["2"], tree=tree)


def rounded() -> Document:
    """The same by its relaxation, 3/2, and by the whole numbers that alone are values of x."""
    found = {key: part for key, part in split().items() if key != "tree"}
    return found | {"bound": {"objective": "1", "rows": [[0, "1/2"]]}}


def parity() -> Document:
    """2 x + 2 y = 3 over 0 <= x, y <= 1: 3 - 2 y >= 1 at x = 0, and at x = 1 it is 2 or 4."""
    rows = [row("3", "3", [0, "2"], [1, "2"])]
    model = hand_model(2, lower=["0", "0"], upper=["1", "1"], integer=[0, 1], rows=rows)
    by_row = [{"rows": [[0, "1"]]}, {"rows": [[0, "-1"]]}]
    tree = {"certificates": by_row, "nodes": [[0, 0], 0, [1, 0], 0, 1]}
    return nowhere(model, tree=tree)


def switched() -> Document:
    """5 z + w over w >= 1 - 10 z: a point that costs 1 or less has z = 0, so that w >= 1 always.

    At z = 1 the objective is 5 + w: w + 1/4 (5 + w) - 1/4 >= 1.
    """
    goal = {"linear": [[0, "5"], [1, "1"]]}
    model = hand_model(
        2, lower=["0", "0"], upper=["1", None], integer=[0], objective=goal,
        rows=[row("1", None, [0, "10"], [1, "1"])],
    )  # fmt: skip
    new = {"upper": "-1", "linear": [[1, "-1"]]}
    entries = [{"rows": [[0, "1"]]}, {"objective": "1/4"}]
    steps = [{"row": new, "column": 0, "certificates": entries}]
    bound = {"objective": "1", "rows": [[1, "-1"]]}
    return proof(model, "1", "1", ["0", "1"], steps=steps, bound=bound)


def derived() -> Document:
    """x + y with x + 2 y >= 2 and 2 x + y >= 2: both together are 3 x + 3 y >= 4, and 2 in all."""
    rows = [row("2", None, [0, "1"], [1, "2"]), row("2", None, [0, "2"], [1, "1"])]
    goal = {"linear": [[0, "1"], [1, "1"]]}
    model = hand_model(2, lower=["0", "0"], integer=[0, 1], rows=rows, objective=goal)
    new = {"upper": "-4", "linear": [[0, "-3"], [1, "-3"]]}
    steps = [{"row": new, "certificates": [{"rows": [[0, "1"], [1, "1"]]}]}]
    bound = {"objective": "1", "rows": [[2, "-1/3"]]}
    return proof(model, "2", "2", ["1", "1"], steps=steps, bound=bound)


def free_integer() -> Document:
    """x^2 - x of a free integer is 0 at least: at x^ = 0 it is - x + (x - 0)^2 on both sides."""
    goal = {"linear": [[0, "-1"]], "products": [[0, 0, "1"]]}
    model = hand_model(1, integer=[0], objective=goal)
    bends = [{"of": "objective", "least": [[0, "1"]]}]
    tree = {"certificates": [{"objective": "1"}], "nodes": [[0, 0], 0, 0]}
    return proof(model, "0", "0", ["1"], tree=tree, curvature=bends)


def below_cutoff() -> Document:
    """3 x + y with y >= 2 - 4 x: what costs 3 at most has 3 x <= 3, x <= 1; x = 0 leaves y >= 2.

    All of it is 2 at least, which x = 0 and y = 2 shows.
    """
    goal = {"linear": [[0, "3"], [1, "1"]]}
    model = hand_model(
        2, lower=["0", "0"], integer=[0], objective=goal, rows=[row("2", None, [0, "4"], [1, "1"])]
    )
    # - x + 1/3 (3 x + y) >= 0, so that x <= 1 below the cutoff.
    steps = [{"certificate": {"objective": "1/3"}, "columns": [[0, "-1", "1"]]}]
    tree = {
        "certificates": [{"objective": "1", "rows": [[0, "1"]]}, {"objective": "1"}],
        "nodes": [[0, 0], 0, [0, 1], 1, None],
    }
    return proof(model, "2", "2", ["0", "2"], steps=steps, tree=tree) | {"cutoff": "3"}


def two_points() -> Document:
    """Two discs around 0 and 3, linearised at (1, 0) and at (2, 0): 2 x <= 2 and 2 x >= 4."""
    squares = [[0, 0, "1"], [1, 1, "1"]]
    rows = [bent_row("1", [], squares), bent_row("1", [[0, "-6"]], squares, "9")]
    flat = [{"of": [k, "upper"], "least": [[0, "1"]]} for k in (0, 1)]
    own = [[0, "upper", "1", [[0, "1"]]], [1, "upper", "1", [[0, "2"]]]]
    return nowhere(hand_model(2, quadratic=rows), curvature=flat, bound={"quadratic": own})


def exponential() -> Document:
    """exp(x) - x: with the slope 1 the tangent is t - x >= 1, and at (0, 1) both are met."""
    term = {"function": "exp", "column": 1, "parts": [["1", [[0, "1"]]]]}
    model = hand_model(2, objective={"linear": [[0, "-1"], [1, "1"]]}, terms=[term])
    steps = [{"tangents": [[0, "1", ["1"]]]}]
    bound = {"objective": "1", "rows": [[0, "1"]]}
    return proof(model, "1", "1", ["0", "1"], steps=steps, bound=bound)


BY_HAND = (
    lp, lp_rational, qp, disc, norm, product, sdp, by_step, farkas, crossing, bent_crossing, ray,
    split, rounded, parity, switched, derived, free_integer, below_cutoff, two_points, exponential,
)  # fmt: skip
