"""The outer loop: cuts that shrink a relaxation until its bound is the optimum."""
