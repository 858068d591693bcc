"""Options of the family `detector`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class CurriculumOptions(BaseModel):
    """How loud the signals are, and how that changes while training goes on.

    The logarithm of the ratio lies between those of both ends, and half of all in the lowest quarter of it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    first_low: float = Field(8.0, gt=0, description="Smallest signal-to-noise ratio at the beginning.")
    first_high: float = Field(40.0, gt=0, description="Largest signal-to-noise ratio at the beginning.")
    last_low: float = Field(4.0, gt=0, description="Smallest signal-to-noise ratio at the end.")
    last_high: float = Field(40.0, gt=0, description="Largest signal-to-noise ratio at the end.")
    over: float = Field(0.5, gt=0, le=1, description="Share of the training after which the end is reached.")

    @model_validator(mode="after")
    def _check(self) -> CurriculumOptions:
        if self.first_low >= self.first_high or self.last_low >= self.last_high:
            raise ValueError("each smallest signal-to-noise ratio must lie below the largest one")
        return self


class HardeningOptions(BaseModel):
    """What noise is made of beside the Gaussian kind, so that the detector meets it before real noise does."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    glitches: float = Field(0.25, ge=0, le=1, description="Share of windows without signal that hold a glitch.")
    glitch_high: float = Field(60.0, gt=5, description="Largest signal-to-noise ratio of a glitch; the least is 5.")
    colour: float = Field(
        0.05, ge=0, le=1, description="Standard deviation of the logarithm of what whitening leaves of the spectrum."
    )
    signal_colour: float = Field(
        0.15, ge=0, le=1, description="The same of a signal's spectrum, as that of another noise whitens it."
    )
    psds: tuple[str, ...] = Field(
        (), description="Further spectra (files) that training waveforms are whitened by in turn, beside `psd`."
    )
    noise: tuple[str, ...] = Field((), description="Strain files whose noise is trained on beside simulated noise.")
    noise_share: float = Field(0.5, ge=0, le=1, description="Share of windows whose noise comes from `noise`.")


class DetectorOptions(BaseModel):
    """Options of the family `detector`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    detectors: Literal[1, 2] = Field(1, description="Detectors that one network looks at together.")
    psd: str = Field("aligo", description="Noise of the detectors: `aligo` (design sensitivity), or a file.")
    low_hz: float = Field(20.0, gt=0, description="Lowest frequency that counts, Hz.")
    filter_s: float = Field(0.5, gt=0, le=4, description="Length of the whitening filter, s.")
    window_s: float = Field(1.0, gt=0, le=64, description="Length of what the network looks at, s.")
    peak_from: float = Field(0.75, gt=0, description="Earliest place of a signal's peak in the window, s.")
    peak_to: float = Field(0.95, gt=0, description="Latest place of a signal's peak in the window, s.")
    energy: float = Field(0.999, gt=0, lt=1, description="Share of the waveforms' power that the filters keep.")
    filters: int = Field(96, ge=2, le=1024, description="Most filters.")
    minimal_match: float = Field(0.97, gt=0, lt=1, description="Match that every waveform has with a template.")
    templates: int = Field(192, ge=1, le=8192, description="Most templates.")
    decimate: int = Field(2, ge=1, le=8, description="Samples of the strain to one of the filters.")
    stride: int = Field(2, ge=1, le=16, description="Samples of the filters between two places of a peak.")
    train_filters: bool = Field(False, description="Whether filters and templates are trained, too, or only weighed.")
    width: int = Field(32, ge=4, le=512, description="Channels of the convolutions that look for what is no signal.")
    mass_weight: float = Field(0.05, ge=0, description="Weight of the error of the masses in the loss.")
    curriculum: CurriculumOptions = Field(default_factory=CurriculumOptions, description="How loud signals are.")
    hardening: HardeningOptions = Field(default_factory=HardeningOptions, description="What noise is made of.")
    exam_snr: tuple[float, ...] = Field((6.0, 8.0, 12.0), min_length=1, description="Ratios that it is examined at.")
    exam_noise: int = Field(16, ge=1, le=1000, description="Windows without signal for each waveform of an exam.")

    @model_validator(mode="after")
    def _check(self) -> DetectorOptions:
        if not self.peak_from < self.peak_to <= self.window_s:
            raise ValueError("peak_from must lie before peak_to, and both inside of the window")
        files = [name for name in (self.psd, *self.hardening.psds) if name != "aligo"]
        relative = [name for name in (*files, *self.hardening.noise) if not Path(name).is_absolute()]
        if relative:
            raise ValueError(
                f"'{relative[0]}' must be an absolute path, since the training runs in a folder of its own, or 'aligo'"
            )
        return self
