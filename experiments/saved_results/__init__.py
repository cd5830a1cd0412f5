"""Saved results read back, verified again from the data, applied to new points."""
