"""Cross-validation, folds, error rates."""
