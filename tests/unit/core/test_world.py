"""Every rank compares the world it finds with the one that was launched."""

from __future__ import annotations

import pytest

from surrogate.core.errors import SiteError
from surrogate.core.world import WORLD_SIZE_VARIABLE, check_world_size, expected_world_size


def test_silence_is_accepted() -> None:
    assert expected_world_size({}) is None
    check_world_size(7, {})


def test_the_right_size_is_accepted() -> None:
    assert expected_world_size({WORLD_SIZE_VARIABLE: "4"}) == 4
    check_world_size(4, {WORLD_SIZE_VARIABLE: "4"})


def test_another_size_is_a_sentence() -> None:
    with pytest.raises(SiteError, match="WORLD SIZE: 4 ranks were launched, and this rank finds a world of 1"):
        check_world_size(1, {WORLD_SIZE_VARIABLE: "4"})


@pytest.mark.parametrize("text", ["", "two", "0", "-1", "2.0"])
def test_nonsense_is_a_sentence(text: str) -> None:
    with pytest.raises(SiteError, match="whole number of at least 1"):
        check_world_size(1, {WORLD_SIZE_VARIABLE: text})
