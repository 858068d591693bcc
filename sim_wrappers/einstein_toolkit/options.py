"""`[simulator.options]` of the simulator `einstein_toolkit`, as one strict model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from sim_wrappers.external.parts import Part, Source, Word
from sim_wrappers.options import complete_options, read_options

Value = bool | int | float | str
_NAME = re.compile(r"[A-Za-z_]\w*")


class EinsteinToolkitOptions(Part):
    """Which executable runs which parameter file, and which waveform is taken from its output."""

    command: tuple[Word, ...] = Field(
        min_length=1,
        description="Cactus executable and its arguments; the parameter file is added. Found beside the campaign or on "
        "PATH.",
    )
    parfile: Source = Field(
        description="Parameter file (.par), or script that writes one (.rpar), with simfactory's placeholders @NAME@: "
        "inputs, 'values', and @SIMULATION_NAME@, @WALLTIME_HOURS@, @NUM_PROCS@, @NUM_THREADS@."
    )
    values: dict[str, Value] = Field(
        default={}, description="Numbers and words that fill placeholders and are the same in all runs."
    )
    checkpoint_margin_s: float = Field(
        default=1800.0, gt=0,
        description="Seconds before the walltime at which the run writes a checkpoint and ends; at most a quarter of "
        "the walltime is taken.",
    )  # fmt: skip
    mode: tuple[int, int] = Field(default=(2, 2), description="Mode (l, m) of the waveform.")
    radius: float = Field(default=100.0, gt=0, description="Radius at which ψ₄ was extracted, in the code's unit.")
    total_mass: float = Field(default=1.0, gt=0, description="Total mass in the code's unit.")
    junk: float = Field(
        default=75.0, ge=0,
        description="Time after the arrival of the first wave at the radius that is left out, in total masses: the "
        "initial data's own radiation.",
    )  # fmt: skip
    lowest_frequency: float = Field(
        default=0.0, ge=0, lt=1,
        description="Angular frequency below which ψ₄ is integrated as if it had this one, in one over the total mass. "
        "0 takes half of the mode's own frequency after the junk.",
    )  # fmt: skip
    before: float = Field(default=500.0, gt=0, description="Time before the peak that is kept, in total masses.")
    after: float = Field(default=75.0, gt=0, description="Time after the peak that is kept, in total masses.")
    step: float = Field(default=0.5, gt=0, le=10, description="Step of time, in total masses.")
    end: Literal["final_time", "none"] = Field(
        default="final_time", description="Whether a run must reach the parameter file's cctk_final_time."
    )

    @model_validator(mode="after")
    def _check(self) -> EinsteinToolkitOptions:
        if not self.parfile.endswith((".par", ".rpar")):
            raise ValueError("'parfile' must end in .par, or in .rpar for a script that writes one")
        if self.mode[0] < 2 or abs(self.mode[1]) > self.mode[0]:
            raise ValueError("'mode' is (l, m) with l of at least 2 and m between −l and l")
        for name in self.values:
            if not _NAME.fullmatch(name):
                raise ValueError(f"'{name}' cannot be the name of a placeholder")
        return self


def complete(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options, complete with defaults; see `complete_options`."""
    return complete_options(EinsteinToolkitOptions, options)


def read(options: Mapping[str, Any]) -> EinsteinToolkitOptions:
    """Return complete options as their model."""
    return read_options(EinsteinToolkitOptions, options)
