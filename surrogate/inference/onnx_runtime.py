"""Networks executed by onnxruntime on the CPU, without TensorFlow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import IntegrityError, MissingExtraError
from surrogate.models.protocols import Forward, Rows


class OnnxRuntime:
    """Loads `.onnx` files.

    Attributes:
        name: `onnx`.
        kind: `onnx`.
        version: Name and version of the library.
    """

    name = "onnx"
    kind = "onnx"

    def __init__(self, threads: int = 1) -> None:
        """Find the library.

        Args:
            threads: Threads of one call; 0 leaves the choice to the library.

        Raises:
            MissingExtraError: If onnxruntime is not installed.
        """
        # The library reports its use to its vendor over the network, and leaves a file behind, unless this is set
        # before it is loaded. Compute nodes and other people's inputs are nobody's business.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingExtraError("The runtime 'onnx'", "train") from error
        self._library = onnxruntime
        self._options = onnxruntime.SessionOptions()
        self._options.intra_op_num_threads = threads
        self._options.inter_op_num_threads = 1
        self._options.log_severity_level = 3
        self.version = f"onnxruntime {onnxruntime.__version__}"

    def open(self, path: Path) -> Forward:
        """Load one network.

        Args:
            path: An `.onnx` file.

        Raises:
            IntegrityError: If the file cannot be loaded.
        """
        try:
            session = self._library.InferenceSession(
                str(path), sess_options=self._options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime's exceptions share no root
            raise IntegrityError(f"The network {path} cannot be loaded by {self.version}: {error}") from error
        feeds = {entry.name.removesuffix(":0"): entry.name for entry in session.get_inputs()}
        names = [entry.name for entry in session.get_outputs()]

        def forward(rows: Rows) -> dict[str, NDArray[Any]]:
            given = {feeds[name]: np.ascontiguousarray(rows[name], dtype=np.float32) for name in feeds}
            results = session.run(names, given)
            return {name.removesuffix(":0"): value for name, value in zip(names, results, strict=True)}

        return forward
