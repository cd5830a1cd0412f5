"""Global search over simplicial cones, for differences of convex functions of few variables."""
