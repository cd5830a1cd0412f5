"""What a builder reads: points, kernels and labels, checked once, and what is done to them."""
