"""Small problems whose answers are known without a solver: a closed form, or all cases tried here.

Each builder's docstring says why its optimum is what it is. The list is meant to grow: whatever a
solver or a reader once got wrong belongs here, in the smallest form that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo

from tightmargin.formulations import ProblemClass, psd

LP, QP, SOCP, SDP = ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP
MILP, MIQP, MISOCP = ProblemClass.MILP, ProblemClass.MIQP, ProblemClass.MISOCP
LRCP, NONCONVEX = ProblemClass.LRCP, ProblemClass.NONCONVEX

INFEASIBLE, UNBOUNDED = "infeasible", "unbounded"


@dataclass(frozen=True, eq=False)
class Problem:
    """A model and what is known of it.

    Attributes
    ----------
    answer : float or str
        The optimum, or INFEASIBLE or UNBOUNDED.
    duals : mapping
        By row name, d optimum / d right-hand side, where the multipliers are unique.
    """

    name: str
    problem_class: ProblemClass
    answer: float | str
    build: Callable[[], pyo.ConcreteModel]
    duals: Mapping[str, float] = field(default_factory=dict)

    @property
    def solvable(self) -> bool:
        """Whether there is an optimum."""
        return not isinstance(self.answer, str)


PROBLEMS: list[Problem] = []


def problem(
    problem_class: ProblemClass, answer: float | Fraction | str, **duals: float
) -> Callable[[Callable[[], pyo.ConcreteModel]], Callable[[], pyo.ConcreteModel]]:
    """List a builder under its name."""

    def listed(build: Callable[[], pyo.ConcreteModel]) -> Callable[[], pyo.ConcreteModel]:
        known = answer if isinstance(answer, str) else float(answer)
        PROBLEMS.append(Problem(build.__name__, problem_class, known, build, duals))
        return build

    return listed


def variables(**bounds: Any) -> pyo.ConcreteModel:
    """Continuous variables by name with (lower, upper)."""
    m = pyo.ConcreteModel()
    for name, pair in bounds.items():
        m.add_component(name, pyo.Var(bounds=pair))
    return m


FREE, POSITIVE = (None, None), (0, None)


# --- linear programs -----------------------------------------------------------------------------


@problem(LP, 10, total=2, first=-1, second=-1)
def lp_equations_only() -> pyo.ConcreteModel:
    """Three equations with the one solution (3, 2, 1); 3 + 4 + 3. A'y = c gives y = (2, -1, -1)."""
    m = variables(x=FREE, y=FREE, z=FREE)
    m.total = pyo.Constraint(expr=m.x + m.y + m.z == 6)
    m.first = pyo.Constraint(expr=m.x - m.y == 1)
    m.second = pyo.Constraint(expr=m.y - m.z == 1)
    m.goal = pyo.Objective(expr=m.x + 2 * m.y + 3 * m.z)
    return m


@problem(LP, -1, total=0, difference=-1)
def lp_ranges() -> pyo.ConcreteModel:
    """min y - x where -1 <= x - y <= 1: the upper end of a two-sided row."""
    m = variables(x=FREE, y=FREE)
    m.total = pyo.Constraint(expr=(1, m.x + m.y, 3))
    m.difference = pyo.Constraint(expr=(-1, m.x - m.y, 1))
    m.goal = pyo.Objective(expr=m.y - m.x)
    return m


@problem(LP, 11, total=2, slack=0)
def lp_maximised() -> pyo.ConcreteModel:
    """max 3x + 2y, x + y <= 4, x <= 3: (3, 1); a unit more of the sum is a unit of y."""
    m = variables(x=(0, 3), y=POSITIVE)
    m.total = pyo.Constraint(expr=m.x + m.y <= 4)
    m.slack = pyo.Constraint(expr=m.x + 3 * m.y <= 7)
    m.goal = pyo.Objective(expr=3 * m.x + 2 * m.y, sense=pyo.maximize)
    return m


@problem(LP, 7, total=0)
def lp_constant_objective() -> pyo.ConcreteModel:
    """7, wherever one stands."""
    m = variables(x=(0, 1), y=(0, 1))
    m.total = pyo.Constraint(expr=m.x + m.y >= 1)
    m.goal = pyo.Objective(expr=7.0)
    return m


