"""Concave objectives and reverse convex rows over any polytope of a Pyomo model."""
