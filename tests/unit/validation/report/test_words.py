"""Numbers and names as a reader wants them."""

from __future__ import annotations

import pytest

from surrogate.validation.report import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0033812, "0.00338"),
        (1.0, "1.00"),
        (123.456, "123"),
        (-0.5, "−0.500"),
        (12345.6, "12\u202f346"),
        (1.5e-7, "1.50 × 10⁻⁷"),
        (2.5e9, "2.50 × 10⁹"),
        (0.0, "0"),
        (float("nan"), "not a number"),
        (float("-inf"), "−∞"),
        (1234, "1234"),
        (123456, "123\u202f456"),
        (True, "yes"),
        (None, "unknown"),
        ("word", "word"),
    ],
)
def test_numbers(value: object, text: str):
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10000.0, "10\u202f000"),
        (100000.0, "100\u202f000"),
        (0.0005, "0.0005"),
        (-1.25, "−1.25"),
        (10563.25, "10\u202f563"),
        (2e-5, "2.000 × 10⁻⁵"),
    ],
)
def test_what_somebody_wrote_is_spelled_as_other_numbers(value: float, text: str):
    assert words.short(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-5, "10⁻⁵"), (2e8, "2 × 10⁸"), (50000.0, "50\u202f000"), (0.001, "0.001"), (0.0, "0"), (-3e-6, "−3 × 10⁻⁶")],
)
def test_ticks(value: float, text: str):
    assert words.tick(value) == text


def test_one_point_lies():
    assert (words.points_lie(1), words.points_lie(0)) == ("1 point lies", "0 points lie")


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-6, "1.00 µs"), (0.0123, "12.3 ms"), (5.0, "5.00 s"), (600.0, "10.0 min"), (8e4, "22.2 h"), (1e6, "11.6 d")],
)
def test_durations(value: float, text: str):
    assert words.seconds(value) == text


def test_quantities_have_their_unit():
    assert words.quantity(0.0034, "1") == "0.340 %"
    assert words.quantity(3.0, "1") == "3.00"
    assert words.quantity(0.5, "K") == "0.500 K"
    assert words.unit_text("1") == "–"
    assert words.interval(0.1, 0.2) == "0.100 to 0.200"
    assert words.interval(None, 0.2) == "unknown"
    assert words.interval(float("nan"), 0.2) == "unknown"
    assert words.axis_label("S", "1") == "S"
    assert words.axis_label("h", "m") == "h [m]"


def test_names_and_factors_and_points():
    assert words.title("relative_l2_p95") == "relative L2 p95"
    assert words.factor(1157.3) == "1200 ×"
    assert words.factor(12345.0) == "12\u202f000 ×"
    assert words.factor(3.14) == "3.1 ×"
    assert words.short(0.5) == "0.5"
    assert words.short("word") == "word"
    assert words.point({"a": 1.5, "b": "x"}, {"a": "m"}) == "a = 1.5 m, b = x"
    assert words.point({str(i): i for i in range(8)}, {}).endswith(", …")
    assert words.flatten({"a": 1}) == ["a 1"]
    assert words.flatten(None) == ["none"]
    assert words.flatten([1, "b"]) == ["1", "b"]
