"""Pérez-Cruz et al. 2003, Extension of the nu-SVM Range for Classification: its experiments."""
