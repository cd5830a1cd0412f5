"""The projection SDP of the matrix SVM where one direction lies in a cone, and its proven bound.

Take predictors with m <= n (transposed if need be). A B of rank 1 has its columns along a unit
vector u, and one of rank m - 1 has its columns orthogonal to a unit vector u. Write Q = u u' and
P = Q or P = I - Q. For u in a cone {C l : l >= 0}

    min   sum_i xi_i + ridge/2 tr T
    s.t.  y_i (<X_i, B> + b) + xi_i >= 1,  xi_i >= 0,   [[T, B'], [B, P]] semidefinite,
          Q semidefinite, tr Q = 1,  C^-1 Q C^-T >= 0 in every entry,

is a relaxation, and the smaller the cone the nearer it is to the truth. With a in [0, 1]^N
(y'a = 0 for a free intercept), A = sum_i a_i y_i X_i, a matrix Z >= 0 and G = C^-T Z C^-1, which is
not negative on the cone, weak duality in closed form gives

    sum a - 1/(2 ridge) largest eigenvalue of (A A' + G)                         P = Q
    sum a - 1/(2 ridge) (||A||_F^2 - smallest eigenvalue of (A A' - G))          P = I - Q

(less (y'a)^2 / (2 ridge) for a penalised intercept). That number is the bound; the solver only
proposes a and Z.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.multipliers import balanced_alpha
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.backends.clarabel import is_panic

EPS = float(np.finfo(float).eps)
LINE, COMPLEMENT = "line", "complement"


@dataclass(frozen=True, eq=False)
class CellBound:
    """What the relaxation of one cell says.

    Attributes
    ----------
    lower : float
        Proven.
    direction : array (m,)
        A unit vector that the relaxation points at, not necessarily in the cell.
    """

    lower: float
    direction: Array


@dataclass(frozen=True, eq=False)
class CellProblem:
    """The relaxation of all cells of one problem; only the rows of C change.

    Parameters
    ----------
    predictors : array (N, m, n)
        With m <= n.
    kind : str
        "line" for rank 1, "complement" for rank m - 1.
    reach : float
        A bound on |b| at an optimum; of no meaning unless the intercept is free.
    """

    data: TrainingData
    predictors: Array
    ridge: float
    intercept: str
    kind: str
    reach: float
    _rows: list[Any] = field(default_factory=list)

    def bound(self, cone: Array | None) -> CellBound:
        """Bound over unit vectors in the cone with these generators (m, m), one a column.

        None stands for all directions, and the relaxation for matrix_svc_projection.

        Raises
        ------
        ValueError
            Generators that are no basis.
        """
        m = self.predictors.shape[1]
        normals: Array = np.zeros((m, m))
        if cone is not None:
            rows = np.linalg.inv(cone)
            normals = np.asarray(rows / np.linalg.norm(rows, axis=1)[:, None])
        x, z = self._solve(normals)
        pairs = list(zip(*np.triu_indices(m, 1), strict=True))
        Z = np.zeros((m, m))
        for k, (i, j) in enumerate(pairs):
            Z[i, j] = Z[j, i] = max(float(z[len(z) - self._tail() - len(pairs) + k]), 0.0)
        alpha = z[1 : 1 + self.data.n]
        Q = np.zeros((m, m))
        Q[np.triu_indices(m)] = x[len(x) - m * (m + 1) // 2 :]
        Q = np.triu(Q) + np.triu(Q, 1).T
        # A row Q_ij >= 0 stands twice in tr(Z Q), and the closed form divides by 2 ridge.
        return CellBound(self.proven(alpha, self.ridge * Z, normals), np.linalg.eigh(Q)[1][:, -1])

    def proven(self, alpha: Array, Z: Array, normals: Array) -> float:
        """The closed form at any alpha and Z, which are put where they have to be.

        Parameters
        ----------
        normals : array (m, m)
            Positive multiples of the rows of C^-1, or 0 for all directions.
        """
        data = self.data
        Z = np.maximum((Z + Z.T) / 2, 0.0)
        alpha = balanced_alpha(alpha, data.y, np.ones(data.n), self.intercept)
        signed = alpha * data.y
        A = np.tensordot(signed, self.predictors, axes=1)
        M, G = A @ A.T, normals.T @ Z @ normals
        if self.kind == LINE:
            most = float(np.linalg.eigvalsh(M + G)[-1])
        else:
            most = float(np.trace(M)) - float(np.linalg.eigvalsh(M - G)[0])
        balance = float(signed.sum())
        lower = float(alpha.sum()) - most / (2 * self.ridge)
        if self.intercept == "penalised":
            lower -= balance**2 / (2 * self.ridge)
        elif self.intercept == "free":
            lower -= (abs(balance) + 4 * data.n * EPS * float(alpha.sum())) * self.reach
        # No entry of A is off by more than this, nor an eigenvalue by more than the norms say.
        size = np.tensordot(alpha, np.abs(self.predictors), axes=1)
        hidden = float((size**2).sum()) + float((np.abs(normals.T) @ Z @ np.abs(normals)).sum())
        return lower - 16 * (data.n + A.size) * EPS * (float(alpha.sum()) + hidden / self.ridge)

    def _tail(self) -> int:
        """Rows of the semidefinite blocks, which come last."""
        m, n = self.predictors.shape[1:]
        return (m + n) * (m + n + 1) // 2 + (m * (m + 1) // 2 if self.kind == COMPLEMENT else 0)

    def _solve(self, normals: Array) -> tuple[Array, Array]:
        """Columns of the relaxation and multipliers of its rows, as far as the solver came."""
        import clarabel

        if not self._rows:
            self._rows.extend(self._constant_rows())
        head, right, blocks, P, q = self._rows
        N, (m, n) = self.data.n, self.predictors.shape[1:]
        upper = np.triu_indices(m)
        pairs = np.triu_indices(m, 1)
        products = normals[pairs[0]][:, :, None] * normals[pairs[1]][:, None, :]
        products = products + products.transpose(0, 2, 1)
        entries = np.where(upper[0] == upper[1], 0.5, 1.0) * products[:, upper[0], upper[1]]
        inside = sp.hstack(
            [sp.csc_matrix((len(entries), len(q) - len(upper[0]))), sp.csc_matrix(-entries)]
        )
        rows = sp.vstack([head, inside, blocks]).tocsc()
        sides = np.concatenate([right[0], np.zeros(len(entries)), right[1]])
        cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * N + len(entries))]
        cones.append(clarabel.PSDTriangleConeT(m + n))
        if self.kind == COMPLEMENT:
            cones.append(clarabel.PSDTriangleConeT(m))
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        try:
            found = clarabel.DefaultSolver(P, q, rows, sides, cones, settings).solve()
        except BaseException as error:
            if not is_panic(error):
                raise
            return np.zeros(len(q)), np.zeros(len(sides))
        return _finite(found.x), _finite(found.z)

    def _constant_rows(self) -> tuple[Any, ...]:
        """Rows that do not know the cone: tr Q = 1, margins, xi >= 0; and the blocks.

        Columns are w (m n), b unless it is "none", xi (N), T and Q by their upper triangles, row
        after row.
        """
        N, (m, n) = self.data.n, self.predictors.shape[1:]
        has_b = self.intercept != "none"
        first_xi = m * n + has_b
        first_T = first_xi + N
        first_Q = first_T + n * (n + 1) // 2
        width = first_Q + m * (m + 1) // 2
        T = _positions(n, first_T)
        Q = _positions(m, first_Q)
        w = np.arange(m * n).reshape(m, n)
        trace = sp.csc_matrix((np.ones(m), (np.zeros(m, int), np.diag(Q))), (1, width))
        margin = np.zeros((N, width))
        margin[:, : m * n] = -self.data.y[:, None] * self.predictors.reshape(N, -1)
        if has_b:
            margin[:, m * n] = -self.data.y
        margin[np.arange(N), first_xi + np.arange(N)] = -1.0
        slack = sp.csc_matrix((-np.ones(N), (np.arange(N), first_xi + np.arange(N))), (N, width))
        head = sp.vstack([trace, sp.csc_matrix(margin), slack]).tocsc()
        sign = 1.0 if self.kind == LINE else -1.0
        matrix: list[list[tuple[int, float]]] = [
            [(int(T[i, j]), 1.0) for j in range(n)] + [(int(w[p, i]), 1.0) for p in range(m)]
            for i in range(n)
        ] + [
            [(int(w[p, j]), 1.0) for j in range(n)] + [(int(Q[p, k]), sign) for k in range(m)]
            for p in range(m)
        ]
        blocks, offset = _block(matrix, width)
        if self.kind == COMPLEMENT:
            for k in range(n, m + n):
                offset[(k + 1) * (k + 2) // 2 - 1] = 1.0
            own, zero = _block([[(int(Q[p, k]), 1.0) for k in range(m)] for p in range(m)], width)
            blocks, offset = sp.vstack([blocks, own]).tocsc(), np.concatenate([offset, zero])
        q = np.zeros(width)
        q[first_xi:first_T] = 1.0
        q[np.diag(T)] = self.ridge / 2
        P = sp.csc_matrix((width, width))
        if self.intercept == "penalised":
            P = sp.csc_matrix(([self.ridge], ([m * n], [m * n])), (width, width))
        sides = np.concatenate([[1.0], -np.ones(N), np.zeros(N)])
        return head, (sides, offset), blocks, P, q


def _finite(numbers: Any) -> Array:
    """What a solver that broke down leaves proves less, but still something true."""
    return np.nan_to_num(np.array(numbers, dtype=float), nan=0.0, posinf=0.0, neginf=0.0)


def _positions(order: int, first: int) -> NDArray[np.int64]:
    """Column of every entry of a symmetric matrix kept by its upper triangle."""
    found = np.zeros((order, order), dtype=np.int64)
    found[np.triu_indices(order)] = first + np.arange(order * (order + 1) // 2)
    return np.maximum(found, found.T)


def _block(matrix: list[list[tuple[int, float]]], width: int) -> tuple[Any, Array]:
    """Rows -x of a semidefinite block whose entries are multiples of single columns.

    Upper triangle column by column, off the diagonal times the square root of 2.
    """
    places = [(i, j) for j in range(len(matrix)) for i in range(j + 1)]
    columns = [matrix[i][j][0] for i, j in places]
    numbers = [-matrix[i][j][1] * (1.0 if i == j else np.sqrt(2.0)) for i, j in places]
    rows = np.arange(len(places))
    return sp.csc_matrix((numbers, (rows, columns)), (len(places), width)), np.zeros(len(places))
