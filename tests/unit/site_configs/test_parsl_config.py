"""A site becomes a configuration of Parsl; nothing is started here."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from site_configs.parsl_config import LOOPBACK, parsl_config, worker_setup
from site_configs.resources import ResourceRequest
from site_configs.site import Environment, Role, Site
from surrogate.core.errors import ResourceError, SiteError

pytestmark = pytest.mark.parsl
FOUR = Site(name="four", cores=4, memory_mib=8000)


@pytest.mark.parametrize(("resources", "workers"), [(ResourceRequest(), 4), (ResourceRequest(1, 2, 2), 2)])
def test_there_are_as_many_workers_as_runs_fit(tmp_path, resources, workers):
    config = parsl_config(FOUR, tmp_path / "parsl", [resources])
    (executor,) = config.executors
    assert executor.max_workers_per_node == workers
    assert executor.workers_per_node == workers
    assert executor.label == "simulate"


def test_traffic_stays_on_this_machine_and_is_encrypted(tmp_path):
    (executor,) = parsl_config(FOUR, tmp_path / "parsl", [ResourceRequest()]).executors
    assert executor.address == executor.loopback_address == LOOPBACK == "127.0.0.1"
    assert executor.encrypted


def test_nothing_is_told_to_anybody_and_everything_stays_in_the_workdir(tmp_path):
    config = parsl_config(FOUR, tmp_path / "parsl", [ResourceRequest()])
    assert config.usage_tracking == 0
    assert config.monitoring is None
    assert config.run_dir == str(tmp_path / "parsl")
    assert config.retries == 0


def test_workers_use_this_python_and_import_nothing_from_the_current_folder(tmp_path):
    (executor,) = parsl_config(FOUR, tmp_path / "parsl", [ResourceRequest()], python="/opt/my python").executors
    assert shlex.split(executor.launch_cmd)[:4] == ["/opt/my python", "-P", "-m", "site_configs.worker_pool"]
    assert executor.interchange_launch_cmd == ["/opt/my python", "-P", "-m", "site_configs.interchange"]


def test_what_can_never_run_is_refused(tmp_path):
    with pytest.raises(ResourceError, match="needs 8 cores"):
        parsl_config(FOUR, tmp_path, [ResourceRequest(1, 8, 8)])


def test_schedulers_that_are_not_supported_are_refused(tmp_path):
    with pytest.raises(SiteError, match="handed out by pbs"):
        parsl_config(FOUR.model_copy(update={"scheduler": "pbs"}), tmp_path, [ResourceRequest()])


def test_the_environment_reaches_the_shell_whole():
    environment = Environment(setup=('module() { echo "loaded $1"; }', "module gcc"), variables={"A": "1", "B": "x"})
    train = Role(environment=Environment(setup=("module cuda",), variables={"B": "it's $HOME `here`"}))
    site = FOUR.model_copy(update={"environment": environment, "roles": {"train": train}})
    script = worker_setup(site, "train", {"C": "3"}) + '\nprintf "%s|" "$A" "$B" "$C"'
    shell = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert shell.stdout == "loaded gcc\nloaded cuda\n1|it's $HOME `here`|3|"


def test_describing_a_site_loads_no_parsl():
    code = "import sys, site_configs.load, site_configs.parsl_config; assert 'parsl' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
