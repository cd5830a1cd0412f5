"""One file a solver, its choice, and how it is run, shown and interrupted."""
