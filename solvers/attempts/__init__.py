"""Ways to run one solver on one model, tried in turn, and a second solver beside the first."""
