"""Three integers, checked once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from site_configs.resources import ResourceRequest
from surrogate.core.errors import ResourceError


@pytest.mark.parametrize(
    ("given_numbers", "expected"),
    [
        ({}, (1, 1, 1)),
        ({"ranks": 8}, (1, 8, 8)),
        ({"nodes": 2, "ranks": 8}, (2, 4, 8)),
        ({"ranks_per_node": 4, "ranks": 8}, (2, 4, 8)),
        ({"nodes": 3}, (3, 1, 3)),
        ({"nodes": 2, "ranks_per_node": 4}, (2, 4, 8)),
        ({"nodes": 2, "ranks_per_node": 4, "ranks": 8}, (2, 4, 8)),
    ],
)
def test_the_missing_integers_are_filled_in(given_numbers, expected):
    request = ResourceRequest.resolve(**given_numbers)
    assert (request.nodes, request.ranks_per_node, request.ranks) == expected


@pytest.mark.parametrize(
    "numbers",
    [
        {"nodes": 2, "ranks": 7},
        {"ranks_per_node": 3, "ranks": 8},
        {"nodes": 2, "ranks_per_node": 2, "ranks": 5},
        {"nodes": 4, "ranks": 2},
        {"nodes": 0},
        {"ranks": 0},
        {"ranks": "4"},
        {"ranks": 4.0},
        {"ranks": True},
        {"ranks_per_node": -1, "ranks": 4},
    ],
)
def test_what_does_not_divide_is_refused_in_a_sentence(numbers):
    with pytest.raises(ResourceError, match=r"\.$"):
        ResourceRequest.resolve(**numbers)


@pytest.mark.parametrize("field", ["cores_per_rank", "gpus_per_rank", "memory_per_rank_mib", "walltime_s"])
def test_sizes_are_whole_numbers(field):
    for wrong in (-1, 1.5, "2", True, None):
        with pytest.raises(ResourceError, match=field):
            ResourceRequest(**{field: wrong})


@settings(deadline=None)
@given(nodes=st.integers(1, 64), per_node=st.integers(1, 64))
def test_nodes_times_ranks_per_node_are_the_ranks(nodes, per_node):
    by_ranks = ResourceRequest.resolve(nodes=nodes, ranks=nodes * per_node)
    assert by_ranks == ResourceRequest.resolve(nodes=nodes, ranks_per_node=per_node)
    assert by_ranks.ranks == by_ranks.nodes * by_ranks.ranks_per_node
    with pytest.raises(ResourceError):
        ResourceRequest(nodes, per_node, nodes * per_node + 1)
