"""Bounds of nodes for numba, which is optional."""
