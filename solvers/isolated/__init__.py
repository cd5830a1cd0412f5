"""The same solve in a process of its own."""
