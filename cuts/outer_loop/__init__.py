"""Takeda and Sugiyama's Algorithm 10: cut a vertex off until nothing is left."""
