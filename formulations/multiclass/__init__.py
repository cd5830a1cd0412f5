"""Hinge and truncated hinge loss of several classes."""
