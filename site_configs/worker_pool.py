"""Parsl's manager of workers on this machine, by a clock that nobody sets: `python -m site_configs.worker_pool …`.

The arguments are those of the manager, handed on as they are.
"""

from __future__ import annotations

import runpy
import sys

from site_configs.steady import hold_clock

PARSLS_OWN = "parsl.executors.high_throughput.process_worker_pool"


def main(arguments: list[str]) -> None:
    """Run Parsl's manager in this process; its workers have clocks of their own."""
    hold_clock()
    sys.argv = [PARSLS_OWN, *arguments]
    runpy.run_module(PARSLS_OWN, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
