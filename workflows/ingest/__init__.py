"""Taking in data that exist already: files are mapped, judged sample by sample, and packed into the dataset."""
