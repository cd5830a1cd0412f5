"""Branch and bound of any mixed-integer model."""
