"""Truncated hinge of several classes: d.c. algorithm, branch and bound, closing bounds."""
