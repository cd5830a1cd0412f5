"""0-1 loss and ramp loss as mixed-integer models, and the bounds that data give them."""
