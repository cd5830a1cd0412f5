"""A Pyomo model as two forms, and the steps between them; knows no solver."""
