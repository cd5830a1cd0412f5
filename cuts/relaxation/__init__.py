"""The linear relaxation that holds the cuts, its pool, and the faces that it leaves."""
