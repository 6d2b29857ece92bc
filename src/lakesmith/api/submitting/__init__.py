"""The calls of a ``Lakehouse`` for runs on AWS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lakesmith.api.access import Access, ignore
from lakesmith.api.deploying import Deploying
from lakesmith.execute.events import Listener, RunResult

if TYPE_CHECKING:
    from lakesmith.api.submitting.logs import RunLog


class Submitting(Deploying):
    """A part of ``Lakehouse``."""

    access: Access

    def submit(
        self, *select: str, full_refresh: Sequence[str] = (), approve: Sequence[str] = (), wait: float = 0.0
    ) -> str:
        """Starts a run on AWS, as the target is deployed there; returns its name.

        The arguments are those of ``run``. It is not tried again if it fails. Raises ProjectError LS140 to
        LS144 for a target that cannot be deployed, UsageError LS201, LS292 (a selection that a job cannot
        take), EnvironmentProblem LS345 (no credentials), LS346 (nothing is deployed).

        Example:
            run = lakesmith.open("shop", "prod").submit("silver.*")
        """
        from lakesmith.api.submitting.work import submit

        return submit(self.access, select, full_refresh, approve, wait)

    def follow(
        self, run: str, *, on_event: Listener = ignore, on_note: Callable[[str], None] = ignore
    ) -> RunResult:
        """Waits until a run on AWS has ended.

        Args:
            run: its name.
            on_event: is called with each event of ``lakesmith.events``, some seconds after it happened.
            on_note: receives what else is to be known, in words.

        Raises RunFailed as ``run``, RunError LS673 if the job ended without a result, EnvironmentProblem
        LS345, LS346.

        Example:
            result = lakesmith.open("shop", "prod").follow(run)
        """
        from lakesmith.api.submitting.work import follow

        return follow(self.access, run, on_event, on_note)

    def cancel(self, run: str) -> None:
        """Cancels a run on AWS. Nothing of tables that were not published yet is left.

        Raises as ``follow``.

        Example:
            lakesmith.open("shop", "prod").cancel(run)
        """
        from lakesmith.api.submitting.work import cancel

        cancel(self.access, run)

    def run_log(self, run: str | None = None, *, lines: int = 100) -> RunLog:
        """Returns how a run on AWS went, with the last lines of its job's log. ``run``: None is the newest.

        Raises as ``follow``; UsageError LS293 for a run that is not known.

        Example:
            print(lakesmith.open("shop", "prod").run_log().status)
        """
        from lakesmith.api.submitting.logs import run_log

        return run_log(self.access, run, lines)
