"""What is proven of a model: statements, bounds, points, limits, trees, cones, packings."""
