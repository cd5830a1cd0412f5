"""One bound on the norm or many, and which method is tried when."""
