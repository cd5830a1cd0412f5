"""A SPEC string to training data: sources, readers, generators, subsets, preparation."""
