"""Networks executed by Keras on TensorFlow."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import IntegrityError, MissingExtraError
from surrogate.models.protocols import Forward, Rows

_LOG = logging.getLogger(__name__)


class KerasRuntime:
    """Loads `.keras` files (Keras v3; its safe mode refuses code).

    Attributes:
        name: `tensorflow`.
        kind: `keras`.
        version: Names and versions of the libraries.
    """

    name = "tensorflow"
    kind = "keras"

    def __init__(self, threads: int = 1) -> None:
        """Find the libraries.

        Args:
            threads: Threads of one call; 0 leaves the choice to the library. TensorFlow fixes it at its first
                operation in a process; a later, other wish has no effect.

        Raises:
            MissingExtraError: If TensorFlow or Keras is not installed.
        """
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        os.environ.setdefault("KERAS_BACKEND", "tensorflow")
        # TensorFlow announces oneDNN at any log level; without it the numbers are the same on every processor.
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
        try:
            import keras
            import tensorflow as tf
        except ImportError as error:
            raise MissingExtraError("The runtime 'tensorflow'", "train") from error
        self._keras, self._tensorflow = keras, tf
        # Every member is a function of its own, which TensorFlow would take for one that is traced again and again.
        tf.get_logger().setLevel("ERROR")
        if threads and tf.config.threading.get_intra_op_parallelism_threads() != threads:
            try:
                tf.config.threading.set_intra_op_parallelism_threads(threads)
            except RuntimeError:
                _LOG.info("TensorFlow was already running in this process and keeps the threads that it began with.")
        self.version = f"tensorflow {tf.__version__}, keras {keras.__version__}"

    def open(self, path: Path) -> Forward:
        """Load one network.

        Args:
            path: A `.keras` file.

        Raises:
            IntegrityError: If the file cannot be loaded.
        """
        try:
            model = self._keras.saving.load_model(path, compile=False, safe_mode=True)
        except Exception as error:  # Keras raises several unrelated types
            raise IntegrityError(f"The network {path} cannot be loaded by {self.version}: {error}") from error
        call = self._tensorflow.function(lambda inputs: model(inputs, training=False), reduce_retracing=True)
        names = [tensor.name for tensor in model.inputs]

        def forward(rows: Rows) -> dict[str, NDArray[Any]]:
            given = {name: self._tensorflow.constant(np.asarray(rows[name], dtype=np.float32)) for name in names}
            return {name: value.numpy() for name, value in call(given).items()}

        return forward
