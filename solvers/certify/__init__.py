"""The search for multipliers, points and rays that the kernel then checks."""
