"""Learning theory that is evaluated, not solved: capacity, risk bounds, sample complexity."""
