"""Conic and semidefinite relaxations of the 0-1 loss, their duals and closed-form bounds."""
