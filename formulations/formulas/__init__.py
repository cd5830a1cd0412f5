"""The catalogue's formulas, each written once: printed here and in the docs, evaluated in tests."""
