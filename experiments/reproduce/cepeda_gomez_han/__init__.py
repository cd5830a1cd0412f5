"""Cepeda, Gómez & Han 2024, Robust support vector machines via conic optimization: section 5."""
