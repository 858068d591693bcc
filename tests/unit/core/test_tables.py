"""Tables of TOML held against strict models: sentences with and without the name of a file."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from surrogate.core.errors import ConfigError
from surrogate.core.tables import shown, validated_table


class Inner(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    count: int = Field(description="How many there are.")
    kind: Literal["one", "many"] = "one"


class Outer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    inner: tuple[Inner, ...] = ()
    low: float = 0.0

    @model_validator(mode="after")
    def _check(self) -> Outer:
        if self.low < 0:
            raise ValueError("nothing is below zero.")
        return self


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"lwo": 1.0}, "'lwo' is not a known key; there are inner, low. Did you mean 'low'?"),
        ({"inner": [{"count": 1, "kid": 2}]}, "'inner[1].kid' is not a known key; [inner[1]] has count, kind. Did you"),
        ({"inner": [{}]}, "'inner[1].count' is missing: how many there are."),
        ({"inner": [{"count": 1.5}]}, "'inner[1].count': a whole number is needed, and 1.5 was found."),
        ({"inner": [{"count": 1, "kind": "mny"}]}, "'one' or 'many' is needed, and 'mny' was found. Did you mean"),
        ({"low": "x"}, "'low': a number is needed, and 'x' was found."),
    ],
)  # fmt: skip
def test_a_mistake_names_its_key_and_the_file_where_it_is_known(table, told):
    with pytest.raises(ConfigError) as caught:
        validated_table(Outer, table, "c.toml")
    assert str(caught.value).startswith("In c.toml, ")
    assert told in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        validated_table(Outer, table, "")
    assert not str(caught.value).startswith("In ")
    assert told in str(caught.value)
    with pytest.raises(ConfigError, match=r"In c\.toml, 'model\.options"):
        validated_table(Outer, table, "c.toml", ("model", "options"))


def test_a_mistake_of_the_whole_table_is_a_sentence_of_its_own():
    with pytest.raises(ConfigError, match=r"^Nothing is below zero\.$"):
        validated_table(Outer, {"low": -1.0}, "")
    with pytest.raises(ConfigError, match=r"^In c\.toml: nothing is below zero\.$"):
        validated_table(Outer, {"low": -1.0}, "c.toml")


def test_values_are_shown_as_the_file_writes_them():
    assert (shown(True), shown({}), shown([1]), shown("a")) == ("true", "a table", "a list", "'a'")
    assert len(shown("x" * 500)) <= 60
