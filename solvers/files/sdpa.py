"""SDPA sparse files: a semidefinite program over free columns, without names and equations.

    minimise c'x   s.t.   sum_k x_k F_k - F_0 semidefinite, block by block

Linear rows and bounds are one diagonal block, an equation two rows of it. A second-order cone
a >= ||b|| is the semidefinite block [[a, b'], [b, a I]], and a quadratic objective 1/2 ||L x||^2 is
a column t above it: 2 t + 1 >= ||(2 t - 1, 2 L x)||. A constant of the objective is a column held
at 1. Names and the sense stand in comments, for whoever reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.cones import lower_pairs, order
from tightmargin.solvers.engines.mosek import EPIGRAPH, square_root
from tightmargin.solvers.errors import ProblemClassError
from tightmargin.solvers.files.program import (
    ONE,
    Matrix,
    Program,
    Row,
    Sum,
    read_integer,
    read_number,
)
from tightmargin.solvers.model.conic import ROOT2, ConicForm, conic_form
from tightmargin.solvers.model.convexity import Classification
from tightmargin.solvers.model.reader import StandardForm

SUFFIX = ".dat-s"
_HERE = "the SDPA file"
COLUMN, MAXIMISE = "* column", "* maximise: the objective here is minus that of the model"

Entry = tuple[int, int, int, int, float]  # matrix, block, row, column, number


@dataclass
class _Blocks:
    """Sizes of the blocks, negative for a diagonal one, and the entries of all matrices."""

    sizes: list[int] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    def add(
        self, size: int, places: Iterable[tuple[int, int, int]], G: sp.csr_matrix, h: Array
    ) -> None:
        """A block whose entry (i, j), i <= j, is row r of G x + h, for the (r, i, j) given."""
        self.sizes.append(size)
        block = len(self.sizes)
        for r, i, j in places:
            row = slice(G.indptr[r], G.indptr[r + 1])
            if h[r]:
                self.entries.append((0, block, i, j, -float(h[r])))
            for k, number in zip(G.indices[row].tolist(), G.data[row].tolist(), strict=True):
                self.entries.append((k + 1, block, i, j, number))


def sdpa_text(form: StandardForm, classification: Classification) -> str:
    """The text of a file for a convex model.

    Raises ProblemClassError: integers, or a model that is not convex.
    """
    if form.integer.any() or not classification.convex:
        raise ProblemClassError(
            f"a {SUFFIX} file holds continuous convex models, and this one is "
            f"{classification.problem_class}: write lp, mps or nl"
        )
    if not form.n:
        raise ProblemClassError(f"a {SUFFIX} file needs a variable that is not fixed")
    conic = conic_form(form, classification)
    names, cost = form.columns.names(), conic.q.tolist()
    n = len(cost)
    blocks = _Blocks()
    extra: list[tuple[str, float]] = []
    if form.objective.Q.nnz:
        extra.append((EPIGRAPH, 1.0))
    if conic.offset:
        extra.append((ONE, conic.offset))
    for name, price in extra:
        names.append(_unused(name, names))
        cost.append(price)
    width = len(cost)
    _add_linear(blocks, conic, width, held=width - 1 if conic.offset else None)
    if form.objective.Q.nnz:
        L = square_root(form.P)
        rows = sp.lil_matrix((2 + L.shape[0], width))
        rows[0, n] = rows[1, n] = 2.0
        rows[2:, :n] = 2.0 * L
        sides = np.zeros(2 + L.shape[0])
        sides[:2] = 1.0, -1.0
        _add_arrow(blocks, rows.tocsr(), sides)
    for block in conic.blocks:
        if block.kind in ("soc", "psd"):
            G = sp.csr_matrix(-conic.A.tocsr()[block.rows])
            G.resize((block.size, width))
            h = conic.b[block.rows]
            add = _add_arrow if block.kind == "soc" else _add_matrix
            add(blocks, G, h)
    return "\n".join(_lines(form, names, cost, blocks)) + "\n"


def _unused(name: str, names: list[str]) -> str:
    while name in names:
        name += "_"
    return name


def _add_linear(blocks: _Blocks, conic: ConicForm, width: int, held: int | None) -> None:
    """Rows at least 0: equations twice, then inequalities and bounds, then a column held at 1."""
    parts, sides = [], []
    for block in conic.blocks:
        if block.kind in ("zero", "nonneg"):
            A, b = conic.A.tocsr()[block.rows], conic.b[block.rows]
            parts += [A, -A] if block.kind == "zero" else [-A]
            sides += [-b, b] if block.kind == "zero" else [b]
    rows = sp.vstack([sp.csr_matrix((0, conic.A.shape[1])), *parts], format="csr")
    rows.resize((rows.shape[0], width))
    if held is not None:
        unit = sp.csr_matrix(([1.0, -1.0], ([0, 1], [held, held])), shape=(2, width))
        rows = sp.vstack([rows, unit], format="csr")
        sides.append(np.array([-1.0, 1.0]))
    if rows.shape[0]:
        size = rows.shape[0]
        places = [(r, r + 1, r + 1) for r in range(size)]
        blocks.add(-size, places, rows, np.concatenate(sides))


def _add_arrow(blocks: _Blocks, G: sp.csr_matrix, h: Array) -> None:
    size = len(h)
    places = [(0, i + 1, i + 1) for i in range(size)]
    places += [(r, 1, r + 1) for r in range(1, size)]
    blocks.add(size, places, G, h)


def _add_matrix(blocks: _Blocks, G: sp.csr_matrix, h: Array) -> None:
    pairs = lower_pairs(order(len(h)))
    scale = np.array([1.0 if i == j else 1 / ROOT2 for i, j in pairs])
    places = [(r, j + 1, i + 1) for r, (i, j) in enumerate(pairs)]
    blocks.add(order(len(h)), places, sp.csr_matrix(sp.diags(scale) @ G), scale * h)


def _lines(
    form: StandardForm, names: list[str], cost: list[float], blocks: _Blocks
) -> Iterator[str]:
    if form.sense < 0:
        yield MAXIMISE
    for k, name in enumerate(names, start=1):
        yield f"{COLUMN} {k} {' '.join(name.split())}"
    yield str(len(cost))
    yield str(len(blocks.sizes))
    yield " ".join(map(str, blocks.sizes))
    yield " ".join(map(repr, cost))
    for k, block, i, j, number in sorted(blocks.entries):
        yield f"{k} {block} {i} {j} {number!r}"


# --- reading --------------------------------------------------------------------------------------


def read_sdpa(text: str, lifted: frozenset[str] = frozenset()) -> Program:
    """Read the text of an SDPA sparse file.

    Rows of a diagonal block that say the opposite of each other become an equation, and a
    semidefinite block [[a, b'], [b, a I]] the quadratic row b'b <= a^2 with a >= 0.

    lifted: names of cones whose entries get columns of their own.
    Raises ValueError: what is no such file.
    """
    comments, words = _words(text)
    n, count = (read_integer(word, _HERE) for word in words[:2])
    orders = [read_number(word, _HERE) for word in words[2 : 2 + count]]
    cost = [read_number(word, _HERE) for word in words[2 + count : 2 + count + n]]
    rest = words[2 + count + n :]
    whole = all(size and size.is_integer() for size in orders)
    if n < 0 or len(cost) != n or len(orders) != count or not whole or len(rest) % 5:
        raise ValueError(
            "an SDPA sparse file has a number of columns, of blocks, their sizes, the costs, and "
            "lines of four integers and a number"
        )
    sizes = [int(size) for size in orders]
    entries = [_entry(rest[k : k + 5]) for k in range(0, len(rest), 5)]
    program = Program.free(_names(comments, n), lifted)
    program.objective.linear = {j: price for j, price in enumerate(cost) if price}
    blocks = _blocks(n, sizes, entries)
    for size, found in zip(sizes, blocks, strict=True):
        if size < 0 or size == 1:
            _read_diagonal(program, [found.get((i, i), Sum()) for i in range(abs(size))])
    for k, (size, found) in enumerate(zip(sizes, blocks, strict=True)):
        if size > 1:
            _read_block(program, k, size, found)
    if MAXIMISE in comments:
        _negate(program)
    return program


def _entry(words: list[str]) -> Entry:
    k, block, i, j = (read_integer(word, _HERE) for word in words[:4])
    return k, block, i, j, read_number(words[4], _HERE)


def _blocks(n: int, sizes: list[int], entries: list[Entry]) -> list[dict[tuple[int, int], Sum]]:
    """Entries of the lower triangles as affine functions."""
    blocks: list[dict[tuple[int, int], Sum]] = [{} for _ in sizes]
    seen: set[tuple[int, ...]] = set()
    for k, block, i, j, value in entries:
        inside = 1 <= block <= len(sizes) and max(i, j) <= abs(sizes[block - 1])
        if not (0 <= k <= n and min(i, j) >= 1 and inside) or (sizes[block - 1] < 0 and i != j):
            raise ValueError(f"the SDPA file has the entry {k} {block} {i} {j} outside its sizes")
        place = (k, block, max(i, j), min(i, j))
        if place in seen:
            raise ValueError(f"the SDPA file has the entry {k} {block} {i} {j} twice: leave one")
        seen.add(place)
        entry = blocks[block - 1].setdefault((place[2] - 1, place[3] - 1), Sum())
        if k:
            entry.add(k - 1, value)
        else:
            entry.constant = 0.0 - value
    return blocks


def _words(text: str) -> tuple[list[str], list[str]]:
    lines = text.splitlines()
    body = next((k for k, line in enumerate(lines) if line.strip()[:1] not in ("*", '"', "")), None)
    if body is None or len(lines) < body + 2:
        raise ValueError("the SDPA file has no numbers of columns and blocks")
    # Braces, brackets and commas are as good as blanks, and a word after the sizes is a remark.
    plain = [line.translate(str.maketrans("{}(),", "     ")) for line in lines[body:]]
    first = [(line.split("=")[0].split() or [""])[0] for line in plain[:2]]
    return lines[:body], [*first, *" ".join(plain[2:]).split()]


def _names(comments: list[str], n: int) -> list[str]:
    names = [""] * n
    for line in comments:
        if line.startswith(COLUMN):
            place, _, name = line.removeprefix(COLUMN).strip().partition(" ")
            if place.isdigit() and 1 <= int(place) <= n:
                names[int(place) - 1] = name
    return names


def _read_diagonal(program: Program, rows: list[Sum]) -> None:
    """Rows at least 0; where two are opposite, an equation."""
    waiting: dict[tuple[object, ...], Row] = {}
    for r, body in enumerate(rows):
        opposite = _key(body, -1.0)
        if opposite in waiting:
            equation = waiting.pop(opposite)
            equation.upper = equation.lower
            continue
        row = Row(f"row[{r}]", Sum({}, body.linear), lower=-body.constant)
        waiting[_key(body, 1.0)] = row
        program.rows.append(row)
    found, program.rows = program.rows, []
    for row in found:
        program.add_row(row)


def _key(body: Sum, sign: float) -> tuple[object, ...]:
    linear = tuple(sorted((j, sign * number) for j, number in body.linear.items()))
    return (linear, sign * body.constant + 0.0)


def _read_block(program: Program, k: int, size: int, found: dict[tuple[int, int], Sum]) -> None:
    entries = [found.get(pair, Sum()) for pair in lower_pairs(size)]
    first = found.get((0, 0), Sum())
    is_arrow = all(
        _key(entry, 1.0) == _key(first, 1.0) if i == j else j == 0 or (not entry.linear
        and not entry.constant)
        for (i, j), entry in zip(lower_pairs(size), entries, strict=True)
    )  # fmt: skip
    if is_arrow:
        column = [found.get((i, 0), Sum()) for i in range(1, size)]
        program.add_second_order(f"cone[{k}]", [first, *column])
    else:
        program.matrices.append(Matrix(f"semidefinite[{k}]", entries))


def _negate(program: Program) -> None:
    goal = program.objective
    goal.linear = {j: -number for j, number in goal.linear.items()}
    goal.constant = -goal.constant
    program.maximise = True
