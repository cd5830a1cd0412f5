"""Concavity and facial cuts in an outer loop over explicit rows."""
