"""Methods of ours for any model of a kind, whoever built it."""
