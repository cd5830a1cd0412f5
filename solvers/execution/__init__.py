"""What surrounds a run: limits, Ctrl-C, captured output, the trace, the claim that comes back."""
