"""Bi and Vapnik's decomposition, equations (19) to (21)."""
