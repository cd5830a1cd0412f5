"""Rational arithmetic: bounds of linear programs, Farkas proofs and rays."""
