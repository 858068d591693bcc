"""Sites of one's own: laid over another one, or drafted; never over a file that is there."""

from __future__ import annotations

import pytest

from site_configs.cluster import PartitionFacts
from site_configs.draft import Cluster
from site_configs.load import load_site, user_folder
from surrogate.core.errors import ConfigError, SiteError
from workflows import site_new
from workflows.site_new import look_at_cluster, new_site

ANSWERS = {
    "sinfo": "a|a*|up|3|1|8|16000|(null)|1:00:00\n",
    "partition": "PartitionName=a MaxNodes=2\n",
    "node": "NodeName=n1 Arch=x86_64 NodeAddr=10.0.0.1\nNodeName=n2 Arch=x86_64 NodeAddr=10.0.0.2\n",
    "config": "Configuration data\nClusterName             = big\nSLURM_VERSION = 23.11.4\nMpiDefault = pmix\n",
    "--mpi=list": "MPI plugin types are...\n\tpmi2\n",
}


@pytest.fixture
def own_config(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def answer(*words: str) -> str:
    return next(text for key, text in ANSWERS.items() if key in words)


def test_the_cluster_is_asked(monkeypatch):
    monkeypatch.setattr(site_new, "ask", answer)
    cluster = look_at_cluster()
    assert isinstance(cluster, Cluster)
    assert (cluster.name, cluster.version, cluster.default_mpi) == ("big", "23.11.4", "pmix")
    assert cluster.partitions == (PartitionFacts("a", True, 2, 8, 16000, 0, 3600),)
    assert cluster.mpi_kinds == ("pmi2",)
    assert not cluster.loopback


def test_a_drafted_site_is_found_by_its_name(own_config, monkeypatch):
    monkeypatch.setattr(site_new, "ask", answer)
    path = new_site("mine", from_cluster=True, account='pro"ject')
    assert path == user_folder() / "mine.toml"
    site = load_site("mine")
    assert site.partition("simulate").account == 'pro"ject'
    assert site.capacity().nodes == 2


def test_a_site_can_be_laid_over_another(own_config):
    new_site("frontier", extends="frontier", account="abc123")
    assert load_site("frontier").partition("train").account == "abc123"
    assert load_site("frontier").gpus == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "../x", "extends": "laptop"}, "cannot be the name of a site"),
        ({"name": "x"}, "Say what the site is made from"),
        ({"name": "x", "extends": "laptop", "from_cluster": True}, "Say what the site is made from"),
        ({"name": "x", "extends": "frontir"}, "Did you mean 'frontier'"),
    ],
)
def test_mistakes_are_sentences(own_config, arguments, words):
    with pytest.raises(ConfigError, match=words):
        new_site(**arguments)
    assert not user_folder().exists()


def test_no_file_is_written_over(own_config, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("# mine\n")
    with pytest.raises(ConfigError, match="exists already"):
        new_site("mine", extends="laptop", output=path)
    assert path.read_text() == "# mine\n"


def test_a_cluster_without_partitions_gives_no_site(own_config, monkeypatch):
    monkeypatch.setattr(site_new, "ask", lambda *words: "")
    with pytest.raises(SiteError, match="no partition that is up"):
        new_site("mine", from_cluster=True)
