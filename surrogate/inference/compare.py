"""Whether two runtimes give the same answer: the same rows through the ONNX and the Keras networks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike, NDArray

from surrogate.core.schema import Ragged
from surrogate.inference.artifact import open_artifact
from surrogate.inference.predictor import restore_transforms
from surrogate.inference.questions import check_inputs
from surrogate.inference.runtime import runtime
from surrogate.models.agreement import largest_difference
from surrogate.models.catalog import family as find_family
from surrogate.models.protocols import Family, Forward, HasLayers, Rows


def runtime_difference(
    artifact_dir: Path, inputs: Mapping[str, ArrayLike | Ragged], *, family: Family | None = None
) -> float:
    """Return the largest difference between ONNX and Keras over all members' network outputs.

    Network outputs are compared, not physical ones, as `surrogate.models.agreement` says.

    Args:
        artifact_dir: Folder of an artifact that carries both kinds of network.
        inputs: Points to try, as for `Predictor.predict`.
        family: The family to use, where it is not in the catalogue.

    Raises:
        DataError: If the artifact lacks one kind of network, or the inputs are wrong.
        MissingExtraError: If a runtime is not installed.
        IntegrityError: If the artifact is damaged.
    """
    artifact = open_artifact(artifact_dir)
    if family is None:
        family = find_family(artifact.family)
    if isinstance(family, HasLayers):
        family.register_layers()
    pairs = [
        (runtime("onnx").open(onnx), runtime("tensorflow").open(keras))
        for onnx, keras in zip(artifact.members("onnx"), artifact.members("keras"), strict=True)
    ]
    worst = [0.0]

    def both(onnx: Forward, keras: Forward) -> Forward:
        def forward(rows: Rows) -> dict[str, NDArray[Any]]:
            answer, reference = onnx(rows), keras(rows)
            worst.append(largest_difference(answer, reference)[0])
            return answer

        return forward

    forwards = [both(onnx, keras) for onnx, keras in pairs]
    transforms = restore_transforms(artifact, family)
    family.predict(transforms, forwards, check_inputs(artifact.schema, inputs))
    return max(worst)
