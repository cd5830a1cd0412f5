"""The commands of the command line, one file for each kind of work."""
