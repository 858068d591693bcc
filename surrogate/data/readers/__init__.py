"""Readers of data that somebody else wrote: each turns files of one format into columns of samples."""