@problem(LP, 0)
def lp_without_objective() -> pyo.ConcreteModel:
    """Any feasible point: by convention of value 0."""
    m = variables(x=(0, 1), y=(0, 1))
    m.total = pyo.Constraint(expr=m.x + m.y >= 1)
    return m


@problem(LP, 1.5, total=1)
def lp_fixed_variable() -> pyo.ConcreteModel:
    """x >= 3 - y with y fixed at 2, and half of y beside: 1 + 1/2."""
    m = variables(x=POSITIVE, y=FREE)
    m.y.fix(2)
    m.total = pyo.Constraint(expr=m.x + m.y >= 3)
    m.goal = pyo.Objective(expr=m.x + m.y / 4)
    return m


@problem(LP, -4, least=-2)
def lp_constants_everywhere() -> pyo.ConcreteModel:
    """5x / 2 - 1 <= 4 is x <= 2, where 6 - 5x is -4; a unit more allows 2/5 more of x."""
    m = variables(x=FREE)
    m.least = pyo.Constraint(expr=5 * m.x / 2 - 1 <= 4)
    m.goal = pyo.Objective(expr=6 - 5 * m.x)
    return m


@problem(LP, INFEASIBLE)
def lp_crossed_bounds() -> pyo.ConcreteModel:
    """x between 2 and 1."""
    m = variables(x=(2, 1), y=(0, 1))
    m.total = pyo.Constraint(expr=m.x + m.y >= 1)
    m.goal = pyo.Objective(expr=m.x)
    return m


