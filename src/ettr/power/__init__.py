"""Power: what a run draws, what the grid sees of it, and what smoothing costs."""
