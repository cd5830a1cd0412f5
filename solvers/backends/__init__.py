"""One file for each solver, what each can take, and which one is preferred."""
