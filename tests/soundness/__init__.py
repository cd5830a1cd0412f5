"""A random search for false claims: every family of problems, each with an independent truth."""
