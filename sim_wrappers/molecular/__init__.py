"""What the adapters of first-principles codes for molecules have in common."""
