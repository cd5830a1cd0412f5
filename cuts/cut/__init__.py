"""A cut as data: its row, origin, scaling, place in a model and file; the problem it belongs to."""
