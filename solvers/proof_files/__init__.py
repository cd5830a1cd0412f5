"""Proofs as files, and a checker that reads them without the project."""
