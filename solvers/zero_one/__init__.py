"""Methods for the 0-1 loss and the ramp loss, and the bounds that close their gaps."""
