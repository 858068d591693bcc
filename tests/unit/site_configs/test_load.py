"""Sites are found by name, and mistakes in their files are told in sentences."""

from __future__ import annotations

import pytest

from site_configs.load import available_sites, load_site, read_site, user_folder
from surrogate.core.errors import ConfigError


def write(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def test_shipped_sites_can_be_read():
    sites = available_sites()
    assert "laptop" in sites
    for name in sites:
        assert load_site(name).name == name


def test_the_nearer_site_wins(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write(user_folder(), "laptop", 'scheduler = "local"\ncores = 7\n')
    assert load_site("laptop").cores == 7
    write(tmp_path / "near", "laptop", 'scheduler = "local"\ncores = 5\n')
    assert load_site("laptop", [tmp_path / "near"]).cores == 5


def test_a_campaign_beside_is_no_site(tmp_path):
    write(tmp_path, "campaign", 'simulator = "scripted"\n')
    write(tmp_path, "broken", "=\n")
    write(tmp_path, "mine", 'scheduler = "local"\n')
    assert {"mine"} == set(available_sites([tmp_path])) - set(available_sites())


def test_a_path_is_a_path(tmp_path):
    assert load_site(write(tmp_path, "mine", "cores = 3\n")).name == "mine"
    with pytest.raises(ConfigError, match="does not exist"):
        load_site(tmp_path / "other.toml")


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ConfigError, match=r"no site 'labtop'\. Did you mean 'laptop'\? Known are: .*laptop"):
        load_site("labtop")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("corse = 2\n", r"Unknown key 'corse'\. Did you mean 'cores'\?"),
        ('[launcher]\nmpiexe = "x"\n', r"Unknown key 'launcher\.mpiexe'\. Did you mean 'mpiexec'\?"),
        ("[roles.simulate]\nworkes = 1\n", r"Unknown key 'roles\.simulate\.workes'\. Did you mean 'workers'\?"),
        ("[roles.simulat]\nworkers = 1\n", r"'roles\.simulat'.*'simulate', 'train', 'serve' or 'drive'"),
        ("cores = 0\n", r"'cores' is 0, and it should be greater than or equal to 1\."),
        ('cores = "2"\n', r"'cores' is '2', and it should be a valid integer\."),
        ("cores = 2.5\n", r"'cores' is 2\.5"),
        ('scheduler = "lsf"\n', r"'scheduler' is 'lsf', and it should be 'local', 'slurm' or 'pbs'\."),
        ("schema_version = 2\n", "Install a newer surrogate-hpc"),
        ("cores = \n", "is not TOML"),
        ("cores = 1979-05-27\n", "'cores' is '1979-05-27'"),
    ],
)
def test_mistakes_are_sentences(tmp_path, text, words):
    with pytest.raises(ConfigError, match=words) as caught:
        read_site(write(tmp_path, "mine", text))
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_what_is_not_text_is_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not TOML"):
        read_site(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_site(tmp_path)


def test_a_site_lies_over_another_key_by_key(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write(user_folder(), "base", 'scheduler = "slurm"\n[limits]\npoll_s = 9.0\njobs_queued = 3\n')
    write(tmp_path, "mine", 'extends = "base"\nnodes = 2\n[limits]\npoll_s = 1.0\n')
    site = load_site("mine", [tmp_path])
    assert (site.name, site.scheduler, site.nodes) == ("mine", "slurm", 2)
    assert (site.limits.poll_s, site.limits.jobs_queued) == (1.0, 3)
    assert "mine" in available_sites([tmp_path])


def test_a_users_site_may_extend_the_shipped_one_of_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write(user_folder(), "perlmutter", 'extends = "perlmutter"\naccount = "m1"\n')
    site = load_site("perlmutter")
    assert site.partition("simulate").account == "m1"
    assert site.partition("train").account == "m1_g"
    assert site.partition("train").constraint == "gpu"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('extends = "mine"\n', r"extends 'mine', and there is no other site of that name\."),
        ('extends = "lapptop"\n', r"Did you mean 'laptop'"),
        ('extends = "round"\n', "extends 'mine', and there is no other"),
    ],
)
def test_what_is_not_there_cannot_be_extended(tmp_path, text, words):
    write(tmp_path, "round", 'extends = "mine"\n')
    with pytest.raises(ConfigError, match=words):
        read_site(write(tmp_path, "mine", text))


def test_the_account_of_the_environment_comes_first(tmp_path, monkeypatch):
    path = write(tmp_path, "mine", 'scheduler = "slurm"\naccount = "file"\nneeds_account = true\n')
    assert read_site(path).partition("simulate").account == "file"
    monkeypatch.setenv("SURROGATE_ACCOUNT", "given")
    assert read_site(path).partition("train").account == "given"
    assert load_site("laptop").account is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('scheduler = "slurm"\n[roles.train]\npartition = "gpu"\n', r"no \[partitions\.gpu\]"),
        ('scheduler = "slurm"\n[partitions.a]\n[partitions.b]\n', r"'roles\.simulate\.partition' does not say"),
        ("[partitions.a]\n", "'scheduler' is 'local'"),
        ('[launcher]\ndialect = "template"\n', "that dialect needs it"),
        ('[launcher]\ntemplate = ["{ranks}"]\n', "belongs to the dialect 'template'"),
        (
            '[launcher]\ndialect = "template"\ntemplate = ["{rank}"]\n',
            r"names \{rank\}, and the words are nodes, ranks,",
        ),
        ('[launcher]\ndialect = "template"\ntemplate = ["-n", "4"]\n', r"does not name \{ranks\}"),
        ('[storage]\numask = "8"\n', "'storage.umask' is '8'"),
        ('[container]\nruntime = "docker"\nimage = "x"\n', "'apptainer', 'shifter' or 'podman-hpc'"),
        ("[partitions.a]\nwaltime_s = 3\n", r"Did you mean 'walltime_s'\?"),
    ],
)
def test_mistakes_of_clusters_are_sentences(tmp_path, text, words):
    with pytest.raises(ConfigError, match=words):
        read_site(write(tmp_path, "mine", text))
