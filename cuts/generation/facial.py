"""Facial cuts (Majthay & Whinston): a face that holds no corner within the cuts is cut off.

With ubar in the relative interior of the face of U that belongs to an extreme face F of P,
l(w) = 1 - <ubar, w> is 0 on F and positive on the rest of P. Each corner of P off F has, lifted
into Q, a point whose margin vanishes though F does not use it, or a slack that vanishes though F
has it in the tail. So with

    eps = min of l over Q and the cuts where one such margin or slack is 0,

the row l(w) >= eps keeps every corner off F that the cuts have kept, and removes what is left of F,
which holds no corner: a maximum of the norm over P is at a corner, so none is lost. Where (b, rho)
is not unique on F, eps can come out as 0 although F is extreme; the cut is then refused.

eps comes from linear programs in floating point and goes to 0 quickly with the dimension: below
1e-6 there is no cut, and of what there is 1 % is given away.
"""

from __future__ import annotations

import numpy as np

from tightmargin.cuts.cut.cut import Cut, Kind
from tightmargin.cuts.cut.origin import CutOrigin
from tightmargin.cuts.cut.scaling import scaled_cut
from tightmargin.cuts.relaxation.faces import Face, FaceProgram
from tightmargin.solvers.errors import NumberError

LEAST_DEPTH = 1e-6
GIVEN_AWAY = 0.01


def facial_depth(program: FaceProgram, face: Face) -> float:
    """Eps of a face: at most 1, the value of l at the origin; infinite where no corner is left."""
    least = np.inf
    for name, mark in (("margin", 1), ("xi", -1)):
        for i in np.flatnonzero(face.labels == mark).tolist():
            held = np.array([i]), np.zeros(0, dtype=np.int64)
            program.hold(*(held if name == "margin" else held[::-1]))
            highest = program.longest(face.normal)
            if highest is not None:
                least = min(least, 1.0 - highest)
    program.hold(np.zeros(0), np.zeros(0))
    return least


def facial_cut(
    program: FaceProgram, face: Face, parents: tuple[int, ...], gamma: float,
    reach: float | None = None,
) -> Cut | None:  # fmt: skip
    """The cut that removes a proper face, or None where its depth is below 1e-6.

    Also None where no corner off the face is left at all: then there is no depth to take, and a
    concavity cut goes on.

    Parameters
    ----------
    program : FaceProgram
        The linear program over Q and the cuts so far.
    face : Face
        The face to be removed; a corner is none.
    parents : tuple of int
        Numbers of all cuts in the program.
    gamma : float
        Norm up to which the parents may have removed corners.
    reach : float, optional
        Longest weight of P, for coefficients too small to be kept.

    Examples
    --------
    >>> import tightmargin as tm
    >>> from tightmargin.cuts.cut.polar_problem import polar_problem
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> problem = polar_problem(data, nu=0.1)
    >>> from tightmargin.cuts.relaxation.faces import FaceProgram, face_through
    >>> from tightmargin.cuts.relaxation.relaxation import Relaxation
    >>> program = FaceProgram(Relaxation(problem, 1.0, "primal", rebuilds=False))
    >>> corner = tm.search.cutting_plane(data, nu=0.1).cuts[0].origin.vertex
    >>> tm.cuts.facial_cut(program, face_through(problem, corner), (), 1.0) is None
    True
    """
    if face.corner:
        return None
    depth = facial_depth(program, face)
    if not LEAST_DEPTH <= depth < np.inf:
        return None
    problem = program.problem
    kept = depth * (1 - GIVEN_AWAY)
    origin = CutOrigin(
        problem.fingerprint, "projected", face.weight, np.zeros((0, len(face.weight))),
        np.zeros(0), gamma, depth=kept, parents=parents, cone=face.normal[None, :],
        sides=np.ones(1),
    )  # fmt: skip
    most = None if reach is None else problem.split(np.full(len(face.weight), reach))
    try:
        return scaled_cut(Kind.FACIAL, problem.split(face.normal), 1.0 - kept, origin, most)
    except NumberError:
        return None
