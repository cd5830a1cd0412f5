"""What is known of nu before a model is solved."""

from __future__ import annotations

from tightmargin.solvers.methods import register_remark
from tightmargin.solvers.nu.nu_range import EXTENDED, remark

register_remark(("nu_svc", "nu_svc_dual", *EXTENDED), remark)
