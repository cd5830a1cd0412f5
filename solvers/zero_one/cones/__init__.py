"""Branch and bound over cones of directions, for few features."""
