"""How models are solved and how far the answer can be trusted."""

from tightmargin.solvers.backends.pyomo_plugins import register

register()
