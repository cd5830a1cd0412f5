"""How a Pyomo model becomes the arrays of tightmargin.solvers.standard_form.standard_form."""
