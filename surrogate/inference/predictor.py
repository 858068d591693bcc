"""A trained surrogate in one call: inputs in, mean, deviation, interval and domain flag out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surrogate.core.errors import IntegrityError
from surrogate.core.files import read_json
from surrogate.core.schema import RAGGED, Ragged, SampleTable, Schema, Values
from surrogate.design.space import InputSpace
from surrogate.inference.artifact import Artifact, open_artifact
from surrogate.inference.domain import in_domain
from surrogate.inference.questions import check_inputs
from surrogate.inference.runtime import RUNTIMES, Runtime, runtime
from surrogate.models.catalog import family as find_family
from surrogate.models.combine import combine
from surrogate.models.exams import exam_table
from surrogate.models.protocols import Family, Forward, HasDomain, HasLayers, Prediction, Transforms
from surrogate.models.values import count_samples, cut, flat, join, sample_means

BATCH_ROWS = 4096
"""Most rows that are predicted at once, unless the caller says otherwise."""

BATCH_ELEMENTS = 2_000_000
"""Most output numbers of a member that are predicted at once: fields of many cells go in smaller batches."""


class Predictor:
    """A surrogate that answers.

    Attributes:
        artifact: What it was loaded from.
        runtime: Name and version of what executes its networks.
    """

    def __init__(
        self, artifact: Artifact, family: Family, transforms: Transforms, forwards: Sequence[Forward], runtime: str
    ) -> None:
        """Put the parts together; `load` is the usual way.

        Args:
            artifact: The verified artifact.
            family: Its model family.
            transforms: What the family fitted on the training rows.
            forwards: One network a member.
            runtime: Name and version of what executes them.
        """
        self.artifact = artifact
        self.runtime = runtime
        self._family = family
        self._transforms = transforms
        self._forwards = list(forwards)

    @classmethod
    def load(
        cls, artifact_dir: Path | str, runtime: str = RUNTIMES[0], *, threads: int = 1, family: Family | None = None
    ) -> Predictor:
        """Load a surrogate and check every file of it.

        Args:
            artifact_dir: Folder of the artifact.
            runtime: `onnx` (needs no TensorFlow) or `tensorflow`.
            threads: Threads that one call may use; 0 leaves the choice to the runtime.
            family: The family to use, where it is not in the catalogue.

        Raises:
            IntegrityError: If the artifact is unfinished, altered or damaged.
            MissingExtraError: If the runtime is not installed.
            ConfigError: If runtime or family is unknown.
        """
        artifact = open_artifact(Path(artifact_dir))
        if family is None:
            family = find_family(artifact.family)
        transforms = restore_transforms(artifact, family)
        engine = _runtime(runtime, threads)
        if engine.kind == "keras" and isinstance(family, HasLayers):
            family.register_layers()
        forwards = [engine.open(path) for path in artifact.members(engine.kind)]
        return cls(artifact, family, transforms, forwards, engine.version)

    @property
    def family(self) -> Family:
        """The model family."""
        return self._family

    @property
    def transforms(self) -> Transforms:
        """What the family fitted on the training rows."""
        return self._transforms

    @property
    def schema(self) -> Schema:
        """Columns that it is asked and answers, with their units."""
        return self.artifact.schema

    def exam(self, table: SampleTable, seed: int) -> SampleTable:
        """Return what samples ask of this surrogate: themselves, unless its family has an exam of its own.

        Args:
            table: Samples in the columns that it was trained on.
            seed: Of whatever the family draws.
        """
        return exam_table(self._family, self._transforms, table, seed)

    @property
    def space(self) -> InputSpace | None:
        """The declared input space, or None."""
        return self.artifact.space

    @property
    def members(self) -> int:
        """Number of members of the ensemble."""
        return len(self._forwards)

    @property
    def batch_rows(self) -> int:
        """Rows that are worked on at once; fewer where the outputs of one are many."""
        width = sum(
            int(np.prod([256 if length == RAGGED else length for length in column.shape], dtype=np.int64))
            for column in self.schema.outputs
        )
        return int(min(BATCH_ROWS, max(1, BATCH_ELEMENTS // max(width, 1))))

    def predict(
        self, inputs: Mapping[str, ArrayLike | Ragged], *, batch_rows: int | None = None, keep_members: bool = False
    ) -> Prediction:
        """Answer N points; beside the answer no more than `batch_rows` rows are worked on at once.

        Args:
            inputs: Input name → `[N, *shape]`, `[*shape]` for one point, or Ragged; in the declared units.
            batch_rows: Rows at once, at least 1; None fits them to the size of the outputs.
            keep_members: Keep each member's outputs, too.

        Returns:
            Mean, standard deviation, 90 % interval and domain flag of every row; float64, in the outputs' units. A
            point outside the domain is answered and flagged; where a family has no number for it, by NaN.

        Raises:
            DataError: If the inputs are not what the surrogate was trained on.
            IntegrityError: If a network answers with numbers that are not finite inside the domain.
        """
        checked = check_inputs(self.schema, inputs)
        count = count_samples(checked)
        step = self.batch_rows if batch_rows is None else max(1, int(batch_rows))
        starts = range(0, count, step) if count else range(1)
        return join_predictions(
            [self._answer(cut(checked, start, min(start + step, count)), keep_members) for start in starts]
        )

    def stream(self, batches: Iterable[Mapping[str, ArrayLike | Ragged]]) -> Iterator[Prediction]:
        """Answer batch after batch; memory does not grow with the number of batches.

        Args:
            batches: Inputs as for `predict`, one mapping a batch.

        Raises:
            DataError: If the inputs of a batch are not what the surrogate was trained on.
        """
        for batch in batches:
            yield self.predict(batch)

    def _answer(self, inputs: Mapping[str, Values], keep_members: bool) -> Prediction:
        """Answer one batch of checked inputs."""
        # What overflows far outside becomes inf or nan; that is checked and flagged below, and needs no warning.
        with np.errstate(over="ignore", invalid="ignore"):
            members = self._family.predict(self._transforms, self._forwards, inputs)
            mean, std = combine(members)
            lower, upper = self.artifact.calibration.interval(mean, std)
        flags = in_domain(self.space, self.artifact.domain, inputs)
        if isinstance(self._family, HasDomain):
            flags &= self._family.knows(self._transforms, inputs, std)
        for name, values in mean.items():
            # Far outside, for example below zero on a logarithmic scale, there may be no number; the flag says so.
            if not np.isfinite(sample_means(values, flat(values))[flags & _filled(values)]).all():
                raise IntegrityError(
                    f"The surrogate in {self.artifact.folder} answers '{name}' with numbers that are not finite "
                    "at points inside its domain. Do not use this version; roll back to an earlier one."
                )
        kept: dict[str, list[Values]] = {}
        if keep_members:
            kept = {name: [member[name] for member in members] for name in mean}
        return Prediction(mean, std, lower, upper, flags, kept)


def _filled(values: Values) -> NDArray[np.bool_]:
    """Return which samples of a column have any element, `[N]` bool."""
    if isinstance(values, Ragged):
        return np.asarray(np.diff(values.offsets) > 0, dtype=np.bool_)
    return np.ones(len(values), dtype=np.bool_)


def _runtime(name: str, threads: int) -> Runtime:
    """Return the runtime; a function of its own, since a parameter of `load` bears the same name."""
    return runtime(name, threads)


def restore_transforms(artifact: Artifact, family: Family) -> Transforms:
    """Rebuild what a family fitted on the training rows.

    Raises:
        IntegrityError: If its files are missing or do not belong together.
    """
    arrays = artifact.arrays("transforms.npz")
    record = read_json(artifact.folder / "transforms.json")
    try:
        return family.restore(artifact.schema, arrays, record)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise IntegrityError(
            f"The transforms of the surrogate in {artifact.folder} cannot be rebuilt by family '{family.name}': "
            f"{error!r}. Train it again."
        ) from error


def join_predictions(parts: Sequence[Prediction]) -> Prediction:
    """Return the rows of all parts, in order.

    Args:
        parts: At least one prediction of the same outputs.
    """
    if len(parts) == 1:
        return parts[0]

    def joined(pick: str) -> dict[str, Values]:
        return {name: join([getattr(part, pick)[name] for part in parts]) for name in parts[0].mean}

    flags: NDArray[np.bool_] = np.concatenate([part.in_domain for part in parts])
    members = {
        name: [join([part.members[name][index] for part in parts]) for index in range(len(kept))]
        for name, kept in parts[0].members.items()
    }
    return Prediction(joined("mean"), joined("std"), joined("lower"), joined("upper"), flags, members)
