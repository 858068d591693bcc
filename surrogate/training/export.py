"""Networks as files: Keras for training on, ONNX for prediction without TensorFlow, and the check that both agree."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import TrainingError
from surrogate.core.files import atomic_path
from surrogate.models.agreement import TOLERANCE, largest_difference
from surrogate.models.protocols import Forward, Rows

if TYPE_CHECKING:
    import keras

_ROWS = 256


def keras_forward(model: keras.Model) -> Forward:
    """Return a network as a function of NumPy rows, compiled once for any number of them."""
    import tensorflow as tf

    names = [tensor.name for tensor in model.inputs]
    signature = [{tensor.name: tf.TensorSpec([None, *tensor.shape[1:]], tensor.dtype) for tensor in model.inputs}]
    call = tf.function(lambda inputs: model(inputs, training=False), input_signature=signature)

    def forward(rows: Rows) -> dict[str, NDArray[Any]]:
        outputs = call({name: tf.constant(rows[name]) for name in names})
        return {name: value.numpy() for name, value in outputs.items()}

    return forward


def write_keras(model: keras.Model, path: Path) -> None:
    """Write a `.keras` file atomically."""
    with atomic_path(path) as temporary:
        model.save(temporary)


def write_onnx(model: keras.Model, path: Path, sample: Rows) -> None:
    """Write an `.onnx` file atomically, with a free batch dimension.

    Args:
        model: The network.
        path: The file.
        sample: A few rows; the network is called with them once, as the export demands.

    Raises:
        TrainingError: If the network has an operation that ONNX does not.
    """
    import onnx

    model({tensor.name: sample[tensor.name] for tensor in model.inputs}, training=False)
    with atomic_path(path) as temporary:
        try:
            # The exporter writes to the screen, and warns about NumPy names that it looks for and does not use.
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                model.export(str(temporary), format="onnx", verbose=False)
            # An operation that it does not know is left in the file under its own name.
            onnx.checker.check_model(str(temporary))
        except Exception as error:  # the exporters below Keras raise many types
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise TrainingError(
                f"The network cannot be written as ONNX: {reason}. Choose another activation or layer, for example "
                "'silu'."
            ) from error


def onnx_difference(path: Path, forward: Forward, sample: Rows) -> float:
    """Return the largest difference between an ONNX file and the network that it was made of.

    It is measured as `surrogate.models.agreement` says: over the largest output or 1, whichever is larger.

    Args:
        path: The `.onnx` file.
        forward: The network in Keras.
        sample: Rows to compare on; the first 256 together, and one alone.

    Raises:
        TrainingError: If they differ by more than 1e-5, or the names of the outputs differ.
    """
    # The library reports its use to its vendor over the network, unless this is set before it is loaded.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), sess_options=options, providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_outputs()]
    worst = 0.0
    for count in (_ROWS, 1):
        rows = {entry.name: np.ascontiguousarray(sample[entry.name][:count]) for entry in session.get_inputs()}
        expected = forward(rows)
        if sorted(names) != sorted(expected):
            raise TrainingError(f"The ONNX export has the outputs {sorted(names)}, and the network {sorted(expected)}.")
        difference, name = largest_difference(dict(zip(names, session.run(names, rows), strict=True)), expected)
        if not difference <= TOLERANCE:
            raise TrainingError(
                f"The ONNX export gives other numbers than Keras: in '{name}' they differ by {difference:.1e} of the "
                f"largest value, and {TOLERANCE:g} is allowed. Train in float32 and without layers that ONNX "
                "approximates."
            )
        worst = max(worst, difference)
    return worst
