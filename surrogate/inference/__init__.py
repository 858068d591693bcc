"""Loading a trained surrogate and predicting with it."""
