"""Proofs about exp, log and entropy: rational enclosures, and affine functions below them."""
