"""What a reproduction is made of: registry, comparison with the print, report, files, runs."""
