"""The largest bound on the norm that matters, between proven ends."""
