"""MOSEK's own files, through MOSEK, which needs no licence for that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tightmargin.formulations.modeling.semidefinite import lower_pairs, order
from tightmargin.solvers.canonical_form.conic_form import ROOT2
from tightmargin.solvers.errors import SolverNotInstalledError
from tightmargin.solvers.files.program import INFINITE, Matrix, Program, Row, Sum, far_is_infinite

FORMATS = (".task", ".jtask", ".ptf")


def read_mosek(path: Path, lifted: frozenset[str] = frozenset()) -> Program:
    """Read a .task, .jtask or .ptf file.

    Raises
    ------
    ValueError
        A file that MOSEK does not read, or cones of another kind than second-order, rotated and
        semidefinite ones.
    SolverNotInstalledError
        Without MOSEK.
    """
    try:
        import mosek
    except ImportError as error:
        raise SolverNotInstalledError(
            f"{path.suffix} files are read through mosek, which is not installed "
            "(pip install mosek)"
        ) from error
    with mosek.Env() as env, env.Task() as task:
        try:
            task.readdata(str(path))
        except mosek.Error as error:
            line = str(error.msg).strip().partition("\n")[0]
            raise ValueError(f"mosek does not read {path.name}: {line}") from error
        return _Reader(task, mosek, lifted).program()


class _Reader:
    def __init__(self, task: Any, mosek: Any, lifted: frozenset[str]) -> None:
        self.task, self.mosek = task, mosek
        self.n = task.getnumvar()
        self.orders = [task.getdimbarvarj(j) for j in range(task.getnumbarvar())]
        sizes = [size * (size + 1) // 2 for size in self.orders]
        self.starts = [self.n + sum(sizes[:k]) for k in range(len(sizes))]
        names = [task.getvarname(j) for j in range(self.n)]
        for k, size in enumerate(self.orders):
            names += [f"X{k}[{i},{j}]" for i, j in lower_pairs(size)]
        self.found = Program.free(names, lifted)
        self.found.has_bounds = True

    def program(self) -> Program:
        """All of it."""
        task, found = self.task, self.found
        if task.getnumdjc() or task.getnumcone():
            raise ValueError(
                "disjunctions, and cones over columns instead of affine functions, are not read "
                "from files of MOSEK"
            )
        for j in range(self.n):
            found.lower[j], found.upper[j] = self._ends(task.getvarbound(j))
            found.integer[j] = task.getvartype(j) == self.mosek.variabletype.type_int
        self._objective()
        self._rows()
        self._cones()
        for k, size in enumerate(self.orders):
            entries = [Sum({}, {self.starts[k] + e: 1.0}) for e in range(size * (size + 1) // 2)]
            found.matrices.append(Matrix(f"X{k}_semidefinite", entries))
        return found

    def _ends(self, bound: tuple[Any, float, float]) -> tuple[float, float]:
        key, low, high = bound
        keys = self.mosek.boundkey
        return (
            -math.inf if key in (keys.fr, keys.up) else far_is_infinite(low, INFINITE),
            math.inf if key in (keys.fr, keys.lo) else far_is_infinite(high, INFINITE),
        )

    def _objective(self) -> None:
        task, goal = self.task, self.found.objective
        self.found.maximise = task.getobjsense() == self.mosek.objsense.maximize
        goal.linear = {j: price for j, price in enumerate(task.getc()) if price}
        goal.constant = task.getcfix()
        _add_triangle(goal, task.getqobj())
        for k, i, j, number in zip(*task.getbarcblocktriplet()[1:], strict=True):
            self._add_entry(goal, k, i, j, number)

    def _rows(self) -> None:
        task = self.task
        bodies = [Sum() for _ in range(task.getnumcon())]
        for i, body in enumerate(bodies):
            _, columns, numbers = task.getarow(i)
            body.linear = dict(zip(columns, numbers, strict=True))
            _add_triangle(body, task.getqconk(i))
        for row, k, i, j, number in zip(*task.getbarablocktriplet()[1:], strict=True):
            self._add_entry(bodies[row], k, i, j, number)
        for i, body in enumerate(bodies):
            ends = self._ends(task.getconbound(i))
            self.found.add_row(Row(task.getconname(i) or f"row[{i}]", body, *ends))

    def _cones(self) -> None:
        task, kinds = self.task, self.mosek.domaintype
        functions = [Sum() for _ in range(task.getnumafe())]
        for k, function in enumerate(functions):
            _, columns, numbers = task.getafefrow(k)
            function.linear = dict(zip(columns, numbers, strict=True))
            function.constant = task.getafeg(k)
        for row, k, i, j, number in zip(*task.getafebarfblocktriplet()[1:], strict=True):
            self._add_entry(functions[row], k, i, j, number)
        add: dict[Any, Callable[[str, list[Sum]], None]] = {
            kinds.quadratic_cone: self.found.add_second_order,
            kinds.rquadratic_cone: self.found.add_rotated,
            kinds.svec_psd_cone: self._add_matrix,
            kinds.rzero: lambda name, entries: self._add_linear(name, entries, 0.0, 0.0),
            kinds.rplus: lambda name, entries: self._add_linear(name, entries, 0.0, math.inf),
            kinds.rminus: lambda name, entries: self._add_linear(name, entries, -math.inf, 0.0),
            kinds.r: lambda name, entries: None,
        }
        for k in range(task.getnumacc()):
            kind = task.getdomaintype(task.getaccdomain(k))
            if kind not in add:
                raise ValueError(f"the cone {kind!r} is not read from files of MOSEK")
            entries = [
                Sum({}, dict(functions[at].linear), functions[at].constant - shift)
                for at, shift in zip(task.getaccafeidxlist(k), task.getaccb(k), strict=True)
            ]
            add[kind](task.getaccname(k) or f"cone[{k}]", entries)

    def _add_linear(self, name: str, entries: list[Sum], low: float, high: float) -> None:
        for k, entry in enumerate(entries):
            body, shift = Sum({}, entry.linear), entry.constant
            self.found.add_row(Row(f"{name}[{k}]", body, low - shift, high - shift))

    def _add_matrix(self, name: str, entries: list[Sum]) -> None:
        """MOSEK has the lower triangle column by column, off-diagonal entries times sqrt(2)."""
        size = order(len(entries))
        by_column = sorted(lower_pairs(size), key=lambda pair: pair[::-1])
        at = dict(zip(by_column, entries, strict=True))
        scaled = [_scaled(at[i, j], 1.0 if i == j else ROOT2) for i, j in lower_pairs(size)]
        self.found.matrices.append(Matrix(name, scaled))

    def _add_entry(self, into: Sum, matrix: int, i: int, j: int, number: float) -> None:
        into.add(self.starts[matrix] + i * (i + 1) // 2 + j, number * (1.0 if i == j else 2.0))


def _add_triangle(
    into: Sum, found: tuple[int, Iterable[int], Iterable[int], Iterable[float]]
) -> None:
    """Add 1/2 x'Q x for the lower triangle of Q."""
    for i, j, number in zip(*found[1:], strict=True):
        into.add_product(i, j, number * (0.5 if i == j else 1.0))


def _scaled(entry: Sum, divisor: float) -> Sum:
    return Sum({}, {j: v / divisor for j, v in entry.linear.items()}, entry.constant / divisor)
