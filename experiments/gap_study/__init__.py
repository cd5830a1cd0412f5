"""The gap study and the ladder of bounds."""
