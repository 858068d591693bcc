"""Constants of nature that waveforms need.

The solar mass enters as G·M☉, which is known to far more digits than either factor: the nominal value of IAU 2015
Resolution B3. The parsec is that of IAU 2015 Resolution B2.
"""

from __future__ import annotations

LIGHT_SPEED = 299_792_458.0
"""Metres a second, exact."""

GM_SUN = 1.327_124_4e20
"""G·M☉, m³/s²."""

SUN_S = GM_SUN / LIGHT_SPEED**3
"""G·M☉/c³, seconds: a time of one solar mass."""

SUN_M = GM_SUN / LIGHT_SPEED**2
"""G·M☉/c², metres: a length of one solar mass."""

MPC_M = 3.085_677_581_491_367e22
"""A megaparsec, metres."""
