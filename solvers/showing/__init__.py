"""Models as mathematics."""
