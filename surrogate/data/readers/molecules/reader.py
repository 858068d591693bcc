"""The readers `ani`, `rmd17` and `extxyz`: each states what it assumes of units and sign, and checks it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from surrogate.data.readers.molecules.batches import Contents
from surrogate.data.readers.molecules.conventions import Assumed, settle
from surrogate.data.readers.molecules.files import open_ani, open_extxyz, open_rmd17
from surrogate.data.readers.molecules.options import MoleculeOptions
from surrogate.data.readers.molecules.source import MoleculeSource
from surrogate.data.readers.protocol import Source


@dataclass(frozen=True)
class MoleculeReader:
    """Reads files of molecules of one format (see `surrogate.data.readers.protocol.Reader`).

    Attributes:
        name: The format.
        suffixes: Endings of such files' names.
        opener: Opens a file.
        assumed: What the format takes for granted.
        options_type: What a person may say.
    """

    name: str
    suffixes: tuple[str, ...]
    opener: Callable[[Path], AbstractContextManager[Contents]]
    assumed: Assumed
    options_type: type[BaseModel] = MoleculeOptions

    def tags(self, path: Path, options: BaseModel) -> Mapping[str, str]:
        """Return nothing: names of files mean nothing here (see `Reader.tags`)."""
        del path, options
        return {}

    @contextlib.contextmanager
    def open(self, path: Path, options: BaseModel) -> Iterator[Source]:
        """Open a file and settle its conventions (see `Reader.open`)."""
        if not isinstance(options, MoleculeOptions):
            raise TypeError("The options of a reader of molecules are MoleculeOptions.")
        with self.opener(path) as contents:
            yield MoleculeSource(path, contents, settle(path, contents, self.assumed, options), options)


ANI = MoleculeReader("ani", (".h5", ".hdf5"), open_ani, Assumed("angstrom", "hartree", "wb97x/6-31g(d) cartesian"))
RMD17 = MoleculeReader("rmd17", (".npz",), open_rmd17, Assumed("angstrom", "kcal/mol", "pbe/def2-svp"))
EXTXYZ = MoleculeReader("extxyz", (".extxyz", ".xyz"), open_extxyz, Assumed("angstrom", None, "not stated"))
