"""The calls of a ``Lakehouse`` that try events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from lakesmith.api.access import Access

if TYPE_CHECKING:
    from lakesmith.api.tracing.work import Samples, Trace
    from lakesmith.execute.events import Event

SECONDS: Final = 120.0


class Tracing:
    """A part of ``Lakehouse``."""

    access: Access

    def trace(
        self,
        table: str,
        event: str | Sequence[Mapping[str, Any]],
        *,
        source: str | None = None,
        limit: float = SECONDS,
        on_event: Callable[[Event], None] | None = None,
    ) -> Trace:
        """Follows an event through its table and all tables below, without writing to the lake.

        The engine works on a copy of the tables' metadata, so the outcome is that of a run: inserted,
        replaced, superseded, filtered or quarantined, with rows before and after.

        Args:
            table: a table with a source.
            event: a text as a landing file or a request has it (with its header, if it has one), or rows.
            source: the name of the source, if the table has several.
            limit: seconds; tables that are not reached then are said to be.
            on_event: is called with each event of ``lakesmith.events``, from several threads.

        Raises UsageError LS201, LS205, LS215 (no source), LS279 (it cannot be followed).

        Example:
            for stop in shop.trace("bronze.orders", shop.samples("bronze.orders").samples[0].text).stops:
                print(stop.table, dict(stop.outcomes), stop.why)
        """
        from lakesmith.api.tracing.work import trace

        return trace(self.access, table, event, (source, limit, on_event))

    def samples(
        self, table: str, *, source: str | None = None, record: tuple[str, int] | None = None
    ) -> Samples:
        """Returns events of a source: those that were kept, the first ones of recent landing files, and one
        made of the declared columns. Starts no Spark.

        ``record``: of a landing file, as ``_source_file`` and ``_source_position`` of a row name it, if the
        file still has it near its beginning.

        Example:
            print(shop.samples("bronze.orders").samples[-1].text)
        """
        from lakesmith.api.tracing.work import samples

        return samples(self.access, table, source, record)

    def keep_event(self, table: str, name: str, event: str, *, source: str | None = None) -> str:
        """Keeps an event as a file of the project, ``events/TABLE/NAME``, and returns the file's path.

        ``name``: letters, digits, ``-`` and ``_``; an event of that name is replaced. Raises UsageError
        LS279.

        Example:
            print(shop.keep_event("bronze.orders", "moved", shop.samples("bronze.orders").samples[0].text))
        """
        from lakesmith.api.tracing.work import keep

        return keep(self.access, table, name, event, source)
