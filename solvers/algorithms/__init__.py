"""Methods that solve a sequence of models; the only place in solvers/ that knows formulations."""
