"""Proof files of mixed-integer models that are written and worked by hand."""

from __future__ import annotations

from tests.solvers.proof_files.documents import Document, bent_row, hand_model, proof, row

INFEASIBLE = {"kind": "infeasible"}


def split() -> Document:
    """x with 2 x >= 3: 3 - 2 x >= 1 where x <= 1, and else x >= 2."""
    goal = {"linear": [[0, "1"]]}
    model = hand_model(1, lower=["0"], integer=[0], rows=[row("3", None, [0, "2"])], objective=goal)
    tree = {"certificates": [{"rows": [[0, "1"]]}, {"objective": "1"}], "nodes": [[0, 1], 0, 1]}
    return proof(model, "2", "2", ["2"], tree=tree)


def rounded() -> Document:
    """The same by its relaxation, 3/2, and by the whole numbers that alone are values of x."""
    found = split()
    del found["tree"]
    return found | {"bound": {"objective": "1", "rows": [[0, "1/2"]]}}


def parity() -> Document:
    """2 x + 2 y = 3 over 0 <= x, y <= 1: 3 - 2 y >= 1 at x = 0, and at x = 1 it is 2 or 4."""
    rows = [row("3", "3", [0, "2"], [1, "2"])]
    model = hand_model(2, lower=["0", "0"], upper=["1", "1"], integer=[0, 1], rows=rows)
    by_row = [{"rows": [[0, "1"]]}, {"rows": [[0, "-1"]]}]
    found = proof(model, "0", "0", [])
    del found["point"], found["curvature"]
    tree = {"certificates": by_row, "nodes": [[0, 0], 0, [1, 0], 0, 1]}
    return found | {"claim": INFEASIBLE, "tree": tree}


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
    found = proof(hand_model(2, quadratic=rows), "0", "0", [])
    flat = [{"of": [k, "upper"], "least": [[0, "1"]]} for k in (0, 1)]
    own = [[0, "upper", "1", [[0, "1"]]], [1, "upper", "1", [[0, "2"]]]]
    del found["point"]
    return found | {"claim": INFEASIBLE, "curvature": flat, "bound": {"quadratic": own}}


BY_HAND = (
    split, rounded, parity, switched, derived, free_integer, below_cutoff, two_points,
)  # fmt: skip
