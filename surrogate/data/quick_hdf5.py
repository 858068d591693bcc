"""Small datasets written and read through h5py's low-level interface: a third of the usual time.

A run file is a dozen datasets of a few bytes. There are as many run files as runs, and each is written once and read
twice, so this is what an ensemble of short simulations spends its time on.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray


def create(parent: h5py.Group, name: str, array: NDArray[Any]) -> h5py.Dataset:
    """Write a new contiguous dataset; the same as `parent.create_dataset(name, data=array)`.

    Args:
        parent: Where it belongs.
        name: A plain name without slashes.
        array: Any shape; numbers, truth values, or fixed-length bytes whose dtype says how they are encoded.
    """
    shape = array.shape
    space = h5py.h5s.create_simple(shape) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
    node = h5py.h5d.create(parent.id, name.encode(), h5py.h5t.py_create(array.dtype, logical=True), space, _no_times())
    if array.size:
        node.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(array))
    return h5py.Dataset(node)


def group(parent: h5py.Group, name: str) -> h5py.Group:
    """Make a new group without times; else the same as `parent.create_group(name)`.

    Args:
        parent: Where it belongs.
        name: A plain name without slashes.
    """
    properties = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
    properties.set_obj_track_times(False)
    return h5py.Group(h5py.h5g.create(parent.id, name.encode(), gcpl=properties))


def groups(parent: h5py.Group, path: str) -> h5py.Group:
    """Return the group at a path, making what is missing on the way; the same as `parent.require_group(path)`.

    Args:
        parent: Where the path begins.
        path: Plain names joined by slashes.
    """
    for name in path.split("/"):
        parent = parent[name] if name in parent else group(parent, name)
    return parent


def new_file(buffer: io.BytesIO, userblock: int) -> h5py.File:
    """Begin a file in memory without times, in the format of HDF5 1.8 and later.

    Args:
        buffer: Where its bytes go.
        userblock: Bytes before HDF5's own; a power of two of at least 512.
    """
    creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    creation.set_userblock(userblock)
    creation.set_obj_track_times(False)
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_V18, h5py.h5f.LIBVER_LATEST)
    access.set_fileobj_driver(h5py.h5fd.fileobj_driver, buffer)
    return h5py.File(h5py.h5f.create(repr(buffer).encode(), h5py.h5f.ACC_TRUNC, fcpl=creation, fapl=access))


def whole(dataset: h5py.Dataset) -> NDArray[Any]:
    """Read all of a dataset; the same as `np.asarray(dataset[()])`.

    Args:
        dataset: Of any shape; numbers, truth values or fixed-length bytes.
    """
    node = dataset.id
    array = np.empty(node.shape, dtype=node.dtype)
    if array.size:
        node.read(h5py.h5s.ALL, h5py.h5s.ALL, array)
    return array


@lru_cache(maxsize=1)
def _no_times() -> h5py.h5p.PropDCID:
    """Return the properties of datasets without times: the same content has the same bytes."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_obj_track_times(False)
    return properties
