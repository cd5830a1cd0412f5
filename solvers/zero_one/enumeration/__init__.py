"""Active sets at the margin: enumeration, heuristic incumbents, least norms."""
