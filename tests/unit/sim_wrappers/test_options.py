"""Wrong options are sentences."""

from __future__ import annotations

import pytest

from sim_wrappers import options
from surrogate.core.errors import ConfigError


@pytest.mark.parametrize(
    ("check", "arguments", "says"),
    [
        ("refuse_unknown", ({"cels": 1}, ("cells", "cfl")), "no option 'cels'.*Did you mean 'cells'"),
        ("refuse_unknown", ({"x": 1}, ()), "it has none"),
        ("real", ("cfl", "fast"), "finite number; 'fast'"),
        ("real", ("cfl", float("nan")), "finite number"),
        ("real", ("cfl", True), "finite number"),
        ("truth", ("ragged", 1), "true or false; 1"),
        ("text", ("ledger", 7), "must be text"),
        ("one_of", ("scheme", "musl", ("muscl", "upwind")), "one of muscl, upwind.*Did you mean 'muscl'"),
    ],
)
def test_refusals(check: str, arguments: tuple, says: str) -> None:
    with pytest.raises(ConfigError, match=f"code.*{says}|{says}"):
        getattr(options, check)("code", *arguments)


@pytest.mark.parametrize("value", [0, 1.0, "1", True, None])
def test_a_whole_number_is_whole_and_large_enough(value: object) -> None:
    with pytest.raises(ConfigError, match="whole number of at least 1"):
        options.whole("code", "cells", value, low=1)


def test_good_values_pass() -> None:
    options.refuse_unknown("code", {"cells": 1}, ("cells",))
    assert options.whole("code", "cells", 7, low=1) == 7
    assert options.real("code", "cfl", 1) == 1.0
    assert options.truth("code", "mpi", False) is False
    assert options.text("code", "ledger", "x") == "x"
    assert options.one_of("code", "scheme", "muscl", ("muscl",)) == "muscl"
