"""The family `detector`: is there a binary in a second of whitened strain, and of which masses."""
