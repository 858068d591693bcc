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
