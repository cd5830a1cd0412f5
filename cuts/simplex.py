"""HiGHS as our searches over boxes and polytopes use it: a simplex that is kept between solves."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines.highs import quiet_highs

OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "threads": 1,
    "presolve": "off",
    "solver": "simplex",
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}


def new_highs(seed: int = 0) -> Any:
    """An empty HiGHS with these options."""
    lp = quiet_highs()
    for name, value in (OPTIONS | {"random_seed": seed}).items():
        lp.setOptionValue(name, value)
    return lp


def dual_ray(lp: Any) -> Array | None:
    """Multipliers of the rows that HiGHS has against a program which it calls infeasible."""
    _, known, *ray = lp.getDualRay()
    if not known:  # a warm run may end without them
        lp.clearSolver()
        lp.run()
        _, known, *ray = lp.getDualRay()
    return np.asarray(ray[0], dtype=np.float64) if known else None
