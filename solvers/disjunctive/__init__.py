"""Disjunctive models written as mixed-integer ones."""
