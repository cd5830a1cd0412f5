"""Proof files of the extended nu family."""
