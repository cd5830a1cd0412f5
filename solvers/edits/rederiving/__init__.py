"""M of an edited big-M model, derived again from a feasible point of it."""
