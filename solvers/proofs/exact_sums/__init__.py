"""Sums of products without rounding, or with a proven radius, of many numbers at a time."""
