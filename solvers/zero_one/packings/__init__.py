"""Proof files of the conflict search: its tree, with the conflicts that close the leaves."""
