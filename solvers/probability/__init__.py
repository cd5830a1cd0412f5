"""Class probabilities from grids of weighted machines."""
