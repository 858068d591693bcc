"""The Simulator of GFN-xTB by tblite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim_wrappers.molecular.batch_adapter import BatchAdapter
from sim_wrappers.options import one_of, real, refuse_unknown, whole
from sim_wrappers.protocol import Simulator
from sim_wrappers.tblite_xtb import VERSION
from surrogate.core.errors import ConfigError
from surrogate.design.xtb import ACCURACY, METHODS

_NAME = "tblite"


class Tblite(BatchAdapter):
    """Structures of atoms → energy, forces (see `Simulator`).

    Options: `method` (GFN2-xTB, GFN1-xTB or IPEA1-xTB), `accuracy` (of tblite's unit; smaller is better), `cycles`.
    """

    name = _NAME
    module = "sim_wrappers.tblite_xtb.program"
    package = "tblite"
    what = "tblite (GFN2-xTB)"
    own_version = VERSION

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return `method`, `accuracy` and `cycles` (see `Simulator.check_options`)."""
        refuse_unknown(_NAME, options, ("method", "accuracy", "cycles"))
        accuracy = real(_NAME, "accuracy", options.get("accuracy", ACCURACY))
        if not 1e-4 <= accuracy <= 10.0:
            raise ConfigError(f"Option 'accuracy' of {_NAME} must be between 1e-4 and 10; {accuracy:g} was given.")
        return {
            "method": one_of(_NAME, "method", options.get("method", "GFN2-xTB"), METHODS),
            "accuracy": accuracy,
            "cycles": whole(_NAME, "cycles", options.get("cycles", 250), low=1),
        }

    def level_of_theory(self, options: Mapping[str, Any]) -> str:
        """Return the method."""
        return str(options["method"])


SIMULATOR: Simulator = Tblite()
