"""Tables of gaps and of solvers, and which formulation may stand beside which."""
