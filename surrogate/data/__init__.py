"""Run files, admission, shards, datasets, splits, scaling and the data card."""
