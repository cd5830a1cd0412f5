"""Convexification of rank-one quadratics with step penalties, and relaxations built of it."""
