"""How models are solved and how far the answer can be trusted."""

from solvers.pyomo_plugins import register

register()
