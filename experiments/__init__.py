"""Data sets, studies, tables, plots and the command line."""
