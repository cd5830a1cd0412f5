"""Bounds on the violations of a 0-1 optimum by optimisation, and conflicts found on the way."""
