"""Why a model has no feasible point."""
