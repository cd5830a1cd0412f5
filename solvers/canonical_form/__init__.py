"""Which class a model belongs to, and the conic form that solvers read."""
