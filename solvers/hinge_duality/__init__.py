"""Both ends of a hinge machine that somebody else fitted: its objective, and a bound below it."""
