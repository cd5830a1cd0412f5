"""Bounds on mixed-integer convex models from trees whose every leaf is a use of weak duality."""
