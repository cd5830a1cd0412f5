"""Bounds on concave parts from boxes that cover all points, each closed by weak duality."""
