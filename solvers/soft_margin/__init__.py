"""Stochastic gradient descent with a proven gap."""
