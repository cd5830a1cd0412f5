"""Full-size runs of every table and figure of the papers, kept as records, and their pages."""
