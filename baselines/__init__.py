"""One file a baseline: the algorithm, its paper, and where it deviates."""
