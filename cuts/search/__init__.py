"""State, limits, stop reasons and result that the searches of this package share."""
