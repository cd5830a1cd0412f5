"""Lee 2020, Support Vector Machine review: its statements and its machines, run."""
