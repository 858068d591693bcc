"""Where everything of a campaign lies in its working directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from surrogate.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Workspace:
    """The working directory of one campaign.

    Attributes:
        root: Absolute path of the directory.
    """

    root: Path

    @property
    def campaign_file(self) -> Path:
        """The campaign as it was given."""
        return self.root / "campaign.toml"

    @property
    def facts_file(self) -> Path:
        """Which campaign this is, on which site it ran last."""
        return self.root / "workspace.json"

    @property
    def journal(self) -> Path:
        """Folder of the journal."""
        return self.root / "journal"

    @property
    def lock(self) -> Path:
        """The lease of the one writer."""
        return self.root / "lock"

    @property
    def requests(self) -> Path:
        """Folder where other commands leave requests for the holder."""
        return self.root / "requests"

    @property
    def runs(self) -> Path:
        """Folder of the run folders."""
        return self.root / "runs"

    @property
    def dataset(self) -> Path:
        """Folder of the dataset."""
        return self.root / "dataset"

    @property
    def card(self) -> Path:
        """The data card."""
        return self.dataset / "card.json"

    @property
    def training(self) -> Path:
        """Folder of the training jobs."""
        return self.root / "training"

    @property
    def verdict(self) -> Path:
        """The verdict of the last validation."""
        return self.root / "verdict.json"

    @property
    def holdout_record(self) -> Path:
        """How often the holdout was looked at."""
        return self.root / "holdout.json"

    @property
    def evidence(self) -> Path:
        """What the verdict was judged on."""
        return self.root / "validation.h5"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files in the directory itself."""
        return (
            self.campaign_file,
            self.facts_file,
            self.verdict,
            self.holdout_record,
            self.evidence,
            self.report,
        )

    @property
    def report(self) -> Path:
        """The report of the last validation."""
        return self.root / "report.html"

    @property
    def logs(self) -> Path:
        """Folder of logs."""
        return self.root / "logs"

    @property
    def driver_log(self) -> Path:
        """Log of the driver."""
        return self.logs / "driver.log"

    @classmethod
    def open(cls, root: Path) -> Workspace:
        """Return the workspace of an existing campaign.

        Args:
            root: The working directory.

        Raises:
            ConfigError: If no campaign lives there.
        """
        space = cls(root.resolve())
        if not space.campaign_file.is_file() or not space.facts_file.is_file():
            missing = space.facts_file if space.campaign_file.is_file() else space.campaign_file
            raise ConfigError(
                f"{root} is not the working directory of a campaign: it has no {missing.name}. Give the folder that "
                "`surrogate run … --workdir` named; where that was ended while it made the folder, run it again."
            )
        return space
