"""What holds for every test: a quiet, private environment, and nothing left behind."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.support import leftovers, skips

SESSION = uuid.uuid4().hex
# Variables of an enclosing job or of the user that would change what tests see.
FOREIGN = ("SLURM_", "PMI_", "PMIX_", "OMPI_", "HYDRA_", "HOROVOD_", "SURROGATE_", "PARSL_")
KEPT = ("SURROGATE_TEST_DATA", "SURROGATE_TEST_SEED", "SURROGATE_CACHE")


# No test depends on how fast the machine is, and in CI not on chance.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if skips.in_ci() else "here")


def pytest_configure() -> None:
    """Set what must be there before the first test module is imported."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell that starts this in the background lets it ignore Ctrl-C, and so would every program that it starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in [name for name in os.environ if name.startswith(FOREIGN) and name not in KEPT]:
        del os.environ[name]
    os.environ.update(
        {
            leftovers.TAG: SESSION,
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "OMP_NUM_THREADS": "1",
            "PATH": f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}",
        }
    )


@pytest.fixture(scope="session", autouse=True)
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, ...]]:
    """Give the session its own home, temporary and current folder; each must be empty after every test.

    Caches of libraries (fonts, compiled kernels) go to a folder that is not watched.
    """
    base = tmp_path_factory.mktemp("session", numbered=False)
    cache = base / "cache"
    home, temporary, current = base / "home", base / "t", base / "cwd"
    for folder in (cache, home, temporary, current):
        folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
        patch.setenv("XDG_DATA_HOME", str(home / ".local/share"))
        patch.setenv("XDG_STATE_HOME", str(home / ".local/state"))
        patch.setenv("XDG_CACHE_HOME", str(cache))
        patch.setenv("MPLCONFIGDIR", str(cache / "matplotlib"))
        patch.setenv("KERAS_HOME", str(cache / "keras"))
        patch.setenv("TMPDIR", str(temporary))
        patch.setattr("tempfile.tempdir", None)
        patch.chdir(current)
        yield home, temporary, current
    found = leftovers.leftovers(SESSION, (home, temporary, current), leftovers.Snapshot(segments=_SEGMENTS))
    if found:
        leftovers.end(found)
        pytest.fail(found.sentence().replace("The test", "The session"))


_SEGMENTS = leftovers.shared_segments()


@pytest.fixture(autouse=True)
def nothing_left_behind(watched: tuple[Path, ...]) -> Iterator[None]:
    """Fail a test that leaves a process, shared memory or a file outside its own folder."""
    before = leftovers.snapshot(SESSION, watched)
    yield
    found = leftovers.leftovers(SESSION, watched, before)
    if found:
        leftovers.end(found)
        pytest.fail(found.sentence())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, pytest.TestReport]:
    """Turn an unexcused skip into a failure where nothing may be skipped."""
    report: pytest.TestReport = yield
    return _judged(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, pytest.CollectReport]:
    """Do the same for modules that skip as a whole."""
    report: pytest.CollectReport = yield
    return _judged(report)


def _judged(report: Any) -> Any:
    """Return the report, failed when it is a skip that is not excused."""
    if not (skips.in_ci() and report.skipped) or hasattr(report, "wasxfail"):
        return report
    place = report.longrepr
    reason = str(place[2]) if isinstance(place, tuple) else str(place)
    verdict = skips.verdict_on_skip(reason)
    if verdict is not None:
        report.outcome = "failed"
        report.longrepr = verdict
    return report
