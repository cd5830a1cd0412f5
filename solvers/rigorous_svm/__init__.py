"""The machine with a bound on its norm: a point, a path, decomposition, the limit of the bound."""
