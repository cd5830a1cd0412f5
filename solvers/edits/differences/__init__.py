"""What an edit did to a model, change by change, decided by proofs and points."""
