"""How a Pyomo model becomes the arrays of solvers.standard_form."""
