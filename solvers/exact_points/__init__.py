"""From a point that is nearly feasible to one that is feasible in exact arithmetic."""
