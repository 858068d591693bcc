"""Counting cores and memory under the limits of control groups of both versions."""

from __future__ import annotations

import os

import pytest

from site_configs.machine import count_cores, count_memory_mib


def build(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


MEMORY = {"proc/meminfo": "MemTotal:       8388608 kB\nMemFree: 1 kB\n"}
V2 = {**MEMORY, "proc/self/cgroup": "0::/user/job\n"}
V1 = {**MEMORY, "proc/self/cgroup": "4:cpu,cpuacct:/job\n3:memory:/job\n1:name=systemd:/\n"}


@pytest.mark.parametrize(
    ("files", "cores", "memory_mib"),
    [
        (MEMORY, 16, 8192),
        (V2, 16, 8192),
        ({**V2, "sys/fs/cgroup/user/job/cpu.max": "max 100000\n"}, 16, 8192),
        ({**V2, "sys/fs/cgroup/user/job/cpu.max": "250000 100000\n"}, 2, 8192),
        ({**V2, "sys/fs/cgroup/user/cpu.max": "400000 100000\n"}, 4, 8192),
        ({**V2, "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1, 8192),
        ({**V2, "sys/fs/cgroup/user/job/memory.max": f"{3 * 2**30}\n"}, 16, 3072),
        ({**V2, "sys/fs/cgroup/user/job/memory.max": "max\n", "sys/fs/cgroup/user/memory.max": str(2**30)}, 16, 1024),
        (
            {
                **V1,
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "300000",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": str(2**31),
            },
            3,
            2048,
        ),
        (
            {**V1, "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "1"},
            16,
            8192,
        ),
        ({**V1, "sys/fs/cgroup/memory/memory.limit_in_bytes": str(2**63 - 4096)}, 16, 8192),
    ],
)
def test_limits_of_control_groups(tmp_path, files, cores, memory_mib):
    root = build(tmp_path, files)
    assert count_cores(root, affinity=16) == cores
    assert count_memory_mib(root) == memory_mib


def test_this_machine():
    assert 1 <= count_cores() <= len(os.sched_getaffinity(0))
    assert count_memory_mib() > 0


def test_the_affinity_is_respected():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert count_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
