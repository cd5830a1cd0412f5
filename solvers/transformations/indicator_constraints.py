"""Indicator constraints: a binary variable at 1 implies a linear row, and no constant is needed.

To Pyomo, and to every certificate, the row is the product  y (side - <a, x>) <= 0,  which says the
same at y in {0, 1}. A solver with indicator constraints gets  y = 1  ->  <a, x> >= side  instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.core.base.constraint import Constraint, IndexedConstraint
from pyomo.gdp import Disjunct, Disjunction

from tightmargin.solvers.standard_form.quadratic import QuadraticRow
from tightmargin.solvers.standard_form.standard_form import StandardForm

ROWS = "implied"  # component that holds the rows, beside the disjunctions


class ImpliedRows(IndexedConstraint):
    """Rows  y (side - <a, x>) <= 0;  `indicator` maps each index to its y."""

    def __init__(self, index: pyo.Set, indicator: dict[int, Any], rows: dict[int, Any]) -> None:
        self.indicator = indicator
        super().__init__(index, rule=lambda _, k: rows[k], ctype=Constraint)


@dataclass(frozen=True, eq=False)
class Implication:
    """y = 1 implies <a, x> <= side.

    Attributes
    ----------
    binary : int
        Column of y.
    columns, a : arrays (k,)
        Columns and coefficients of the row.
    """

    binary: int
    columns: NDArray[np.int64]
    a: NDArray[np.float64]
    side: float


def to_indicators(model: pyo.ConcreteModel) -> None:
    """Replace the disjunctions of a model by binary variables and implied rows, in place.

    Every disjunct keeps its binary variable; exactly one is 1 (at least one when a disjunction is
    not exclusive), and it implies the linear rows of its disjunct.

    Raises
    ------
    ValueError
        A disjunct holds a row that is not linear, or another disjunction.
    """
    indicator: dict[int, Any] = {}
    rows: dict[int, Any] = {}
    choices: list[Any] = []
    for disjunction in list(model.component_data_objects(Disjunction, active=True)):
        one = sum(part.binary_indicator_var for part in disjunction.disjuncts)
        choices.append(one == 1 if disjunction.xor else one >= 1)
        for part in disjunction.disjuncts:
            for written in _sides(part):
                k = len(rows)
                indicator[k], rows[k] = part.binary_indicator_var, written
            part._deactivate_without_fixing_indicator()
        disjunction.deactivate()
    model.choices = pyo.ConstraintList()
    for choice in choices:
        model.choices.add(choice)
    model.add_component(ROWS, ImpliedRows(pyo.RangeSet(0, len(rows) - 1), indicator, rows))


def _sides(part: Any) -> list[Any]:
    """Rows of a disjunct as products with its binary variable."""
    if any(True for _ in part.component_data_objects(Disjunction, active=True)):
        raise ValueError(f"transformation=indicator: {part.name} holds another disjunction")
    y, found = part.binary_indicator_var, []
    for row in part.component_data_objects(
        pyo.Constraint, active=True, descend_into=(pyo.Block, Disjunct)
    ):
        low, body, high = row.to_bounded_expression()
        if body.polynomial_degree() != 1:
            raise ValueError(f"transformation=indicator takes linear rows, and {row.name} is none")
        found += [] if low is None else [y * (low - body) <= 0]
        found += [] if high is None else [y * (body - high) <= 0]
    return found


def is_implied(row: QuadraticRow) -> bool:
    """Whether a quadratic row of a standard form stands for an indicator constraint."""
    return isinstance(row.data.parent_component(), ImpliedRows)


def implication(form: StandardForm, row: QuadraticRow) -> Implication:
    """An implied row in numbers, from its own product: y (side - <a, x>) <= 0."""
    body = row.body
    binary = form.columns.column(row.data.parent_component().indicator[row.data.index()])
    y = int(np.flatnonzero(body.index == binary)[0])
    a = np.zeros(len(body.index))
    np.add.at(a, np.where(body.i == y, body.j, body.i), body.v)
    others = np.arange(len(body.index)) != y
    return Implication(binary, body.index[others], a[others], -float(body.a[y]))


def gurobi_with_indicators() -> Any:
    """Pyomo's interface to Gurobi, with implied rows handed over as indicator constraints."""
    from pyomo.contrib.solver.solvers.gurobi.gurobi_persistent import GurobiPersistent

    class Gurobi(GurobiPersistent):
        """Exchanges the products after the model is made and before it is solved."""

        def _create_solver_model(self, pyomo_model: Any, config: Any) -> Any:
            made = super()._create_solver_model(pyomo_model, config)
            solver_model, columns = self._solver_model, self._pyomo_var_to_solver_var_map
            solver_model.update()
            for component in pyomo_model.component_objects(pyo.Constraint, active=True):
                if not isinstance(component, ImpliedRows):
                    continue
                for k, row in component.items():
                    y, terms = columns[component.indicator[k]], []
                    product = solver_model.getQCRow(self._pyomo_con_to_solver_con_map[row])
                    linear = product.getLinExpr()
                    for t in range(product.size()):
                        one, other = product.getVar1(t), product.getVar2(t)
                        x = other if one.sameAs(y) else one
                        terms.append((product.getCoeff(t), x))
                    side = sum(linear.getCoeff(t) for t in range(linear.size()))
                    solver_model.remove(self._pyomo_con_to_solver_con_map[row])
                    implied = sum(a * x for a, x in terms)
                    solver_model.addGenConstrIndicator(y, True, implied <= -side)
            solver_model.update()
            return made

    return Gurobi()
