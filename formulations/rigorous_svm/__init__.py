"""The machine with a bound on its norm: primal, duals, kernels, and maps to the other machines."""
