"""Branch and cut over boxes on the unit sphere."""
