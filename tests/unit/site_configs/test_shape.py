"""How runs are laid out: managers where runs stay on their node, one manager where they share nodes."""

from __future__ import annotations

import pytest

from site_configs.partition import Partition
from site_configs.resources import ResourceRequest
from site_configs.shape import Shape, shape_of
from site_configs.site import Role, Site
from site_configs.slots import NodeSize
from surrogate.core.errors import ResourceError

SIZE = NodeSize(4, 8000, 0)


def site(nodes: int = 8, per_job: int | None = None, workers: int | None = None, **more) -> Site:
    partition = Partition(nodes_per_job=per_job, walltime_s=7200)
    return Site(
        name="s", scheduler="slurm", nodes=nodes, cores=4, memory_mib=8000, partitions={"p": partition},
        roles={"simulate": Role(workers=workers)}, **more,
    )  # fmt: skip


ONE, WIDE, TWO = ResourceRequest(1, 1, 1), ResourceRequest(1, 4, 4), ResourceRequest(2, 2, 4)


@pytest.mark.parametrize(
    ("where", "sizes", "expected"),
    [
        (site(), [ONE], Shape(1, 8, 1, 4, False, SIZE)),
        (site(per_job=4), [ONE], Shape(4, 2, 4, 4, False, SIZE)),
        (site(per_job=4), [WIDE], Shape(4, 2, 4, 1, False, SIZE)),
        (site(), [TWO], Shape(2, 4, 1, 2, True, SIZE)),
        (site(per_job=4), [TWO], Shape(4, 2, 1, 4, True, SIZE)),
        (site(per_job=3), [TWO], Shape(3, 2, 1, 2, True, SIZE)),
        (site(per_job=4), [TWO, ONE], Shape(4, 2, 1, 16, True, SIZE)),
        (site(workers=3), [ONE], Shape(1, 3, 1, 1, False, SIZE)),
        (site(workers=6, per_job=2), [ONE], Shape(2, 3, 2, 1, False, SIZE)),
    ],
)
def test_layouts(where, sizes, expected):
    found = shape_of(where, "simulate", sizes)
    assert found == expected
    assert found.at_once == expected.blocks * expected.managers * expected.workers


@pytest.mark.parametrize(
    ("where", "size", "words"),
    [
        (site(per_job=1), TWO, "a job on site 's' has 1 node,"),
        (site(nodes=1), TWO, "2 nodes"),
        (site(nodes=2, per_job=4), ONE, "has 4 nodes, and all jobs together 2"),
        (site(), ResourceRequest(1, 5, 5), "5 cores"),
        (site(), ResourceRequest(1, 1, 1, walltime_s=7201), "ends after 7200 s"),
    ],
)
def test_what_can_never_run_is_refused(where, size, words):
    with pytest.raises(ResourceError, match=words):
        shape_of(where, "simulate", [size])


def test_on_one_machine_all_runs_are_of_one_size():
    local = Site(name="l", cores=4, memory_mib=8000)
    assert shape_of(local, "simulate", [ONE, ONE]) == Shape(1, 1, 1, 4, False, SIZE)
    with pytest.raises(ResourceError, match="the same resources"):
        shape_of(local, "simulate", [ONE, WIDE])
