"""Machines with the hinge loss, many at once and with proven ends."""
