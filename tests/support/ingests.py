"""Ingests of old files, and what came of them."""

from pathlib import Path

from tests.support.old_files import write_texts
from workflows.driver import driving, prepare
from workflows.existing_data import ingested, plan_existing
from workflows.ingest.ingest import ingest
from workflows.progress import Silent
from workflows.stopping import Stopping


def take(tmp_path: Path, *paths: Path, **options):
    """Ingest files into the working directory `w`."""
    campaign, layout = write_texts(tmp_path, **options)
    return ingest(tmp_path / "w", paths, layout, campaign=campaign, progress=Silent())


def data_of(tmp_path, campaign):
    """Return the dataset as the campaign would train on it."""
    plan = plan_existing(campaign, tmp_path / "w")
    with driving(campaign, prepare(plan, tmp_path / "w", "laptop"), Silent(), Stopping()) as driver:
        return ingested(driver, plan)
