"""Readers of molecular data: ANI and COMP6 HDF5 files, rMD17 archives, extended XYZ."""

from surrogate.data.readers.molecules.reader import ANI, EXTXYZ, RMD17

__all__ = ["ANI", "EXTXYZ", "RMD17"]
