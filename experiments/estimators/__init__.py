"""The scikit-learn classifier, and fitted machines on new points."""
