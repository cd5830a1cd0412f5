"""Every drawing function, see tightmargin.experiments.plots."""

from tightmargin.experiments.plots import *  # noqa: F403
from tightmargin.experiments.plots import __all__ as __all__
