"""The lake that ``up`` works in: opened when it is needed, and again when its Spark was lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from lakesmith.errors import LakesmithError, Problem
from lakesmith.serve.retries import SPARK_IS_LOST


class MayLoseSpark(Protocol):
    """A Lakehouse whose Spark may end."""

    @property
    def lost_spark(self) -> bool:
        """Whether its Spark has ended by itself."""

    def close(self) -> None:
        """Ends Spark."""


L = TypeVar("L", bound=MayLoseSpark)


class Opening(Protocol[L]):
    """Opens a Lakehouse."""

    def open(self, lost: L | None = None) -> L:
        """Opens a Lakehouse; in place of one that has lost its Spark, which is started again. Raises
        LakesmithError."""

    def explain(self, error: Exception) -> Problem:
        """Returns the problem of an unforeseen error."""


@dataclass
class KeptLake(Generic[L]):
    """The lake. ``now``: as it is; ``notice`` receives lines for a person."""

    around: Opening[L]
    notice: Callable[[str], None]
    now: L | None = None
    _lost: L | None = None

    def living(self) -> L:
        """Returns the lake, opened if need be. Raises LakesmithError."""
        self._look()
        if self.now is None:
            self.now = self.around.open()
        return self.now

    @property
    def is_replaced(self) -> bool:
        """Whether Spark was lost, and another one is started shortly."""
        return self._lost is not None or (self.now is not None and self.now.lost_spark)

    def replace(self) -> None:
        """Starts Spark in place of a lost one: commands beside this process wait for it."""
        self._look()
        if self._lost is None:
            return
        try:
            if self.now is None:
                self.now = self.around.open(self._lost)
        except LakesmithError as error:
            self.notice(f"it was not started: {error.problems[0].what}; the next batch tries it again")
        except Exception as error:  # noqa: BLE001 - the loop goes on
            self.notice(f"it was not started: {self.around.explain(error).what}")
        finally:
            self._lost = None

    def renew(self, problems: Sequence[Problem]) -> bool:
        """Closes the lake if its Spark was lost, also by what problems say; returns whether it was."""
        lost = self.now is not None and self.now.lost_spark
        if not lost and not any(problem.code in SPARK_IS_LOST for problem in problems):
            return False
        self._close("Spark's process was lost; another one is started")
        return True

    def _look(self) -> None:
        if self.now is not None and self.now.lost_spark:
            self._close("Spark's process has ended by itself; another one is started")

    def _close(self, why: str) -> None:
        self._lost, self.now = self.now, None
        self.notice(why)
        try:
            if self._lost is not None:
                self._lost.close()
        except Exception as error:  # noqa: BLE001 - it is gone anyway
            self.notice(f"it did not end cleanly: {self.around.explain(error).what}")
