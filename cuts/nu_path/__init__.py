"""A list of nu, each proven; chords between them, and the CVaR profile."""
