"""Exact 0-1 loss by branch and bound: which points are kept, bounded by disjoint conflicts."""
