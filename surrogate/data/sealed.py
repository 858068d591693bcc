"""HDF5 files with a seal: 512 bytes in front that hold the kind, the format's version, the size and a SHA-256.

The seal is written last and covers every byte, so one look tells a whole file from a torn or damaged one before
libhdf5 is given a chance to misread it. The file is built in memory and written in one piece: libhdf5 crashes
the process when the disk runs full under it, and parallel file systems like one large write better than many small
ones. The seal stands in HDF5's own user block, so h5dump, h5py and others open the file as usual.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py

from surrogate.core.errors import DataError, IntegrityError
from surrogate.data.quick_hdf5 import new_file

SEAL_BYTES = 512
_FORM = re.compile(
    rb"surrogate-sealed-hdf5\nkind ([a-z-]+)\nversion (\d+)\nsize (\d+)\nsha256 ([0-9a-f]{64})\n\0*", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Seal:
    """What the first 512 bytes of a sealed file say.

    Attributes:
        kind: What the file is, for example `run`.
        version: Version of its format.
        size: Bytes of the whole file.
        sha256: Hash of everything behind the seal (hex, 64 characters).
    """

    kind: str
    version: int
    size: int
    sha256: str

    def to_bytes(self) -> bytes:
        """Return the 512 bytes."""
        text = (
            f"surrogate-sealed-hdf5\nkind {self.kind}\nversion {self.version}\nsize {self.size}\nsha256 {self.sha256}\n"
        )
        return text.encode().ljust(SEAL_BYTES, b"\0")


def sealed_bytes(kind: str, version: int, fill: Callable[[h5py.File], None]) -> memoryview:
    """Return a whole sealed file.

    Args:
        kind: What the file is: lower-case letters and hyphens.
        version: Version of its format.
        fill: Writes the content into an empty HDF5 file.
    """
    buffer = io.BytesIO()
    with new_file(buffer, SEAL_BYTES) as file:
        fill(file)
    return seal_in_place(buffer.getbuffer(), kind, version)


def seal_in_place(content: memoryview, kind: str, version: int) -> memoryview:
    """Write the seal of a file into its first bytes, and return the file.

    Args:
        content: The file; its first `SEAL_BYTES` bytes are replaced.
        kind: As for `sealed_bytes`.
        version: As for `sealed_bytes`.
    """
    seal = Seal(kind, version, len(content), hashlib.sha256(content[SEAL_BYTES:]).hexdigest())
    content[:SEAL_BYTES] = seal.to_bytes()
    return content


def read_seal(path: Path, kind: str, version: int, way_out: str, *, verify: bool = True) -> Seal:
    """Read and check the seal of a file.

    Args:
        path: The file.
        kind: The kind that is wanted.
        version: The newest version that can be read.
        way_out: A sentence that says what to do when the file is damaged.
        verify: Compare the hash too, which reads the whole file; otherwise only the seal and the size.

    Raises:
        DataError: If the file is of another kind, or was written by a newer version of this program.
        IntegrityError: If the file is missing, torn or damaged.
    """
    try:
        with path.open("rb") as source:
            head = source.read(SEAL_BYTES)
            found = _FORM.fullmatch(head)
            if found is None or len(head) != SEAL_BYTES:
                raise IntegrityError(
                    f"The file {path} is no whole {kind} file: its first {SEAL_BYTES} bytes are not a seal. {way_out}"
                )
            seal = Seal(found[1].decode(), int(found[2]), int(found[3]), found[4].decode())
            if seal.to_bytes() != head:
                raise IntegrityError(f"The file {path} is damaged: its seal is not as it was written. {way_out}")
            size = source.seek(0, io.SEEK_END)
            if size != seal.size:
                raise IntegrityError(
                    f"The file {path} is torn: it has {size} bytes, and {seal.size} were written. {way_out}"
                )
            if verify:
                source.seek(SEAL_BYTES)
                if hashlib.file_digest(source, "sha256").hexdigest() != seal.sha256:
                    raise IntegrityError(f"The file {path} is damaged: its bytes are not those written. {way_out}")
    except FileNotFoundError as error:
        raise IntegrityError(f"The file {path} is missing. {way_out}") from error
    except OSError as error:
        raise IntegrityError(f"The file {path} cannot be read ({error.strerror or error}). {way_out}") from error
    if seal.kind != kind:
        raise DataError(f"The file {path} is a {seal.kind} file, and a {kind} file is needed.")
    if seal.version > version:
        raise DataError(
            f"The file {path} is of format version {seal.version}, and this program reads up to version {version}. "
            "Install a newer surrogate-hpc."
        )
    return seal


@contextlib.contextmanager
def open_sealed(
    path: Path, kind: str, version: int, way_out: str, *, verify: bool = True
) -> Iterator[tuple[h5py.File, Seal]]:
    """Open a sealed file for reading, after its seal was checked.

    Args:
        path: The file.
        kind: The kind that is wanted.
        version: The newest version that can be read.
        way_out: A sentence that says what to do when the file is damaged.
        verify: Compare the hash too.

    Yields:
        The open HDF5 file and its seal.

    Raises:
        DataError: If the file is of another kind, or newer than this program.
        IntegrityError: If the file is missing, torn or damaged, or lacks what the reader looks for in it.
    """
    seal = read_seal(path, kind, version, way_out, verify=verify)
    try:
        with h5py.File(path, "r") as file:
            yield file, seal
    except (KeyError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise IntegrityError(f"The file {path} cannot be read as a {kind} file ({error}). {way_out}") from error
