"""Bounds on the 0-1 loss over kept points: covers whose leaves disjoint conflicts close."""
