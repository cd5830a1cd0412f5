"""Branch and bound with proofs, for any mixed-integer model that is convex once relaxed."""
