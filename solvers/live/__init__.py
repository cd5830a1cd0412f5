"""Parts of the live linear program of solvers.persistent."""
