"""Bounds on 0-1 and ramp losses over cones of directions: a cell's proof is its box alone."""