@problem(LP, UNBOUNDED)
def lp_called_infeasible() -> pyo.ConcreteModel:
    """Unbounded along (0, 0, 2, 0, 1), feasible at that point; HiGHS 1.15.1 presolves it away."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(5), bounds=(0, None))
    x = m.x
    m.first = pyo.Constraint(expr=(-1, x[0] + x[1], 2))
    m.second = pyo.Constraint(expr=x[0] + x[2] - x[4] >= 1)
    m.third = pyo.Constraint(expr=3 * x[0] + x[3] + x[4] >= 1)
    m.fourth = pyo.Constraint(expr=-x[1] + x[2] / 2 - x[4] <= 1)
    m.goal = pyo.Objective(expr=2 * x[0] + 2 * x[1] - 2 * x[2] + 2 * x[3])
    return m


# --- convex quadratic programs -------------------------------------------------------------------


@problem(QP, 5, line=2)
def qp_projection() -> pyo.ConcreteModel:
    """Squared distance of x + 2y = r from 0 is r^2 / 5: 5 at r = 5, with derivative 2."""
    m = variables(x=FREE, y=FREE)
    m.line = pyo.Constraint(expr=m.x + 2 * m.y == 5)
    m.goal = pyo.Objective(expr=m.x**2 + m.y**2)
    return m


@problem(QP, 0)
def qp_semidefinite() -> pyo.ConcreteModel:
    """(x + y - 1)^2 + x with x >= 0 and y free: flat along (1, -1), least at (0, 1)."""
    m = variables(x=POSITIVE, y=FREE)
    m.goal = pyo.Objective(expr=(m.x + m.y - 1) ** 2 + m.x)
    return m


@problem(QP, -3)
def qp_unconstrained() -> pyo.ConcreteModel:
    """x^2 + xy + y^2 - 3x: 2x + y = 3 and x + 2y = 0 at (2, -1), 4 - 2 + 1 - 6."""
    m = variables(x=FREE, y=FREE)
    m.goal = pyo.Objective(expr=m.x**2 + m.x * m.y + m.y**2 - 3 * m.x)
    return m


@problem(QP, 3, cap=2)
def qp_maximised() -> pyo.ConcreteModel:
    """4x - x^2 up to x <= 1 is 3 there, and grows with 4 - 2x = 2."""
    m = variables(x=FREE, y=(0, 1))
    m.cap = pyo.Constraint(expr=m.x <= 1)
    m.goal = pyo.Objective(expr=4 * m.x - m.x**2 - m.y**2, sense=pyo.maximize)
    return m


@problem(QP, -1)
def qp_fixed_factor() -> pyo.ConcreteModel:
    """x y + x^2 with y fixed at -2: x^2 - 2x is least at 1."""
    m = variables(x=(-5, 5), y=FREE)
    m.y.fix(-2)
    m.goal = pyo.Objective(expr=m.x * m.y + m.x**2)
    return m


@problem(QP, 0.5, least=1)
def qp_inactive_row() -> pyo.ConcreteModel:
    """w^2 / 2 with w >= 1; a row that asks for w >= 9 is there and not active."""
    m = variables(w=FREE)
    m.least = pyo.Constraint(expr=m.w >= 1)
    m.more = pyo.Constraint(expr=m.w >= 9)
    m.more.deactivate()
    m.goal = pyo.Objective(expr=m.w**2 / 2)
    return m


# --- second-order cones --------------------------------------------------------------------------


@problem(SOCP, 5)
def socp_norm() -> pyo.ConcreteModel:
    """The norm of (3, 4)."""
    m = variables(u=FREE, v=FREE, t=POSITIVE)
    m.norm = pyo.Constraint(expr=m.u**2 + m.v**2 <= m.t**2)
    m.first = pyo.Constraint(expr=m.u == 3)
    m.second = pyo.Constraint(expr=m.v == 4)
    m.goal = pyo.Objective(expr=m.t)
    return m


@problem(SOCP, 4)
def socp_rotated() -> pyo.ConcreteModel:
    """s + t >= 2 sqrt(s t) >= 2 p >= 4."""
    m = variables(p=FREE, s=POSITIVE, t=POSITIVE)
    m.cone = pyo.Constraint(expr=m.p**2 <= m.s * m.t)
    m.least = pyo.Constraint(expr=m.p >= 2)
    m.goal = pyo.Objective(expr=m.s + m.t)
    return m


@problem(SOCP, 1)
def socp_quadratic_objective() -> pyo.ConcreteModel:
    """Squared distance of (2, 0) from the unit disc."""
    m = variables(x=FREE, y=FREE)
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 1)
    m.goal = pyo.Objective(expr=(m.x - 2) ** 2 + m.y**2)
    return m


@problem(SOCP, INFEASIBLE)
def socp_disc_and_line_apart() -> pyo.ConcreteModel:
    """x + y >= 3 misses the unit disc, on which x + y <= sqrt(2)."""
    m = variables(x=FREE, y=FREE)
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 1)
    m.line = pyo.Constraint(expr=m.x + m.y >= 3)
    m.goal = pyo.Objective(expr=m.x)
    return m


# --- semidefinite programs -----------------------------------------------------------------------


@problem(SDP, 2)
def sdp_hyperbola() -> pyo.ConcreteModel:
    """[[x, 1], [1, y]]: x y >= 1, so x + y >= 2."""
    m = variables(x=FREE, y=FREE)
    psd(m, "matrix", [[m.x], [1.0, m.y]])
    m.goal = pyo.Objective(expr=m.x + m.y)
    return m


@problem(SDP, 1)
def sdp_one_by_one() -> pyo.ConcreteModel:
    """[[x - 1]] is x >= 1."""
    m = variables(x=FREE)
    psd(m, "matrix", [[m.x - 1]])
    m.goal = pyo.Objective(expr=m.x)
    return m


@problem(SDP, 3 * 2 ** (-2 / 3))
def sdp_two_blocks() -> pyo.ConcreteModel:
    """x >= y^2 and z >= 1 / y: y^2 + 1 / y is least at y = 2^(-1/3). y stands off the diagonal."""
    m = variables(x=FREE, y=FREE, z=FREE)
    psd(m, "square", [[m.x], [m.y, 1.0]])
    psd(m, "inverse", [[m.z], [1.0, m.y]])
    m.goal = pyo.Objective(expr=m.x + m.z)
    return m


@problem(SDP, 2.5)
def sdp_beside_a_disc() -> pyo.ConcreteModel:
    """x y >= 1 with x <= 1/2 from a quadratic row: 1/2 + 2."""
    m = variables(x=FREE, y=FREE)
    psd(m, "matrix", [[m.x], [1.0, m.y]])
    m.disc = pyo.Constraint(expr=4 * m.x**2 <= 1)
    m.goal = pyo.Objective(expr=m.x + m.y)
    return m


@problem(SDP, INFEASIBLE)
def sdp_below_its_trace() -> pyo.ConcreteModel:
    """[[x, 1], [1, y]] needs x + y >= 2."""
    m = variables(x=FREE, y=FREE)
    psd(m, "matrix", [[m.x], [1.0, m.y]])
    m.trace = pyo.Constraint(expr=m.x + m.y <= 1)
    m.goal = pyo.Objective(expr=m.x)
    return m


# --- mixed-integer programs ----------------------------------------------------------------------


@problem(MILP, 6)
def milp_equation() -> pyo.ConcreteModel:
    """3x + 5y = 22 has the one solution (4, 2) in whole numbers >= 0."""
    m = pyo.ConcreteModel()
    m.x, m.y = (pyo.Var(within=pyo.NonNegativeIntegers) for _ in range(2))
    m.line = pyo.Constraint(expr=3 * m.x + 5 * m.y == 22)
    m.goal = pyo.Objective(expr=m.x + m.y)
    return m


@problem(MILP, 2)
def milp_general_integers() -> pyo.ConcreteModel:
    """2x + 2y <= 5: the sum is whole, so 2."""
    m = pyo.ConcreteModel()
    m.x, m.y = (pyo.Var(within=pyo.Integers, bounds=(-3, 3)) for _ in range(2))
    m.half = pyo.Constraint(expr=2 * m.x + 2 * m.y <= 5)
    m.goal = pyo.Objective(expr=m.x + m.y, sense=pyo.maximize)
    return m


@problem(MILP, 8)
def milp_fixed_charge() -> pyo.ConcreteModel:
    """x = 3 needs the switch of price 5."""
    m = variables(x=POSITIVE)
    m.z = pyo.Var(within=pyo.Binary)
    m.least = pyo.Constraint(expr=m.x >= 3)
    m.switch = pyo.Constraint(expr=m.x <= 10 * m.z)
    m.goal = pyo.Objective(expr=m.x + 5 * m.z)
    return m


@problem(MILP, INFEASIBLE)
def milp_odd_sum() -> pyo.ConcreteModel:
    """2x + 2y is even."""
    m = pyo.ConcreteModel()
    m.x, m.y = (pyo.Var(within=pyo.Integers, bounds=(0, 3)) for _ in range(2))
    m.odd = pyo.Constraint(expr=2 * m.x + 2 * m.y == 3)
    m.goal = pyo.Objective(expr=m.x)
    return m


@problem(MIQP, Fraction(5, 16))
def miqp_nearest() -> pyo.ConcreteModel:
    """(x - 1/2)^2 + (y - 7/4)^2 with x + y <= 2: at (0, 2), 1/4 + 1/16."""
    m = pyo.ConcreteModel()
    m.x, m.y = (pyo.Var(bounds=(0, 3), within=pyo.Integers) for _ in range(2))
    m.total = pyo.Constraint(expr=m.x + m.y <= 2)
    m.goal = pyo.Objective(expr=(m.x - 0.5) ** 2 + (m.y - 1.75) ** 2)
    return m


@problem(MIQP, 3)
def miqp_switched() -> pyo.ConcreteModel:
    """w >= 2 - 2 z: 4 without the switch, 0 + 3 with it."""
    m = variables(w=FREE)
    m.z = pyo.Var(within=pyo.Binary)
    m.margin = pyo.Constraint(expr=m.w >= 2 - 2 * m.z)
    m.goal = pyo.Objective(expr=m.w**2 + 3 * m.z)
    return m


@problem(MISOCP, INFEASIBLE)
def misocp_between_whole_numbers() -> pyo.ConcreteModel:
    """On x + y = 1 the disc around (1/2, 1/2) is met between x = 1/4 and 3/4 only."""
    m = variables(y=(0, 1))
    m.x = pyo.Var(bounds=(0, 1), within=pyo.Integers)
    m.line = pyo.Constraint(expr=m.x + m.y == 1)
    m.disc = pyo.Constraint(expr=(m.x - 0.5) ** 2 + (m.y - 0.5) ** 2 <= 0.125)
    m.goal = pyo.Objective(expr=m.x)
    return m


@problem(MISOCP, 2 * 8**0.5)
def misocp_rotated() -> pyo.ConcreteModel:
    """p >= 3/2 and whole is 2: s t >= 4, and s + 2 t >= 2 sqrt(2 s t)."""
    m = variables(s=(0, 50), t=(0, 50))
    m.p = pyo.Var(bounds=(-9, 9), within=pyo.Integers)
    m.cone = pyo.Constraint(expr=m.p**2 <= m.s * m.t)
    m.least = pyo.Constraint(expr=2 * m.p >= 3)
    m.goal = pyo.Objective(expr=m.s + 2 * m.t)
    return m


# --- not convex ----------------------------------------------------------------------------------


@problem(LRCP, 1)
def lrcp_quarter() -> pyo.ConcreteModel:
    """min x + 2y outside the unit disc: (1, 0)."""
    m = variables(x=(0, 2), y=(0, 2))
    m.outside = pyo.Constraint(expr=m.x**2 + m.y**2 >= 1)
    m.goal = pyo.Objective(expr=m.x + 2 * m.y)
    return m


@problem(LRCP, 2)
def lrcp_corners() -> pyo.ConcreteModel:
    """x + y >= 0, x - y >= 0, x^2 + y^2 >= 8: the two rays reach the circle at x = 2."""
    m = variables(x=(0, 5), y=(-5, 5))
    m.above = pyo.Constraint(expr=m.x + m.y >= 0)
    m.below = pyo.Constraint(expr=m.x - m.y >= 0)
    m.outside = pyo.Constraint(expr=m.x**2 + m.y**2 >= 8)
    m.goal = pyo.Objective(expr=m.x)
    return m


@problem(LRCP, INFEASIBLE)
def lrcp_out_of_reach() -> pyo.ConcreteModel:
    """The unit box ends at x^2 + y^2 = 2."""
    m = variables(x=(-1, 1), y=(-1, 1))
    m.outside = pyo.Constraint(expr=m.x**2 + m.y**2 >= 9)
    m.goal = pyo.Objective(expr=m.x)
    return m


@problem(NONCONVEX, -2)
def nonconvex_product() -> pyo.ConcreteModel:
    """x y is bilinear: least at a corner, (-1, 2)."""
    m = variables(x=(-1, 1), y=(-1, 2))
    m.goal = pyo.Objective(expr=m.x * m.y)
    return m


@problem(NONCONVEX, -(5**0.5))
def nonconvex_circle() -> pyo.ConcreteModel:
    """min x + 2y on the unit circle."""
    m = variables(x=(-2, 2), y=(-2, 2))
    m.circle = pyo.Constraint(expr=m.x**2 + m.y**2 == 1)
    m.goal = pyo.Objective(expr=m.x + 2 * m.y)
    return m


@problem(NONCONVEX, min(x - x * x for x in range(-2, 5)))
def nonconvex_integer() -> pyo.ConcreteModel:
    """x - x^2 over seven whole numbers."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(-2, 4), within=pyo.Integers)
    m.goal = pyo.Objective(expr=m.x - m.x**2)
    return m


@problem(NONCONVEX, INFEASIBLE)
def nonconvex_outside_its_box() -> pyo.ConcreteModel:
    """x^2 + y^2 >= 3 and x y <= 1 in the unit box: the first alone is too much."""
    m = variables(x=(-1, 1), y=(-1, 1))
    m.outside = pyo.Constraint(expr=m.x**2 + m.y**2 >= 3)
    m.product = pyo.Constraint(expr=m.x * m.y <= 1)
    m.goal = pyo.Objective(expr=m.x)
    return m
