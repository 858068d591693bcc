"""Benchmarks: never part of the test suite; `make bench-NAME` runs one."""
