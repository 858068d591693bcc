"""Training as an MPI program of its own."""
