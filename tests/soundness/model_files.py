"""Model files that are drawn as decimal numbers: the model that is read is the one that is written.

lp, mps   every number compared with the double nearest to what is written; the optimum with
          that of all points of the box, and with HiGHS, SCIP and Gurobi on the same file
task, ptf the same numbers, written by MOSEK
cbf       cones, at every point of the box;  dat-s  a matrix and rows, at points of a grid
broken    a line that says nothing, or two things: it is refused
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables
from pyomo.repn import generate_standard_repn

import tightmargin as tm
from tests.inside.formulations import psd_entries
from tests.inside.solvers import SOLVERS
from tests.soundness.asking import SECONDS, said_by
from tests.soundness.judge import Answer, Case, Kind, Truth, found_out, infeasible, optimum

Numbers = dict[tuple[int, ...], str]  # decimal numbers of products, columns and the constant ()
PLAIN = ("1", "-1", "2", "-3", "5", ".5", "-2.25", "1.75e1", "-4.", "+3")
ODD = (
    "0.1", "-0.3", "1e-10", "-1e-10", "123456789.123456789", "1e15", "3.3333333333333335", "7e-3",
)  # fmt: skip
FAR = ("1e20", "1e25", "-3e22")


@dataclass
class Line:
    """lower <= a sum <= upper; None is no side."""

    numbers: Numbers
    lower: str | None
    upper: str | None


@dataclass
class Drawn:
    """A model in decimal numbers; `kinds` are "real", "integer" or "binary"."""

    goal: Numbers
    rows: list[Line] = field(default_factory=list)
    lower: list[str | None] = field(default_factory=list)
    upper: list[str | None] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    maximise: bool = False

    def bounds(self, j: int) -> tuple[float, float]:
        low, high = _side(self.lower[j], -1), _side(self.upper[j], 1)
        return (max(low, 0.0), min(high, 1.0)) if self.kinds[j] == "binary" else (low, high)


def _side(word: str | None, sign: int) -> float:
    number = math.inf * sign if word is None else float(word)
    return number if abs(number) < 1e30 else math.copysign(math.inf, number)


def plus(first: str, second: str) -> str:
    """The sum of two decimal numbers, with all of its digits."""
    total = Fraction(Decimal(first)) + Fraction(Decimal(second))
    digits = max(-int(Decimal(word).as_tuple().exponent) for word in (first, second))
    scaled = total * 10 ** max(digits, 0)
    assert scaled.denominator == 1
    return f"{scaled.numerator}e-{max(digits, 0)}"


def minus(word: str) -> str:
    return word[1:] if word[0] == "-" else f"-{word.lstrip('+')}"


class _Draw:
    """Numbers, sums and sides at random; plain ones are of a few digits."""

    def __init__(self, rng: np.random.Generator, *, plain: bool, products: bool) -> None:
        self.rng, self.plain, self.products = rng, plain, products

    def some(self, *words: str) -> str:
        return str(self.rng.choice(words))

    def number(self) -> str:
        return self.some(*PLAIN) if self.plain or self.rng.random() < 0.5 else self.some(*ODD)

    def numbers(self, n: int) -> Numbers:
        chosen = self.rng.choice(n, size=int(self.rng.integers(1, n + 1)), replace=False)
        found: Numbers = {(int(j),): self.number() for j in sorted(chosen)}
        if self.products and self.rng.random() < 0.5:
            i, j = sorted(self.rng.integers(n, size=2).tolist())
            found[i, j] = self.number()
        return found

    def bounds(self, kind: str) -> tuple[str | None, str | None]:
        if kind == "binary":
            # HiGHS has ways of its own with bounds of binaries beyond 0 and 1.
            return self.some("0", "0", "1") if self.plain else self.some("-2", "0", "1"), "1"
        low, high = str(self.rng.integers(-3, 2)), str(self.rng.integers(1, 4))
        if self.plain:
            return low, high
        low, high = self.some(low, "-.3", "0", "-1e30"), self.some(high, "4.7", "1e30", "1e5")
        without = self.rng.random(2) < (0.2, 0.3)
        return None if without[0] else low, None if without[1] else high

    def line(self, n: int) -> Line:
        side = self.number()
        far = self.some(*FAR) if not self.plain and self.rng.random() < 0.15 else side
        sides: tuple[tuple[str | None, str | None], ...] = (
            (side, side), (far, None), (None, "1e30" if far == FAR[0] else far),
            (side, plus(side, self.number().lstrip("-+"))),
        )  # fmt: skip
        return Line(self.numbers(n), *sides[int(self.rng.integers(4))])


def drawn(rng: np.random.Generator, *, plain: bool, products: bool) -> Drawn:
    """A few columns and rows; plain ones are integers in a small box."""
    draw = _Draw(rng, plain=plain, products=products)
    n = int(rng.integers(1, 4))
    model = Drawn(draw.numbers(n), maximise=bool(rng.random() < 0.5))
    for _ in range(n):
        model.kinds.append(draw.some("integer", "binary", *([] if plain else ["real"] * 2)))
        low, high = draw.bounds(model.kinds[-1])
        model.lower.append(low)
        model.upper.append(high)
    # LP files have a row at least.
    model.rows = [draw.line(n) for _ in range(rng.integers(1, 4))]
    if not plain and rng.random() < 0.5:
        model.goal[()] = draw.number()
    return model


class _LpWriter:
    """Lines of an LP file; of a plain one as all readers take them."""

    def __init__(self, rng: np.random.Generator, *, plain: bool) -> None:
        self.rng, self.plain = rng, plain

    def some(self, *words: str) -> str:
        return str(self.rng.choice(words))

    def sum(self, numbers: Numbers, *, half: bool) -> str:
        words = [f"{_signed(v)} x{key[0]}" for key, v in numbers.items() if len(key) == 1]
        squares = []
        for key, v in numbers.items():
            if len(key) == 2:
                i, j = key
                name = f"x{i}^2" if i == j else f"x{i} * x{j}"  # SCIP reads no blanks there
                squares.append(f"{_signed(plus(v, v) if half else v)} {name}")
        if squares:
            words.append(f"+ [ {' '.join(squares)} ]{' / 2' if half else ''}")
        if half and () in numbers:
            words.append(_signed(numbers[()]))
        return (" " if self.plain else self.some(" ", "\n  ")).join(words)

    def row(self, k: int, line: Line) -> Iterator[str]:
        body, low, high = self.sum(line.numbers, half=False), line.lower, line.upper
        turned = not self.plain and self.rng.random() < 0.4
        if not self.plain and self.rng.random() < 0.3:
            shift = self.some(*ODD)
            body += f" {_signed(shift)}"
            low, high = (None if side is None else plus(side, shift) for side in (low, high))
        if low is None:
            yield f" r{k}: {high} >= {body}" if turned else f" r{k}: {body} <= {high}"
        elif high is None:
            yield f" r{k}: {low} =< {body}" if turned else f" r{k}: {body} >= {low}"
        elif line.lower == line.upper:
            yield f" r{k}: {body} = {low}"
        elif turned:
            yield f" r{k}: {low} <= {body} <= {high}"
        else:
            yield from (f" r{k}a: {body} >= {low}", f" r{k}b: {body} <= {high}")

    def bound(self, j: int, low: str | None, high: str | None) -> Iterator[str]:
        if low is None and high is None:
            yield f" x{j} free"
        elif low is not None and high is not None and self.rng.random() < 0.5:
            yield f" {low} <= x{j} <= {high}"
        else:
            yield f" x{j} >= {'-inf' if low is None else low}"
            yield f" x{j} <= {'+infinity' if high is None else high}"


def lp_text(model: Drawn, rng: np.random.Generator, *, plain: bool) -> str:
    """As an LP file; a plain one as all readers take it."""
    writer = _LpWriter(rng, plain=plain)
    lines = ["\\ drawn", "MAXIMIZE" if model.maximise else writer.some("Minimize", "min")]
    lines += [f" obj: {writer.sum(model.goal, half=True)}", writer.some("Subject To", "st", "s.t.")]
    lines += [text for k, line in enumerate(model.rows) for text in writer.row(k, line)]
    lines.append("Bounds")
    for j, (low, high) in enumerate(zip(model.lower, model.upper, strict=True)):
        lines += writer.bound(j, low, high)
    for kind, heading in (("integer", "General"), ("binary", "Binary")):
        names = [f" x{j}" for j, each in enumerate(model.kinds) if each == kind]
        lines += [heading, *names] if names else []
    return "\n".join([*lines, "End", ""])


def _signed(word: str) -> str:
    return f"- {word[1:]}" if word[0] == "-" else f"+ {word.lstrip('+')}"


def mps_text(model: Drawn, rng: np.random.Generator) -> str:
    """As an MPS file; binaries that are at least 0 and at most 1 are BV."""
    heads, sides, widths, squares = [" N cost"], [], [], []
    if () in model.goal:
        sides.append(("cost", minus(model.goal[()])))
    for k, line in enumerate(model.rows):
        low, high = line.lower, line.upper
        kind = "E" if low == high else "G" if high is None else "L" if low is None else "GLE"
        side = low if low is not None else high
        if kind == "GLE":
            width = plus(str(high), minus(str(low)))
            kind = str(rng.choice(["G", "L", "E"]))
            down = kind == "L" or (kind == "E" and rng.random() < 0.5)
            side = high if down else low
            widths.append((f"r{k}", minus(width) if kind == "E" and down else width))
        heads.append(f" {kind} r{k}")
        sides.append((f"r{k}", str(side)))
        matrix = [(key, v) for key, v in line.numbers.items() if len(key) == 2]
        squares += [f"QCMATRIX r{k}"] if matrix else []
        for (i, j), v in matrix:
            half = [f" x{i} x{j} {half_of(v)}", f" x{j} x{i} {half_of(v)}"]
            squares += [f" x{i} x{j} {v}"] if i == j else half
    matrix = [(key, v) for key, v in model.goal.items() if len(key) == 2]
    of_goal = [f" x{i} x{j} {plus(v, v) if i == j else v}" for (i, j), v in matrix]
    squares = ["QUADOBJ", *of_goal, *squares] if matrix else squares
    lines = ["* drawn", "NAME drawn", "OBJSENSE", "    MAX" if model.maximise else "    MIN"]
    lines += ["ROWS", *heads, "COLUMNS"]
    for whole in (False, True):
        chosen = [j for j, kind in enumerate(model.kinds) if (kind == "integer") == whole]
        lines += [" M 'MARKER' 'INTORG'"] if whole and chosen else []
        for j in chosen:
            entries = [("cost", model.goal.get((j,), "0"))]
            entries += [
                (f"r{k}", r.numbers[j,]) for k, r in enumerate(model.rows) if (j,) in r.numbers
            ]
            lines += _packed(f"x{j}", entries, rng)
        lines += [" M 'MARKER' 'INTEND'"] if whole and chosen else []
    lines += ["RHS", *_packed("R", sides, rng), "RANGES", *_packed("S", widths, rng), "BOUNDS"]
    for j, kind in enumerate(model.kinds):
        low, high = model.lower[j], model.upper[j]
        beside = " 1" if rng.random() < 0.5 else ""
        if kind == "binary" and model.bounds(j) == (0.0, 1.0):
            lines.append(f" BV B x{j}{beside}")
        elif low is None and high is None:
            lines.append(f" FR B x{j}{beside}")
        else:
            ends = model.bounds(j) if kind == "binary" else (low, high)
            letters = ("LI", "UI") if kind == "binary" else ("LO", "UP")
            lines.append(f" MI B x{j}{beside}" if low is None and kind != "binary" else
                         f" {letters[0]} B x{j} {ends[0]}")  # fmt: skip
            lines.append(f" PL B x{j}{beside}" if high is None and kind != "binary" else
                         f" {letters[1]} B x{j} {ends[1]}")  # fmt: skip
    return "\n".join([*lines, *squares, "ENDATA", ""])


def half_of(word: str) -> str:
    return f"{Decimal(word) / 2:e}"


def _packed(name: str, entries: list[tuple[str, str]], rng: np.random.Generator) -> Iterator[str]:
    """Entries by one or two on a line."""
    rest = list(entries)
    while rest:
        count = 2 if rng.random() < 0.5 else 1
        yield f" {name} {' '.join(f'{row} {word}' for row, word in rest[:count])}"
        rest = rest[count:]


def write_task(model: Drawn, file: Path) -> None:
    """Through MOSEK, without products."""
    import mosek

    keys = mosek.boundkey

    def bound(low: float, high: float) -> tuple[Any, float, float]:
        if low == high:
            return keys.fx, low, high
        key = [[keys.fr, keys.lo], [keys.up, keys.ra]][math.isfinite(high)][math.isfinite(low)]
        return key, low if math.isfinite(low) else 0.0, high if math.isfinite(high) else 0.0

    with mosek.Env() as env, env.Task() as task:
        task.appendvars(len(model.kinds))
        task.appendcons(len(model.rows))
        task.putobjsense(getattr(mosek.objsense, "maximize" if model.maximise else "minimize"))
        for j, kind in enumerate(model.kinds):
            task.putvarname(j, f"x{j}")
            task.putcj(j, float(model.goal.get((j,), "0")))
            task.putvarbound(j, *bound(*model.bounds(j)))
            if kind != "real":
                task.putvartype(j, mosek.variabletype.type_int)
        task.putcfix(float(model.goal.get((), "0")))
        for k, line in enumerate(model.rows):
            task.putconname(k, f"r{k}")
            task.putarow(
                k, [key[0] for key in line.numbers], list(map(float, line.numbers.values()))
            )
            task.putconbound(k, *bound(_side(line.lower, -1), _side(line.upper, 1)))
        task.writedata(str(file))


def misread(model: Drawn, found: pyo.ConcreteModel) -> str:
    """The first number that is not the double nearest to what is written."""
    for j, kind in enumerate(model.kinds):
        variable = found.component(f"x{j}")
        if variable is None:
            if any(j in key for row in model.rows for key in row.numbers):
                return f"x{j} is not there"
            continue
        low, high = (-math.inf if variable.lb is None else variable.lb,
                     math.inf if variable.ub is None else variable.ub)  # fmt: skip
        if (low, high) != model.bounds(j) or variable.is_continuous() != (kind == "real"):
            return f"x{j} in [{low}, {high}], {variable.domain.name}: it is {kind}"
    goal, constant = _numbers(found.objective.expr)
    if (found.objective.sense == pyo.maximize) != model.maximise:
        return "the sense"
    if goal != _doubles(model.goal) or constant != float(model.goal.get((), "0")):
        return f"the objective {goal} + {constant}"
    return _misread_rows(model, found)


def _misread_rows(model: Drawn, found: pyo.ConcreteModel) -> str:
    counted: Counter[Any] = Counter()
    for row in found.component_data_objects(pyo.Constraint, active=True):
        body, constant = _numbers(row.body)
        for sense, side in ((">=", row.lower), ("<=", row.upper)):
            if side is not None and body:
                exact = Fraction(pyo.value(side)) - Fraction(constant)
                counted[frozenset(body.items()), sense, exact] += 1
    for line in model.rows:
        body = _doubles(line.numbers)
        for sense, side in ((">=", _side(line.lower, -1)), ("<=", _side(line.upper, 1))):
            if math.isfinite(side):
                counted[frozenset(body.items()), sense, Fraction(side)] -= 1
    odd = [
        f"{'another' if count > 0 else 'no'} row {dict(key)} {sense} {float(side)!r}"
        for (key, sense, side), count in counted.items()
        if count
    ]
    return odd[0] if odd else ""


def _doubles(numbers: Numbers) -> dict[tuple[int, ...], float]:
    return {key: float(word) for key, word in numbers.items() if key}


def _numbers(expression: Any) -> tuple[dict[tuple[int, ...], float], float]:
    body = generate_standard_repn(expression, quadratic=True)
    assert body.nonlinear_expr is None
    found: dict[tuple[int, ...], float] = {
        (int(v.name[1:]),): c for v, c in zip(body.linear_vars, body.linear_coefs, strict=True)
    }
    for (v, w), c in zip(body.quadratic_vars, body.quadratic_coefs, strict=True):
        i, j = sorted((int(v.name[1:]), int(w.name[1:])))
        found[i, j] = c
    return found, body.constant


def best(model: Drawn) -> Fraction | None:
    """Of all points of a box of integers, in rational numbers."""
    ends = [model.bounds(j) for j in range(len(model.kinds))]
    boxes = [range(math.ceil(low), math.floor(high) + 1) for low, high in ends]

    def value(numbers: Numbers, x: tuple[int, ...]) -> Fraction:
        terms = (Fraction(float(v)) * math.prod(x[j] for j in key) for key, v in numbers.items())
        return sum(terms, Fraction(0))

    rows = [(line.numbers, _side(line.lower, -1), _side(line.upper, 1)) for line in model.rows]
    values = [
        value(model.goal, x)
        for x in itertools.product(*boxes)
        if all(low <= value(body, x) <= high for body, low, high in rows)
    ]
    return (max if model.maximise else min)(values, default=None)


def by_highs(file: Path) -> float | None:
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(file)) != highspy.HighsStatus.kError
    highs.run()
    found = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs.getInfo().objective_function_value if found else None


def by_scip(file: Path) -> float | None:
    import pyscipopt

    scip = pyscipopt.Model()
    scip.hideOutput(True)
    scip.readProblem(str(file))
    scip.optimize()
    return float(scip.getObjVal()) if scip.getStatus() == "optimal" else None


def by_gurobi(file: Path) -> float | None:
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.read(str(file), env=env) as model:
        model.optimize()
        return float(model.ObjVal) if model.Status == gurobipy.GRB.OPTIMAL else None


READERS: dict[str, Callable[[Path], float | None]] = {
    "highs": by_highs, "scip": by_scip, "gurobi": by_gurobi,
}  # fmt: skip


def others(file: Path, value: Fraction | None, *, products: bool) -> str:
    """Who reads a plain file as a model of another optimum."""
    for name, reader in READERS.items():
        if not SOLVERS[name].installed or (products and name == "highs"):
            continue
        found = reader(file)
        same = found is value  # both None
        if found is not None and value is not None:
            same = abs(Fraction(found) - value) <= Fraction(1, 10**5) * max(1, abs(value))
        if not same:
            return f"{name} has {found}, and all points {value if value is None else float(value)}"
    return ""


def file_case(rng: np.random.Generator, index: int) -> Case:
    """By turns: plain and odd lp and mps files, cbf, dat-s, task or ptf, and a broken one."""
    kinds = (_plain, _odd, _conic, _plain, _odd, _matrix, _task, _broken)
    return kinds[index % len(kinds)](rng, index)


def _with_file(suffix: str, text: str, ask: Callable[[Path], Answer]) -> Case:
    def run() -> list[Answer]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"drawn{suffix}"
            file.write_text(text)
            return [ask(file)]

    return Case(f"{suffix} file", run)


def _solved(label: str, model: pyo.ConcreteModel, truth: Truth, extra: str) -> Answer:
    said = said_by(tm.solve(model, time_limit=SECONDS), model)
    # A quadratic row beside linear ones has NaN among their Farkas multipliers.
    numbers = {name: value for name, value in said.numbers.items() if name != "duals"}
    return Answer(label, replace(said, numbers=numbers), truth, extra)


def _text(
    rng: np.random.Generator, *, plain: bool, products: float, suffix: str = ""
) -> tuple[Drawn, str, str]:
    """A model, the name of a format, and its text in it; products for a share of the models."""
    model = drawn(rng, plain=plain, products=bool(rng.random() < products))
    suffix = suffix or str(rng.choice([".lp", ".mps"]))
    text = lp_text(model, rng, plain=plain) if suffix == ".lp" else mps_text(model, rng)
    return model, suffix, text


def _plain(rng: np.random.Generator, index: int) -> Case:
    model, suffix, text = _text(rng, plain=True, products=0.25)
    products = any(len(key) == 2 for row in (model.goal, *(r.numbers for r in model.rows))
                   for key in row)  # fmt: skip
    value = best(model)
    sense = -1 if model.maximise else 1
    truth = infeasible(sense=sense) if value is None else optimum(value, size=50, sense=sense)

    def ask(file: Path) -> Answer:
        read = tm.read_model(file)
        extra = misread(model, read) or others(file, value, products=products)
        return _solved(f"plain {suffix}", read, truth, extra)

    return _with_file(suffix, text, ask)


def _odd(rng: np.random.Generator, index: int) -> Case:
    model, suffix, text = _text(rng, plain=False, products=0.3)
    return _with_file(
        suffix, text, lambda file: found_out(suffix, misread(model, tm.read_model(file)))
    )


def _task(rng: np.random.Generator, index: int) -> Case:
    model = drawn(rng, plain=bool(rng.random() < 0.3), products=False)
    suffix = str(rng.choice([".task", ".jtask", ".ptf"]))
    # MOSEK itself takes sides from 1e20 on for none.
    model.rows = [row for row in model.rows if not {row.lower, row.upper} & {*FAR}]

    def ask(file: Path) -> Answer:
        write_task(model, file)
        return found_out(suffix, misread(model, tm.read_model(file)))

    if not SOLVERS["mosek"].installed:
        return _odd(rng, index)
    return _with_file(suffix, "", ask)


def _is_met(model: pyo.ConcreteModel, x: Mapping[Any, Any]) -> bool:
    """Whether a point of small whole or half numbers, of which all sums are exact, is feasible."""
    variables = list(model.component_data_objects(pyo.Var))
    rows = list(model.component_data_objects(pyo.Constraint, active=True))
    for variable in variables:
        fixed = variable.lb if variable.lb == variable.ub else None
        variable.set_value(fixed or 0.0, skip_validation=True)
    for j, variable in model.column.items():
        variable.set_value(x[j], skip_validation=True)
    for row in rows:  # entries of cones that got columns of their own: affine - column == side
        for entry in identify_variables(row.body):
            if "_equals" in row.name and "_entry" in entry.name:
                value = pyo.value(row.body) - pyo.value(row.upper)
                entry.set_value(value, skip_validation=True)
    inside = all(_is_between(v.lb, v.value, v.ub) for v in variables)
    return inside and all(_holds(row) for row in rows)


def _holds(row: Any) -> bool:
    entries = psd_entries(row.body)
    if entries is not None:
        a, b, c = (pyo.value(entry) for entry in entries)
        return bool(a >= 0 and c >= 0 and a * c >= b * b)
    return _is_between(pyo.value(row.lower), pyo.value(row.body), pyo.value(row.upper))


def _is_between(low: float | None, number: float, high: float | None) -> bool:
    return (low is None or low <= number) and (high is None or number <= high)


def _compared(
    label: str,
    read: pyo.ConcreteModel,
    points: list[tuple[Any, ...]],
    value: Callable[[tuple[Any, ...]], float],
    is_met: Callable[[tuple[Any, ...]], bool],
    sense: int,
    kind: Kind,
) -> Answer:
    extra, values = "", []
    for x in points:
        wanted = is_met(x)
        values += [value(x)] if wanted else []
        if _is_met(read, dict(enumerate(x))) != wanted:
            extra = extra or f"{x} is {'' if wanted else 'not '}a point of the file"
        elif wanted and pyo.value(read.objective.expr) != values[-1]:
            extra = extra or f"objective {pyo.value(read.objective.expr)} at {x}"
    if (read.objective.sense == pyo.maximize) != (sense < 0):
        extra = extra or "the sense"
    if not values and kind is Kind.POINT:
        return found_out(label, extra)
    truth = Truth(kind, (min if sense > 0 else max)(values), size=50, sense=sense) if values else (
        infeasible(sense=sense))  # fmt: skip
    return _solved(label, read, truth, extra)


def _conic(rng: np.random.Generator, index: int) -> Case:
    """Whole numbers in a box, with rows, second-order and rotated cones, as CBF."""
    n, sense = int(rng.integers(1, 4)), int(rng.choice([1, -1]))
    low, high = rng.integers(-2, 1, size=n), rng.integers(1, 4, size=n)
    cones = [("L+", n), ("L-", n)]
    A = [np.vstack([np.eye(n, dtype=int)] * 2)]
    b = [np.concatenate([-low, -high])]
    for _ in range(int(rng.integers(0, 4))):
        kind = str(rng.choice(["L=", "L+", "L-", "Q", "QR", "F"]))
        size = int(rng.integers(2, 4)) if kind in ("Q", "QR") else 1
        cones.append((kind, size))
        A.append(rng.integers(-2, 3, size=(size, n)))
        b.append(rng.integers(-3, 5, size=size))
    matrix, constants = np.vstack(A), np.concatenate(b)
    cost, shift = rng.integers(-4, 5, size=n), int(rng.integers(-5, 6))

    def block(name: str, entries: list[str]) -> list[str]:
        return [name, str(len(entries)), *entries] if entries else []

    lines = ["# drawn", "VER", str(rng.integers(1, 5)), "OBJSENSE", "MIN" if sense > 0 else "MAX"]
    lines += ["VAR", f"{n} 1", f"F {n}", *block("INT", [str(j) for j in range(n)])]
    lines += ["CON", f"{len(matrix)} {len(cones)}", *(f"{kind} {size}" for kind, size in cones)]
    lines += block("OBJACOORD", [f"{j} {v}" for j, v in enumerate(cost) if v])
    lines += ["OBJBCOORD", f"{shift}.0"]
    lines += block("ACOORD", [f"{i} {j} {matrix[i, j]}.0" for i, j in np.argwhere(matrix)])
    lines += block("BCOORD", [f"{i} {v}" for i, v in enumerate(constants) if v])

    def is_met(x: tuple[Any, ...]) -> bool:
        entries, at = matrix @ np.array(x) + constants, 0
        for kind, size in cones:
            part, at = entries[at : at + size].tolist(), at + size
            rest = sum(v * v for v in part[1:])
            met = {
                "F": True, "L=": not any(part), "L+": min(part) >= 0, "L-": max(part) <= 0,
                "Q": part[0] >= 0 and part[0] ** 2 >= rest,
                "QR": size > 1 and min(part[:2]) >= 0
                and 2 * part[0] * part[min(1, size - 1)] >= sum(v * v for v in part[2:]),
            }  # fmt: skip
            if not met[kind]:
                return False
        return True

    points = list(itertools.product(*(range(p - 1, q + 2) for p, q in zip(low, high, strict=True))))

    def ask(file: Path) -> Answer:
        value = lambda x: float(cost @ np.array(x) + shift)  # noqa: E731
        return _compared("cbf", tm.read_model(file), points, value, is_met, sense, Kind.OPTIMUM)

    return _with_file(".cbf", "\n".join([*lines, ""]), ask)


def _matrix(rng: np.random.Generator, index: int) -> Case:
    """A matrix of order 2, rows and bounds as SDPA sparse, at halves within the bounds."""
    n = int(rng.integers(1, 4))
    F = rng.integers(-2, 3, size=(n + 1, 3))
    rows = [np.concatenate([[-2], row]) for row in np.eye(n, dtype=int)]
    rows += [np.concatenate([[-2], -row]) for row in np.eye(n, dtype=int)]
    rows += list(rng.integers(-3, 4, size=(int(rng.integers(0, 3)), n + 1)))
    cost = rng.integers(-4, 5, size=n)
    lines = ['"drawn', f"{n} = mDIM", "2 = nBLOCK", f"(2, -{len(rows)})"]
    lines.append("{" + ", ".join(map(str, cost)) + "}")
    places = ((1, 1), (1, 2), (2, 2))
    lines += [f"{k} 1 {i} {j} {F[k, e]}.0" for k in range(n + 1)
              for e, (i, j) in enumerate(places) if F[k, e]]  # fmt: skip
    lines += [f"{k} 2 {r} {r} {v}" for r, row in enumerate(rows, start=1)
              for k, v in enumerate(row) if v]  # fmt: skip

    def is_met(x: tuple[Any, ...]) -> bool:
        point = np.array([-1.0, *x])
        a, b, c = point @ F
        return bool(a >= 0 and c >= 0 and a * c >= b * b and min(point @ np.array(rows).T) >= 0)

    points = list(itertools.product(np.arange(-5, 6) / 2, repeat=n))

    def ask(file: Path) -> Answer:
        value = lambda x: float(cost @ np.array(x))  # noqa: E731
        return _compared("dat-s", tm.read_model(file), points, value, is_met, 1, Kind.POINT)

    return _with_file(".dat-s", "\n".join([*lines, ""]), ask)


# What is put in the place of a piece of a plain file, so that it says nothing or two things.
BROKEN: dict[str, tuple[tuple[str, str], ...]] = {
    ".lp": (
        ("Bounds\n", "Bounds\n x0 fre\n"), ("Bounds\n", "Bounds\n x0 x9 <= 2\n"),
        ("Bounds\n", "Bounds\n x0 != 2\n"), ("Bounds\n", "Bounds\n x0 <= 1_000\n"),
        ("Bounds\n", "Bounds\n 1 <= x0 >= 0\n"), ("Bounds\n", "Bounds\n x0 <= 3\n x0 free\n"),
        ("Bounds\n", " odd: x0 >= 1 + x0\n - x0 >= -9\nBounds\n"),
        ("Bounds\n", " odd: x0 >= 1 <= 3\nBounds\n"), ("Bounds\n", " odd: x0 >= ٣\nBounds\n"),
        ("Bounds\n", " odd: 1e-400 x0 <= 1\nBounds\n"), ("\\ drawn\n", "Minimize\n x0\n"),
        ("End\n", "SOS1\n s: x0:1\nEnd\n"), ("End\n", "General\n x0 <= 3\nEnd\n"),
    ),
    ".mps": (
        ("RANGES\n", " OTHER cost 3\nRANGES\n"), ("RANGES\n", " R cost 3\n R cost 3\nRANGES\n"),
        ("BOUNDS\n", " S cost 3\n T cost 3\nBOUNDS\n"), ("RHS\n", " x0 cost 1\nRHS\n"),
        ("BOUNDS\n", "BOUNDS\n UP OTHER x0 4\n"),
        ("BOUNDS\n", "BOUNDS\n UP B x0 4\n UP B x0 5\n"),
        ("    M", "    MAKSI"), ("OBJSENSE\n", "OBJSENSE\n    MAX\n"),
        (" N cost", " LG odd\n N cost"),
        ("BOUNDS\n", "BOUNDS\n XX B x0 4\n"), ("RHS\n", " y cost 1_000\nRHS\n"),
        ("RHS\n", " M 'MARKER' 'SOSORG'\nRHS\n"), ("RHS\n", "RHS x0\n"),
    ),
}  # fmt: skip


def _broken(rng: np.random.Generator, index: int) -> Case:
    suffix = (".lp", ".mps")[index // 8 % 2]
    _, _, text = _text(rng, plain=True, products=0.0, suffix=suffix)
    old, new = BROKEN[suffix][index // 16 % len(BROKEN[suffix])]
    assert old in text

    def ask(file: Path) -> Answer:
        try:
            tm.read_model(file)
        except ValueError:
            return found_out("broken", "")
        return found_out("broken", f"{new!r} was read")

    return _with_file(suffix, text.replace(old, new, 1), ask)
