"""Matrices of bounded rank: alternating machines, branch and bound, closing bounds."""
