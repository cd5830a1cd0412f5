"""Lee 2020, Support Vector Machine review: its four subjects that can be run."""
