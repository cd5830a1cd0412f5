"""Separators of the library: functions that make what `separate` takes."""
