"""Property tests look at no clock, and in continuous integration they are the same every time."""

from hypothesis import settings

from tests.support import skips


def test_the_profile_of_this_session():
    assert settings().deadline is None
    assert settings().derandomize is skips.in_ci()
