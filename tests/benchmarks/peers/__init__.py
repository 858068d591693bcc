"""Programs that run in a peer's own environment, and what makes it."""
