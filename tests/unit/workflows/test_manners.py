"""Permissions, group, working directory and the end-of-campaign hook of a site."""

from __future__ import annotations

import grp
import os
import stat
from pathlib import Path

import pytest

from site_configs.settings import Storage
from site_configs.site import Site
from surrogate.core.errors import ConfigError, StorageError
from workflows.manners import default_workdir, run_end_hook, share_with_group, umask_of


def site(**changes) -> Site:
    return Site(name="x", scheduler="slurm").model_copy(update=changes)


class Told:
    def __init__(self):
        self.sentences = []

    def say(self, message):
        self.sentences.append(message)


def test_campaigns_live_in_the_scratch(monkeypatch):
    monkeypatch.setenv("BIG", "/big")
    with_scratch = site(storage=Storage(scratch="$BIG/{account}/me"), account="m1")
    assert default_workdir(with_scratch, "name") == Path("/big/m1/me/name")
    assert default_workdir(site(), "name") == Path("name")
    monkeypatch.delenv("BIG")
    with pytest.raises(ConfigError, match=r"works in \$BIG/m1/me, and that variable is not set here"):
        default_workdir(with_scratch, "name")


def test_the_umask_holds_while_a_campaign_runs(tmp_path):
    before = os.umask(0o022)
    try:
        with umask_of(site(storage=Storage(umask="0027"))):
            (tmp_path / "file").touch()
        (tmp_path / "other").touch()
        with umask_of(site()):
            (tmp_path / "third").touch()
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("file", "other", "third")]
    assert modes == [0o640, 0o644, 0o644]


def test_what_is_made_in_a_working_directory_belongs_to_the_group(tmp_path):
    own = grp.getgrgid(os.getgid()).gr_name
    share_with_group(site(storage=Storage(group=own)), tmp_path)
    assert tmp_path.stat().st_mode & stat.S_ISGID
    (tmp_path / "below").mkdir()
    assert (tmp_path / "below").stat().st_gid == os.getgid()
    with pytest.raises(ConfigError, match="names the group 'no-such-group', and this machine knows none"):
        share_with_group(site(storage=Storage(group="no-such-group")), tmp_path)
    with pytest.raises(StorageError, match="cannot be given to the group"):
        share_with_group(site(storage=Storage(group=own)), tmp_path / "missing")
    share_with_group(site(), tmp_path / "missing")


def test_the_hook_knows_what_has_ended(tmp_path):
    told = Told()
    hook = 'echo "$SURROGATE_VERDICT $SURROGATE_FINAL" > "$SURROGATE_WORKDIR/said"'
    run_end_hook(
        site(end_hook=hook, storage=Storage(final="/keep/{account}"), account="m1"),
        tmp_path,
        passed=True,
        progress=told,
    )
    assert (tmp_path / "said").read_text() == "passed /keep/m1\n"
    assert "is done" in told.sentences[0]


def test_a_hook_that_fails_changes_nothing(tmp_path):
    told = Told()
    run_end_hook(site(end_hook="echo no space; exit 3"), tmp_path, passed=False, progress=told)
    run_end_hook(site(), tmp_path, passed=False, progress=told)
    assert len(told.sentences) == 1
    assert "ended with exit code 3; the campaign itself is complete" in told.sentences[0]
    assert (tmp_path / "logs" / "end-hook.log").read_text() == "no space\n"
