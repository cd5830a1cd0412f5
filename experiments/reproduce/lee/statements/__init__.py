"""Sentences of Lee's review put to the test."""
