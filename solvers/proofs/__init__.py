"""The kernel: what alone can make a proof, and the verdict that follows from proofs."""
