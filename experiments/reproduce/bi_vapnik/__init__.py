"""Bi & Vapnik 2003, Learning with Rigorous Support Vector Machines: section 6."""
