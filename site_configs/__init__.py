"""Machines: what they have and how MPI programs are started on them."""
