"""Points of a concave program: vertices, and points on curved sides."""
