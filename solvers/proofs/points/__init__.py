"""Statements about points whose coordinates are not known."""
