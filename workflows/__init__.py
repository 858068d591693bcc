"""The campaign loop and its command line."""
