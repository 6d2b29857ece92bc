"""The seam between walking a plan and doing a step: what Spark implements."""

from __future__ import annotations

from typing import Protocol

from lakesmith.errors import LakesmithError, RunError
from lakesmith.execute.events import BatchReport, Listener
from lakesmith.exports.due import ExportStep
from lakesmith.exports.publishing import Written
from lakesmith.plan.steps import TableStep


class Outdated(Exception):
    """The batch's plan is outdated: nothing was published, and it is planned again. ``reason``: what moved,
    the table or a file."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unanswered(RunError):
    """A shared catalog left a commit on the working branch unanswered. Nothing counts; it may be retried."""


class NotIncremental(Exception):
    """The planned strategy does not hold for this query or these changes; ``reason`` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NeverIncremental(NotIncremental):
    """As NotIncremental, for as long as the definition stays the same: retrying is useless."""


class RunStopped(LakesmithError):
    """The user asked the run to stop; what was not published is left as it was."""

    exit_code = 130


class Engine(Protocol):
    """Does steps. ``run_step`` may be called from several threads, for different tables."""

    def run_step(self, step: TableStep, listener: Listener) -> BatchReport:
        """Does one batch and publishes it. Raises Outdated, NotIncremental or LakesmithError; nothing of it
        is visible then."""
        ...

    def run_export(self, step: ExportStep, folder: str) -> Written:
        """Writes the files of an export below the URI ``folder``. Raises LakesmithError."""
        ...

    def cancel(self) -> None:
        """Cancels running jobs from another thread. What is not being published is not published."""
        ...

    def close(self) -> None:
        """Gives back what the engine holds. Safe to call twice."""
        ...
