"""One separator for every engine: rows that are found while a model is solved."""
