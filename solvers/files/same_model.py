"""Whether two models say the same, up to the order of rows and columns and the scale of rows.

What no point can tell apart is left out: a row said twice, the weaker of two sides, and columns
that stand in no row and not in the objective.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.modeling.mathematics import between_text, sum_text
from tightmargin.number_words import count_text, number_text
from tightmargin.printing import WIDTH, Page, Printed
from tightmargin.solvers.disjunctive import without_disjunctions
from tightmargin.solvers.engines.mosek import EPIGRAPH
from tightmargin.solvers.model.difference import RowKind, RowTerms, row_terms
from tightmargin.solvers.model.reader import (
    InexactError,
    PsdRow,
    StandardForm,
    refuse_other_objects,
    standard_form,
)
from tightmargin.solvers.model.restated import representable
from tightmargin.solvers.model.rewrites import without_norms, without_quotients

# --- A model as a file states it: without disjunctions, quotients, absolute values and norms -----


def prepared(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """The model, or a copy in which all that has an affine or quadratic form is in it."""
    return without_norms(without_quotients(without_disjunctions(model)))


# --- What a model says, as statements that can be told apart up to a positive factor -------------
#     sum of coefficients times columns and products of two columns >= side
# An equation is two of them and a bound one, each divided by its largest coefficient.


Key = tuple[int, ...]  # entry of a matrix (-1 in a row), then none, one or two columns


@dataclass(frozen=True, eq=False)
class Statement:
    """coefficients on keys, at least `side`; of a semidefinite matrix its entries and order."""

    name: str
    numbers: Mapping[Key, float]
    side: float

    def scaled(self, side: float | None = None) -> Statement:
        """Divided by the largest coefficient, the side as well unless one is given."""
        size = max(map(abs, self.numbers.values()), default=0.0) or 1.0
        numbers = {key: number / size for key, number in self.numbers.items() if number}
        return Statement(self.name, numbers, self.side / size if side is None else side)


@dataclass(frozen=True, eq=False)
class Said:
    """Statements of a model over common columns, by kind."""

    rows: list[Statement]
    matrices: list[Statement]


def goal_of(form: StandardForm, place: Mapping[int, int] | Sequence[int]) -> dict[Key, float]:
    """The objective of the minimisation, with its constant."""
    Q, a = form.objective.Q.tocoo(), form.objective.a
    products = zip(Q.row.tolist(), Q.col.tolist(), Q.data.tolist(), strict=True)
    linear = [(j, float(a[j])) for j in a.nonzero()[0].tolist()]
    return _collected(place, products, linear) | {(-1,): form.objective.constant}


def body_of(row: RowTerms, place: Mapping[int, int] | Sequence[int]) -> dict[Key, float]:
    """The body of a row, without its constant."""
    return _collected(place, row.products, row.linear)


def _collected(
    place: Mapping[int, int] | Sequence[int],
    products: Iterable[tuple[int, int, float]],
    linear: Iterable[tuple[int, float]],
) -> dict[Key, float]:
    found: dict[Key, float] = {}
    for i, j, number in products:
        key = (-1, *sorted((place[i], place[j])))
        found[key] = found.get(key, 0.0) + number
    for j, number in linear:
        found[-1, place[j]] = number
    return found


def said_by(form: StandardForm, place: Mapping[int, int]) -> Said:
    """Rows, bounds and matrices over common columns, what no point can tell apart once."""
    statements: list[Statement] = []
    for j, k in place.items():
        name = f"a bound of {form.columns.name(j)}"
        statements += _both_sides(name, {(-1, k): 1.0}, float(form.lower[j]), float(form.upper[j]))
    rows = [(name, RowKind.LINEAR, k) for k, name in enumerate(form.rows.names())]
    rows += [(row.data.name, RowKind.QUADRATIC, k) for k, row in enumerate(form.quadratic)]
    for name, kind, k in rows:
        row = row_terms(form, kind, k)
        statements += _both_sides(name, body_of(row, place), row.low, row.high)
    matrices = [_matrix(row, place) for row in form.psd]
    statements += [_as_row(each) for each in matrices if each.side == 1]
    return Said(_strongest(statements), [each for each in matrices if each.side != 1])


def _as_row(matrix: Statement) -> Statement:
    """A matrix of order 1 is a number that is not negative."""
    numbers: dict[Key, float] = {
        (-1, key[1]): number for key, number in matrix.numbers.items() if len(key) > 1
    }
    return Statement(matrix.name, numbers, -matrix.numbers.get((0,), 0.0)).scaled()


def _both_sides(
    name: str, body: Mapping[Key, float], low: float, high: float
) -> Iterator[Statement]:
    if low > -np.inf:
        yield Statement(name, body, low).scaled()
    if high < np.inf:
        yield Statement(name, {key: -number for key, number in body.items()}, -high).scaled()


def _strongest(statements: list[Statement]) -> list[Statement]:
    """Of statements with the same coefficients that with the largest side; no true 0 >= s."""
    found: dict[frozenset[tuple[Key, float]], Statement] = {}
    for each in statements:
        key = frozenset(each.numbers.items())
        if (key or each.side > 0) and (key not in found or each.side > found[key].side):
            found[key] = each
    return list(found.values())


def _matrix(row: PsdRow, place: Mapping[int, int]) -> Statement:
    F = row.F.tocoo()
    numbers: dict[Key, float] = {
        (entry, place[j]): number
        for entry, j, number in zip(F.row.tolist(), F.col.tolist(), F.data.tolist(), strict=True)
    }
    numbers |= {(entry,): float(row.g[entry]) for entry in row.g.nonzero()[0].tolist()}
    return Statement(row.data.name, numbers, 0.0).scaled(float(row.order))


def distance(one: Mapping[Key, float], other: Mapping[Key, float]) -> float:
    """Largest difference of two coefficients."""
    keys = {*one, *other}
    return max((abs(one.get(key, 0.0) - other.get(key, 0.0)) for key in keys), default=0.0)


def matched(
    first: list[Statement], second: list[Statement], tolerance: float
) -> tuple[list[tuple[bool, Statement]], float]:
    """Statements of one side alone, and the largest distance within the pairs.

    Statements that are near each other are near in their value at any one point: candidates are
    looked up by that.
    """
    weights: dict[Key, float] = {}
    draw = np.random.default_rng(0)
    for each in (*first, *second):
        for key in each.numbers:
            if key not in weights:
                weights[key] = float(draw.uniform(1.0, 2.0))

    def value(each: Statement) -> float:
        return sum(weights[key] * number for key, number in each.numbers.items()) - each.side

    order = sorted(range(len(second)), key=lambda k: value(second[k]))
    values = [value(second[k]) for k in order]
    free = [True] * len(second)
    alone: list[tuple[bool, Statement]] = []
    largest = 0.0
    for each in first:
        at = value(each)
        reach = 2 * tolerance * (2 * len(each.numbers) + 2 + abs(each.side)) + 1e-12 * abs(at)
        near = range(bisect_left(values, at - reach), bisect_right(values, at + reach))
        apart = [(_apart(each, second[order[k]]), order[k]) for k in near if free[order[k]]]
        off, k = min(apart, default=(np.inf, -1))
        if off <= tolerance:
            free[k] = False
            largest = max(largest, off)
        else:
            alone.append((True, each))
    alone += [(False, each) for each, still in zip(second, free, strict=True) if still]
    return alone, largest


def _apart(one: Statement, other: Statement) -> float:
    side = abs(one.side - other.side) / max(1.0, abs(one.side))
    return max(distance(one.numbers, other.numbers), side)


TOLERANCE = 1e-9
_ODD = re.compile(r"[\W_]+")


@dataclass(frozen=True, eq=False, repr=False)
class SameModel(Printed):
    """What `tightmargin.same_model` returns; true where the models are the same.

    Attributes
    ----------
    differences : tuple of str
        What only one of them says.
    columns_by : str
        "name" or "position": how columns were told apart, and how many of them otherwise.
    largest : float
        Largest difference of a coefficient or side, relative to the largest coefficient of its
        row, among all that were taken for the same.
    """

    differences: tuple[str, ...]
    columns_by: str
    largest: float

    def __bool__(self) -> bool:
        return not self.differences

    def _page(self) -> Page:
        if self.differences:
            title = f"SameModel: False, {count_text(len(self.differences), 'difference')}"
            rows = [(each,) for each in self.differences]
            return Page(title, columns=("what only one of them says",), rows=rows, cell=WIDTH)
        how = "exactly" if not self.largest else f"within {number_text(self.largest)}"
        return Page(f"SameModel: True, {how}, columns matched by {self.columns_by}")


def same_model(
    first: pyo.ConcreteModel, second: pyo.ConcreteModel, *, tolerance: float = TOLERANCE
) -> SameModel:
    """Whether two models say the same, up to order, names of rows and positive factors of rows.

    Made to hold an exported model against its origin: `same_model(model, read_model(file))`.
    What a change does is told by `diff`; here a row that follows from others still counts.

    Parameters
    ----------
    first, second : ConcreteModel
        With disjunctions, quotients and norms they are compared as `export` states them. Columns
        go by name, `w[0]` and `w(0)` being one, and by position where the names of the two are
        others: all of them, or those that are left. Neither is changed.
    tolerance : float
        How far a coefficient or a side may be off, relative to the largest coefficient of its
        row. Files hold doubles exactly; factors of cones are rounded.

    Returns
    -------
    SameModel
        True or false, with the differences in words.

    Raises
    ------
    TypeError
        Something that is no Pyomo model.
    ValueError
        A tolerance that is no number from 0 to 1, functions beyond degree two, or a variable of
        one of them that is named as the column above an objective in conic files: a file that held
        it no longer does.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> first, second = tm.c_svc(data, C=1.0), tm.c_svc(data, C=1.0)
    >>> second.w[0].setlb(0.5)
    >>> tm.same_model(first, second).differences
    ('the second alone has a bound of w[0]: w[0] >= 0.5',)
    """
    refuse_other_objects("same_model", first, "first")
    refuse_other_objects("same_model", second, "second")
    if not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must be a number from 0 to 1, got {tolerance!r}")
    models = [prepared(first), prepared(second)]  # their parts know them as long as they are held
    stated = [representable(model) for model in models]
    found = _compared([_quadratic(model, form) for model, form in stated], tolerance)
    if not found and any(
        copy is not model for (copy, _), model in zip(stated, models, strict=True)
    ):
        with contextlib.suppress(InexactError):  # then only its copy can be compared
            return _compared(
                [_quadratic(model, standard_form(model)) for model in models], tolerance
            )
    return found


def _compared(forms: Sequence[StandardForm], tolerance: float) -> SameModel:
    names = [form.columns.names() for form in forms]
    _refuse_epigraphs(names)
    differences: list[str] = []
    active = _active_in_either(forms, names)
    spoken = [_canonical(each, known) for each, known in zip(names, active, strict=True)]
    by_name = all(len(set(each.values())) == len(each) for each in spoken) and bool(
        set(spoken[0].values()) & set(spoken[1].values()) or not spoken[0] or not spoken[1]
    )
    lost = _paired_leftovers(spoken) if by_name else 0
    if by_name:
        numbers = {name: k for k, name in enumerate(sorted(set().union(*map(dict.values, spoken))))}
        places = [{j: numbers[name] for j, name in each.items()} for each in spoken]
    else:
        places = [{j: j for j in each} for each in active]
    shown: dict[int, str] = {}
    for each, place in zip(names, places, strict=True):
        shown |= {k: each[j] for j, k in place.items() if k not in shown}
    for k in sorted(set(places[0].values()) ^ set(places[1].values())):
        differences.append(f"{shown[k]} is a variable of {_whose(k in places[0].values())} alone")
    said = [said_by(form, place) for form, place in zip(forms, places, strict=True)]
    differences += _integers(forms, places, shown)
    goals = [goal_of(form, place) for form, place in zip(forms, places, strict=True)]
    sizes = [abs(number) for goal in goals for number in goal.values()]
    largest = distance(*goals) / (max(sizes, default=0.0) or 1.0)
    if forms[0].sense != forms[1].sense:
        differences.append("one of the two maximises")
    elif largest > tolerance:
        texts = " and ".join(_sum(goal, shown) or "0" for goal in goals)
        differences.append(f"the objectives are {texts}")
    if largest > tolerance:
        largest = 0.0
    for kind in ("rows", "matrices"):
        alone, off = matched(getattr(said[0], kind), getattr(said[1], kind), tolerance)
        largest = max(largest, off)
        differences += [
            f"{_whose(is_first)} alone has {statement.name}: {_text(statement, shown)}"
            for is_first, statement in alone
        ]
    columns_by = "name" if by_name else "position"
    if lost:
        columns_by += f", {count_text(lost, 'column')} of other names by position"
    return SameModel(tuple(differences), columns_by, largest)


def _refuse_epigraphs(names: Sequence[Sequence[str]]) -> None:
    """Refuse a column that a file may have lost in the objective."""
    own = [{name for name in each if name.startswith(EPIGRAPH)} for each in names]
    if alone := sorted(own[0] ^ own[1]):
        raise ValueError(
            f"cannot tell: {alone[0]} is a variable of {_whose(alone[0] in own[0])} alone, and in "
            "cbf, dat-s and task files that name is taken for the column above a quadratic "
            "objective, which is put back; give the variable another name before it is exported"
        )


def _whose(is_first: bool) -> str:
    return "the first" if is_first else "the second"


def _quadratic(model: pyo.ConcreteModel, form: StandardForm) -> StandardForm:
    """The form, where it says all of the model."""
    if form.nonlinear:
        raise ValueError(
            f"{form.nonlinear[0].name} of {model.name} is neither affine nor quadratic: only such "
            "models are compared"
        )
    return form


# --- columns --------------------------------------------------------------------------------------


def _active(form: StandardForm) -> list[int]:
    """Columns that matter: in a row or the objective, or without a value they may take."""
    found = np.zeros(form.n, dtype=bool)
    found[form.A.indices] = True
    found[form.objective.a.nonzero()] = True
    found[form.objective.Q.indices] = True
    for row in form.quadratic:
        found[row.body.index] = True
    for matrix in form.psd:
        found[matrix.F.indices] = True
    lower, upper = form.lower.copy(), form.upper.copy()
    lower[form.integer] = np.ceil(lower[form.integer])
    upper[form.integer] = np.floor(upper[form.integer])
    found |= lower > upper
    return [int(j) for j in np.flatnonzero(found)]


def _active_in_either(
    forms: Sequence[StandardForm], names: Sequence[Sequence[str]]
) -> list[list[int]]:
    """Columns of each that matter in it or in the other: a row of one column may be a bound there.

    By name where the two have any in common, by position otherwise.
    """
    active = [_active(form) for form in forms]
    spoken = [_canonical(each, range(len(each))) for each in names]
    if not set(spoken[0].values()) & set(spoken[1].values()):
        spoken = [{j: str(j) for j in each} for each in spoken]
    known = {each[j] for each, own in zip(spoken, active, strict=True) for j in own}
    return [[j for j, name in each.items() if name in known] for each in spoken]


def _canonical(names: Sequence[str], columns: Sequence[int]) -> dict[int, str]:
    return {j: _ODD.sub("_", names[j]).strip("_") for j in columns}


def _paired_leftovers(spoken: list[dict[int, str]]) -> int:
    """Give columns whose names the other model does not have one name, in order; how many.

    Files write a label that they cannot hold in another way. Nothing is done where the two models
    have not equally many of such columns.
    """
    left = [
        [j for j, name in sorted(each.items()) if name not in set(other.values())]
        for each, other in (spoken, reversed(spoken))
    ]
    if len(left[0]) != len(left[1]):
        return 0
    for j, k in zip(*left, strict=True):
        spoken[1][k] = spoken[0][j]
    return len(left[0])


def _integers(
    forms: Sequence[StandardForm], places: Sequence[Mapping[int, int]], shown: Mapping[int, str]
) -> Iterator[str]:
    whole = [
        {place[j] for j in np.flatnonzero(form.integer).tolist() if j in place}
        for form, place in zip(forms, places, strict=True)
    ]
    shared = set(places[0].values()) & set(places[1].values())
    for k in sorted((whole[0] ^ whole[1]) & shared):
        yield f"{shown[k]} is an integer in {_whose(k in whole[0])} alone"


# --- words ----------------------------------------------------------------------------------------


def _text(statement: Statement, shown: Mapping[int, str]) -> str:
    if any(key[0] >= 0 for key in statement.numbers):
        return f"a matrix of order {round(statement.side)} is positive semidefinite"
    return between_text(statement.side, _sum(statement.numbers, shown) or "0", np.inf)


def _sum(numbers: Mapping[Key, float], shown: Mapping[int, str]) -> str:
    terms = []
    for (_, *columns), number in numbers.items():
        if number:
            square = len(columns) == 2 and columns[0] == columns[1]
            words = [shown[columns[0]] + "^2"] if square else [shown[k] for k in columns]
            terms.append((number, " ".join(words)))
    return sum_text(terms)
