"""Predictors that are matrices of bounded rank: the exact bilinear model and convex relaxations."""
