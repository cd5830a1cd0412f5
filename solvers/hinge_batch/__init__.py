"""Many hinge machines at once by one batched interior point method."""
