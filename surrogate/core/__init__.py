"""The ground every layer stands on: errors, units, outcomes, identity, files, processes."""
