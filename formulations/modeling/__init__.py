"""Pyomo components whose numbers stay in arrays. Nothing here knows a support vector machine."""
