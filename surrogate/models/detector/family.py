"""The family `detector`: a classifier of windows of strain, learned from waveforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from surrogate.core.errors import DataError
from surrogate.core.schema import SampleTable, Schema, Values
from surrogate.models.detector.bank import decimated, make_bank
from surrogate.models.detector.exam import exam_of
from surrogate.models.detector.loss import LOG_MASSES, NOISE, TEMPLATES, detector_loss
from surrogate.models.detector.measures import detector_measures
from surrogate.models.detector.network import STRAIN, build_network
from surrogate.models.detector.noise import training_noise
from surrogate.models.detector.options import DetectorOptions
from surrogate.models.detector.panels import detector_panels
from surrogate.models.detector.transforms import DetectorTransforms, own
from surrogate.models.detector.waveforms import CROSS, PLUS, heavier_first, spectra, timing, whitened_rows, whiteners
from surrogate.models.panels import Panel
from surrogate.models.protocols import Forward, Measure, Network, Prediction, Rows, Transforms
from surrogate.signal.whiten import Whitener

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

_ROWS_AT_ONCE = 32
"""Windows in one call of a network: what it works on stays in the cache of a core."""


class Detector:
    """Strain in, logit and masses out (see `Family`)."""

    name = "detector"
    options_type = DetectorOptions
    baselines = ()

    def measures(self, schema: Schema) -> tuple[Measure, ...]:  # noqa: ARG002 - protocol
        """Return surprise, sensitivities, the ROC's area and the error of the masses."""
        return detector_measures()

    def fit(self, train: SampleTable, options: BaseModel, seed: int) -> DetectorTransforms:
        """Whiten the waveforms and make filters and templates of them.

        Args:
            train: Waveforms, at least two.
            options: `DetectorOptions`.
            seed: Decides which stretches of real noise are trained on.

        Raises:
            DataError: If the columns are no waveforms, or a file cannot be used.
        """
        options = DetectorOptions.model_validate(options)
        timed = timing(train.schema)
        if len(train) < 2:
            raise DataError(f"A detector needs at least 2 training waveforms, and there are {len(train)}.")
        rate = timed[0]
        densities, df = spectra((options.psd, *options.hardening.psds), rate)
        noise, starts = training_noise(options, rate, seed)
        empty = np.zeros((0, 0), dtype=np.float32)
        bare = DetectorTransforms(
            options, rate, PLUS, CROSS, densities, df, empty, empty[:, :, None], np.zeros((0, 2)), noise, starts
        )
        # A filter reaches as far as it can for a peak anywhere in the allowed part of the window.
        reach = bare.edge(options.peak_from), bare.samples - bare.edge(options.peak_to)
        rows = whitened_rows(train.columns, timed, _whiteners(bare), reach)
        bank = make_bank(
            decimated(rows, options.decimate), energy=options.energy, most_filters=options.filters,
            minimal_match=options.minimal_match, most_templates=options.templates,
        )  # fmt: skip
        return DetectorTransforms(
            options, rate, PLUS, CROSS, densities, df, bank.filters.astype(np.float32),
            bank.templates.astype(np.float32), heavier_first(train)[bank.chosen], noise, starts,
        )  # fmt: skip

    def restore(
        self,
        schema: Schema,  # noqa: ARG002 - protocol
        arrays: Mapping[str, NDArray[Any]],
        record: Mapping[str, Any],
    ) -> DetectorTransforms:
        """Rebuild transforms from `arrays` and `to_json`."""
        return DetectorTransforms.restore(arrays, record)

    def build(self, transforms: Transforms, options: BaseModel, seed: int) -> keras.Model:
        """Return one member's network."""
        return build_network(own(transforms), DetectorOptions.model_validate(options), seed)

    def rows(self, transforms: Transforms, table: SampleTable) -> Rows:
        """Return whitened polarisations `[N, 2, S]`, logarithms of masses `[N, 2]`, and real noise `[N, T, D]`.

        The network's own input is among them, so that the exports can be tried out: each row's window in its middle.
        """
        mine = own(transforms)
        waves = whitened_rows(table.columns, timing(table.schema), _whiteners(mine), mine.reach).astype(np.float32)
        rows: Rows = {TEMPLATES: waves, LOG_MASSES: np.log(heavier_first(table)).astype(np.float32)}
        middle = mine.reach[0] - (mine.edge(mine.options.peak_from) + mine.reach[0]) // 2
        window = waves[:, 0, middle : middle + mine.samples, np.newaxis] * np.float32(10.0)
        rows[STRAIN] = np.repeat(window, mine.options.detectors, axis=2)
        if len(mine.noise_starts):
            random = np.random.default_rng(len(table))
            picks = random.choice(mine.noise_starts, (len(table), mine.options.detectors))
            index = picks[:, np.newaxis, :] + np.arange(mine.samples)[np.newaxis, :, np.newaxis]
            rows[NOISE] = mine.noise[index]
        return rows

    def loss(self, transforms: Transforms, network: Network, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Return the loss of each row, `[B]`."""
        return detector_loss(own(transforms), network, batch)

    def exam(self, transforms: Transforms, table: SampleTable, seed: int) -> SampleTable:
        """Return windows of strain with and without the waveforms of a table (see `HasExam`)."""
        mine = own(transforms)
        waves = whitened_rows(table.columns, timing(table.schema), _whiteners(mine)[:1], mine.reach)
        return exam_of(mine, waves, heavier_first(table), table, seed)

    def predict(
        self,
        transforms: Transforms,
        forwards: Sequence[Forward],
        inputs: Mapping[str, Values],
    ) -> list[dict[str, Values]]:
        """Return each member's probability of a signal, logit, masses (solar masses) and arrival (s), `[N]` each."""
        mine = own(transforms)
        strain = np.asarray(inputs[STRAIN], dtype=np.float32)
        windows = strain[:, :, np.newaxis] if strain.ndim == 2 else np.moveaxis(strain, 1, 2)
        windows = windows.reshape(-1, mine.samples, mine.options.detectors)
        members: list[dict[str, Values]] = []
        for forward in forwards:
            parts = [
                forward({STRAIN: windows[start : start + _ROWS_AT_ONCE]})
                for start in range(0, max(len(windows), 1), _ROWS_AT_ONCE)
            ]
            logit = np.concatenate([part["logit"][:, 0] for part in parts]).astype(np.float64)
            masses = np.exp(np.concatenate([part["log_masses"] for part in parts]).astype(np.float64))
            arrival = np.concatenate([part["arrival"][:, 0] for part in parts]).astype(np.float64)
            signal = 0.5 * (1.0 + np.tanh(0.5 * logit))
            members.append(
                {"signal": signal, "logit": logit, "mass_1": masses[:, 0], "mass_2": masses[:, 1], "arrival": arrival}
            )
        return members

    def panels(self, truth: SampleTable, prediction: Prediction) -> Sequence[Panel]:
        """Return the pictures of the report (see `HasPanels`)."""
        return detector_panels(truth, prediction)


def _whiteners(transforms: DetectorTransforms) -> list[Whitener]:
    options = transforms.options
    return whiteners(
        transforms.densities, transforms.df, transforms.rate, filter_s=options.filter_s, low_hz=options.low_hz
    )


FAMILY = Detector()
