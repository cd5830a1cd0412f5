"""The explicit dual of a linear or convex quadratic program, and when it is the faster one."""
