"""Classes of models: what a solver has to take."""

from __future__ import annotations

from enum import StrEnum


class ProblemClass(StrEnum):
    """The class a solver must be able to take."""

    LP = "LP"
    QP = "QP"
    SOCP = "SOCP"
    SDP = "SDP"
    EXP = "EXP"
    MILP = "MILP"
    MIQP = "MIQP"
    MISOCP = "MISOCP"
    LRCP = "LRCP"
    NONCONVEX = "NONCONVEX"


INTEGER_CLASSES = (ProblemClass.MILP, ProblemClass.MIQP, ProblemClass.MISOCP)
