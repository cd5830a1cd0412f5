"""Small problems whose answers are known without a solver: a closed form, or all cases tried here.

The comment above each says why its optimum is what it is. The list is meant to grow: whatever a
solver or a reader once got wrong belongs here, in the smallest form that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyomo.environ as pyo

from tightmargin.formulations import ProblemClass, psd

LP, QP, SOCP, SDP = ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP
MILP, MIQP, MISOCP = ProblemClass.MILP, ProblemClass.MIQP, ProblemClass.MISOCP
LRCP, NONCONVEX = ProblemClass.LRCP, ProblemClass.NONCONVEX

INFEASIBLE, UNBOUNDED = "infeasible", "unbounded"
Build = Callable[[], pyo.ConcreteModel]


@dataclass(frozen=True, eq=False)
class Problem:
    """A model and what is known of it."""

    name: str
    problem_class: ProblemClass
    answer: float | str  # the optimum, or INFEASIBLE or UNBOUNDED
    build: Build
    # By row name, d optimum / d right-hand side, where the multipliers are unique.
    duals: Mapping[str, float] = field(default_factory=dict)

    @property
    def solvable(self) -> bool:
        """Whether there is an optimum."""
        return not isinstance(self.answer, str)


def model(**parts: Any) -> Build:
    """A pair is the ends of a variable, a number one that is fixed, a function what it returns.

    That is an objective (`goal` is minimised, `gain` maximised), a semidefinite block where it is a
    list, and a row elsewhere, which `inactive` is not to count.
    """

    def build() -> pyo.ConcreteModel:
        m = pyo.ConcreteModel()
        for name, part in parts.items():
            if isinstance(part, tuple):
                ends, domain = part[:2], part[2] if part[2:] else pyo.Reals
                m.add_component(name, pyo.Var(bounds=ends, within=domain))
            elif not callable(part):
                m.add_component(name, pyo.Var())
                m.component(name).fix(part)
            elif name in ("goal", "gain"):
                sense = pyo.minimize if name == "goal" else pyo.maximize
                m.goal = pyo.Objective(expr=part(m), sense=sense)
            elif isinstance(made := part(m), list):
                psd(m, name, made)
            else:
                m.add_component(name, pyo.Constraint(expr=made))
        if m.component("inactive") is not None:
            m.inactive.deactivate()
        return m

    return build


PROBLEMS: list[Problem] = []


def add(
    name: str,
    problem_class: ProblemClass,
    answer: float | str,
    duals: dict[str, float] | None = None,
    **parts: Any,
) -> None:
    known = answer if isinstance(answer, str) else float(answer)
    PROBLEMS.append(Problem(name, problem_class, known, model(**parts), duals or {}))


FREE, POSITIVE, UNIT = (None, None), (0, None), (0, 1)


def whole(low: int | None, high: int | None) -> tuple[Any, ...]:
    return low, high, pyo.Integers


# --- linear programs -----------------------------------------------------------------------------

# Three equations with the one solution (3, 2, 1); 3 + 4 + 3. A'y = c gives y = (2, -1, -1).
add("lp_equations_only", LP, 10, {"total": 2, "first": -1, "second": -1}, x=FREE, y=FREE, z=FREE,
    total=lambda m: m.x + m.y + m.z == 6, first=lambda m: m.x - m.y == 1,
    second=lambda m: m.y - m.z == 1, goal=lambda m: m.x + 2 * m.y + 3 * m.z)  # fmt: skip
# min y - x where -1 <= x - y <= 1: the upper end of a two-sided row.
add("lp_ranges", LP, -1, {"total": 0, "difference": -1}, x=FREE, y=FREE,
    total=lambda m: (1, m.x + m.y, 3), difference=lambda m: (-1, m.x - m.y, 1),
    goal=lambda m: m.y - m.x)  # fmt: skip
# max 3x + 2y, x + y <= 4, x <= 3: (3, 1); a unit more of the sum is a unit of y.
add("lp_maximised", LP, 11, {"total": 2, "slack": 0}, x=(0, 3), y=POSITIVE,
    total=lambda m: m.x + m.y <= 4, slack=lambda m: m.x + 3 * m.y <= 7,
    gain=lambda m: 3 * m.x + 2 * m.y)  # fmt: skip
# 7, wherever one stands.
add("lp_constant_objective", LP, 7, {"total": 0}, x=UNIT, y=UNIT,
    total=lambda m: m.x + m.y >= 1, goal=lambda m: 7.0)  # fmt: skip
# Any feasible point: by convention of value 0.
add("lp_without_objective", LP, 0, x=UNIT, y=UNIT, total=lambda m: m.x + m.y >= 1)
# 5x / 2 - 1 <= 4 is x <= 2, where 6 - 5x is -4; a unit more allows 2/5 more of x. z occurs nowhere.
add("lp_constants_everywhere", LP, -4, {"least": -2}, x=FREE, z=(-1, 1),
    least=lambda m: 5 * m.x / 2 - 1 <= 4, goal=lambda m: 6 - 5 * m.x)  # fmt: skip
# x between 2 and 1.
add("lp_crossed_bounds", LP, INFEASIBLE, x=(2, 1), y=UNIT,
    total=lambda m: m.x + m.y >= 1, goal=lambda m: m.x)  # fmt: skip
# Unbounded along (0, 0, 2, 0, 1), feasible at that point; HiGHS 1.15.1 presolves it away.
add("lp_called_infeasible", LP, UNBOUNDED, a=POSITIVE, b=POSITIVE, c=POSITIVE, d=POSITIVE,
    e=POSITIVE, first=lambda m: (-1, m.a + m.b, 2), second=lambda m: m.a + m.c - m.e >= 1,
    third=lambda m: 3 * m.a + m.d + m.e >= 1, fourth=lambda m: -m.b + m.c / 2 - m.e <= 1,
    goal=lambda m: 2 * m.a + 2 * m.b - 2 * m.c + 2 * m.d)  # fmt: skip

# --- convex quadratic programs -------------------------------------------------------------------

# Squared distance of x + 2y = r from 0 is r^2 / 5: 5 at r = 5, with derivative 2.
add("qp_projection", QP, 5, {"line": 2}, x=FREE, y=FREE,
    line=lambda m: m.x + 2 * m.y == 5, goal=lambda m: m.x**2 + m.y**2)  # fmt: skip
# (x + y - 1)^2 + x with x >= 0 and y free: flat along (1, -1), least at (0, 1).
add("qp_semidefinite", QP, 0, x=POSITIVE, y=FREE, goal=lambda m: (m.x + m.y - 1) ** 2 + m.x)
# x^2 + xy + y^2 - 3x: 2x + y = 3 and x + 2y = 0 at (2, -1), 4 - 2 + 1 - 6.
add("qp_unconstrained", QP, -3, x=FREE, y=FREE,
    goal=lambda m: m.x**2 + m.x * m.y + m.y**2 - 3 * m.x)  # fmt: skip
# 4x - x^2 up to x <= 1 is 3 there, and grows with 4 - 2x = 2.
add("qp_maximised", QP, 3, {"cap": 2}, x=FREE, y=UNIT,
    cap=lambda m: m.x <= 1, gain=lambda m: 4 * m.x - m.x**2 - m.y**2)  # fmt: skip
# x y + x^2 with y fixed at -2: x^2 - 2x is least at 1.
add("qp_fixed_factor", QP, -1, x=(-5, 5), y=-2, goal=lambda m: m.x * m.y + m.x**2)
# w^2 / 2 with w >= 1; a row that asks for w >= 9 is there and not active.
add("qp_inactive_row", QP, 0.5, {"least": 1}, w=FREE,
    least=lambda m: m.w >= 1, inactive=lambda m: m.w >= 9, goal=lambda m: m.w**2 / 2)  # fmt: skip

# --- second-order cones --------------------------------------------------------------------------

# min -x - y on the disc of radius sqrt(2): (1, 1).
add("socp_disc", SOCP, -2, x=(-3, 3), y=(-3, 3), disc=lambda m: m.x**2 + m.y**2 <= 2,
    goal=lambda m: -m.x - m.y)  # fmt: skip
# The norm of (3, 4).
add("socp_norm", SOCP, 5, u=FREE, v=FREE, t=POSITIVE, norm=lambda m: m.u**2 + m.v**2 <= m.t**2,
    first=lambda m: m.u == 3, second=lambda m: m.v == 4, goal=lambda m: m.t)  # fmt: skip
# s + t >= 2 sqrt(s t) >= 2 p >= 4.
add("socp_rotated", SOCP, 4, p=FREE, s=POSITIVE, t=POSITIVE, cone=lambda m: m.p**2 <= m.s * m.t,
    least=lambda m: m.p >= 2, goal=lambda m: m.s + m.t)  # fmt: skip
# Squared distance of (2, 0) from the unit disc.
add("socp_quadratic_objective", SOCP, 1, x=FREE, y=FREE, disc=lambda m: m.x**2 + m.y**2 <= 1,
    goal=lambda m: (m.x - 2) ** 2 + m.y**2)  # fmt: skip
# x + y >= 3 misses the unit disc, on which x + y <= sqrt(2).
add("socp_disc_and_line_apart", SOCP, INFEASIBLE, x=FREE, y=FREE,
    disc=lambda m: m.x**2 + m.y**2 <= 1, line=lambda m: m.x + m.y >= 3,
    goal=lambda m: m.x)  # fmt: skip

# --- semidefinite programs -----------------------------------------------------------------------

# [[x, 1], [1, y]]: x y >= 1, so x + y >= 2.
add("sdp_hyperbola", SDP, 2, x=FREE, y=FREE,
    matrix=lambda m: [[m.x], [1.0, m.y]], goal=lambda m: m.x + m.y)  # fmt: skip
# [[x - 1]] is x >= 1.
add("sdp_one_by_one", SDP, 1, x=FREE, matrix=lambda m: [[m.x - 1]], goal=lambda m: m.x)
# x >= y^2 and z >= 1 / y: y^2 + 1 / y is least at y = 2^(-1/3). y stands off the diagonal.
add("sdp_two_blocks", SDP, 3 * 2 ** (-2 / 3), x=FREE, y=FREE, z=FREE,
    square=lambda m: [[m.x], [m.y, 1.0]], inverse=lambda m: [[m.z], [1.0, m.y]],
    goal=lambda m: m.x + m.z)  # fmt: skip
# x y >= 1 with x <= 1/2 from a quadratic row: 1/2 + 2.
add("sdp_beside_a_disc", SDP, 2.5, x=FREE, y=FREE, matrix=lambda m: [[m.x], [1.0, m.y]],
    disc=lambda m: 4 * m.x**2 <= 1, goal=lambda m: m.x + m.y)  # fmt: skip
# [[x, 1], [1, y]] needs x + y >= 2.
add("sdp_below_its_trace", SDP, INFEASIBLE, x=FREE, y=FREE, matrix=lambda m: [[m.x], [1.0, m.y]],
    trace=lambda m: m.x + m.y <= 1, goal=lambda m: m.x)  # fmt: skip

# --- mixed-integer programs ----------------------------------------------------------------------

# 3x + 5y = 22 has the one solution (4, 2) in whole numbers >= 0.
add("milp_equation", MILP, 6, x=whole(0, None), y=whole(0, None),
    line=lambda m: 3 * m.x + 5 * m.y == 22, goal=lambda m: m.x + m.y)  # fmt: skip
# 2x + 2y <= 5: the sum is whole, so 2.
add("milp_general_integers", MILP, 2, x=whole(-3, 3), y=whole(-3, 3),
    half=lambda m: 2 * m.x + 2 * m.y <= 5, gain=lambda m: m.x + m.y)  # fmt: skip
# 2x + 2y is even.
add("milp_odd_sum", MILP, INFEASIBLE, x=whole(0, 3), y=whole(0, 3),
    odd=lambda m: 2 * m.x + 2 * m.y == 3, goal=lambda m: m.x)  # fmt: skip
# (x - 1/2)^2 + (y - 7/4)^2 with x + y <= 2: at (0, 2), 1/4 + 1/16.
add("miqp_nearest", MIQP, 5 / 16, x=whole(0, 3), y=whole(0, 3), total=lambda m: m.x + m.y <= 2,
    goal=lambda m: (m.x - 0.5) ** 2 + (m.y - 1.75) ** 2)  # fmt: skip
# On x + y = 1 the disc around (1/2, 1/2) is met between x = 1/4 and 3/4 only.
add("misocp_between_whole_numbers", MISOCP, INFEASIBLE, y=UNIT, x=whole(0, 1),
    line=lambda m: m.x + m.y == 1, disc=lambda m: (m.x - 0.5) ** 2 + (m.y - 0.5) ** 2 <= 0.125,
    goal=lambda m: m.x)  # fmt: skip
# p >= 3/2 and whole is 2: s t >= 4, and s + 2 t >= 2 sqrt(2 s t).
add("misocp_rotated", MISOCP, 2 * 8**0.5, s=(0, 50), t=(0, 50), p=whole(-9, 9),
    cone=lambda m: m.p**2 <= m.s * m.t, least=lambda m: 2 * m.p >= 3,
    goal=lambda m: m.s + 2 * m.t)  # fmt: skip

# --- not convex ----------------------------------------------------------------------------------

# x + y >= 0, x - y >= 0, x^2 + y^2 >= 8: the two rays reach the circle at x = 2.
add("lrcp_corners", LRCP, 2, x=(0, 5), y=(-5, 5), above=lambda m: m.x + m.y >= 0,
    below=lambda m: m.x - m.y >= 0, outside=lambda m: m.x**2 + m.y**2 >= 8,
    goal=lambda m: m.x)  # fmt: skip
# The unit box ends at x^2 + y^2 = 2.
add("lrcp_out_of_reach", LRCP, INFEASIBLE, x=(-1, 1), y=(-1, 1),
    outside=lambda m: m.x**2 + m.y**2 >= 9, goal=lambda m: m.x)  # fmt: skip
# x y is bilinear: least at a corner, (-1, 2).
add("nonconvex_product", NONCONVEX, -2, x=(-1, 1), y=(-1, 2), goal=lambda m: m.x * m.y)
# min x + 2y on the unit circle.
add("nonconvex_circle", NONCONVEX, -(5**0.5), x=(-2, 2), y=(-2, 2),
    circle=lambda m: m.x**2 + m.y**2 == 1, goal=lambda m: m.x + 2 * m.y)  # fmt: skip
# x - x^2 over seven whole numbers.
add("nonconvex_integer", NONCONVEX, min(x - x * x for x in range(-2, 5)), x=whole(-2, 4),
    goal=lambda m: m.x - m.x**2)  # fmt: skip
