"""One self-contained HTML file that says whether a surrogate can be trusted, and why."""

from surrogate.validation.report.data import ReportData, StageCost
from surrogate.validation.report.page import write_report

__all__ = ["ReportData", "StageCost", "write_report"]
