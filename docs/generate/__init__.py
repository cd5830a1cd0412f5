"""What the documentation site computes from the code instead of repeating it."""
