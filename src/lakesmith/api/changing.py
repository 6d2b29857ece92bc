"""The calls of a ``Lakehouse`` that change more than a run does, or that work beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lakesmith.api.access import Access, ignore
from lakesmith.api.submitting import Submitting

if TYPE_CHECKING:
    from lakesmith.api.connecting import Snippet
    from lakesmith.api.erasing import ErasurePreview, Readmitted, Receipt
    from lakesmith.api.keeping_up import SendOptions, Sent, Stopped
    from lakesmith.api.maintaining import MaintenanceEvent
    from lakesmith.api.past import Released, RolledBack, Tagged, Tags, Untagged
    from lakesmith.api.recovering import Recovered
    from lakesmith.api.registering import Registered, Relocated
    from lakesmith.api.renaming import Renamed
    from lakesmith.api.results import Change
    from lakesmith.execute.maintenance import MaintenancePlan, MaintenanceResult, RewriteResult, Slice
    from lakesmith.page.server import Ui
    from lakesmith.serve.notices import Observer
    from lakesmith.serve.options import Pace, PageChoice
    from lakesmith.serve.up import Up


class Changing(Submitting):
    """A part of ``Lakehouse``."""

    access: Access

    def rollback(
        self,
        table: str,
        to: str,
        *,
        with_downstream: bool = False,
        hold: bool = False,
        lossy: bool = False,
        wait: float = 0.0,
    ) -> Change[RolledBack, RolledBack]:
        """Prepares to set a table back to a point in time, with its progress: a run goes on from there.

        Args:
            table: the table.
            to: a snapshot, a tag or a time, as ``query`` takes it.
            with_downstream: whether the tables that read it move as well, instead of following with the next
            run.
            hold: whether runs leave the table there until ``release``.
            lossy: whether files ingested since may be gone, with their rows.
            wait: seconds to wait for another process that uses the lake.

        Raises UsageError LS201, LS205, LS221, LS230, LS231, LS255, StateError LS508, LS518, LS519 (files are
        gone), LockedError LS701, LS703.

        Example:
            oldest = shop.history("silver.customers").points[-1]
            change = shop.rollback("silver.customers", str(oldest.snapshot_id))
            print(change.to_dict())  # change.apply() sets the table back
        """
        from lakesmith.api.past import RollbackOptions, rollback

        return rollback(self.access, table, to, RollbackOptions(with_downstream, hold, lossy, wait))

    def release(self, table: str, *, wait: float = 0.0) -> Released:
        """Lets runs refresh a table again that ``rollback`` held.

        Raises UsageError LS201, LS205, LS221, StateError LS511, LockedError LS701, LS703.

        Example:
            print(shop.release("silver.customers").was_held)
        """
        from lakesmith.api.past import release

        return release(self.access, table, wait)

    def tags(self) -> Tags:
        """Returns the tags, each with the snapshots of its tables. Starts no Spark.

        Example:
            print([tag.name for tag in shop.tags().tags])
        """
        from lakesmith.api.past import tags

        return tags(self.access)

    def tag(self, name: str, *, replace: bool = False, wait: float = 0.0) -> Tagged:
        """Tags the heads of all tables that were written; ``replace`` moves a tag of that name.

        Raises UsageError LS256, StateError LS511, LS522 (the tag is elsewhere), LockedError LS701, LS703.

        Example:
            shop.tag("before_cleanup")
        """
        from lakesmith.api.past import tag

        return tag(self.access, name, replace, wait)

    def untag(self, name: str, *, wait: float = 0.0) -> Untagged:
        """Deletes a tag: snapshots that only the tag kept may expire.

        Raises UsageError LS256, LS257, StateError LS511, LockedError LS701, LS703.

        Example:
            shop.untag("before_cleanup")
        """
        from lakesmith.api.past import untag

        return untag(self.access, name, wait)

    def plan_maintenance(self, *select: str, orphans: bool = False) -> MaintenancePlan:
        """Returns what the selected tables (all, without a pattern) need, with the reasons. Starts no Spark.

        ``orphans``: whether files that no snapshot has are looked for, too.

        Example:
            print(shop.plan_maintenance("silver.*").to_dict())
        """
        from lakesmith.api.maintaining import plan_maintenance
        from lakesmith.execute.maintenance import Orders

        return plan_maintenance(self.access, select, Orders(orphans))

    def maintain(
        self,
        *select: str,
        orphans: bool = False,
        remove_orphans: bool = False,
        give_way: Callable[[], bool] = lambda: False,
        on_event: Callable[[MaintenanceEvent], None] = ignore,
    ) -> MaintenanceResult:
        """Does the maintenance that the selected tables (all, without a pattern) need, in pieces; runs take
        place in between.

        Args:
            select: patterns as the command has them: ``silver.*``, ``+gold.sales``.
            orphans: whether files that no snapshot has are looked for, too.
            remove_orphans: whether they are removed, too.
            give_way: is called between two pieces of work; True ends it there, and the next call goes on.
            on_event: receives what is done: a ``Step``, and the result of each table as it comes.

        What fails of a table is in its ``problems``. An interrupt ends the piece under way and raises
        ``Interrupted``: finished pieces stay.

        Example:
            print(shop.maintain("gold.*").to_dict())
        """
        from lakesmith.api.maintaining import MaintenanceOptions, maintain
        from lakesmith.execute.maintenance import Orders

        options = MaintenanceOptions(Orders(orphans, remove_orphans), give_way, on_event)
        return maintain(self.access, select, options)

    def maintain_slice(self, table: str) -> Slice:
        """Compacts a table's newest small files and expires old snapshots, as ``lakesmith up`` does from time
        to time.

        Raises UsageError LS221 for an external table, LockedError while a run holds the project, RunError if
        it fails: the table's rows are the same in any case.

        Example:
            shop.maintain_slice("silver.customers")
        """
        from lakesmith.api.maintaining import maintain_slice

        return maintain_slice(self.access, table)

    def rewrite(
        self, table: str, *, everything: bool = False, on_event: Callable[[MaintenanceEvent], None] = ignore
    ) -> RewriteResult:
        """Rewrites a table's old files in its present partitioning and order, in pieces; runs take place in
        between.

        ``everything``: whether all files are rewritten, not only those of earlier partitionings. Raises
        UsageError LS250 (it was not built), LakesmithError with the root cause; an interrupt raises
        ``Interrupted``.

        Example:
            print(shop.rewrite("silver.customers").to_dict())
        """
        from lakesmith.api.maintaining import rewrite

        return rewrite(self.access, table, everything, on_event)

    def erase(
        self,
        table: str,
        where: str,
        *,
        also: Sequence[str] = (),
        besides: Sequence[str] = (),
        wait: float = 0.0,
        on_event: Callable[[str], None] = ignore,
    ) -> Change[ErasurePreview, Receipt]:
        """Prepares to erase people's rows from a table, from all below it, from landing files and old
        snapshots.

        Args:
            table: the table, or one that is made from the tables to erase from.
            where: whose rows: ``email = 'a@b.c'``, ``id IN (1, 2)``.
            also: other tables to erase from.
            besides: tables in which the columns mean something else.
            wait: seconds to wait for another process that uses the lake.
            on_event: receives what was done, in words.

        Spark looks for the persons, and ends after ``apply``, as its folders have their rows. An erasure that
        was cut off is finished by the same call.

        Raises UsageError LS201, LS205, LS221, LS258, LS259, LS260, StateError LS523, LockedError LS701,
        LS703.

        Example:
            change = shop.erase("bronze.orders", "email = 'nobody@example.com'")
            print(change.to_dict())  # change.apply() erases the person's rows
        """
        from lakesmith.api.erasing import EraseOptions, erase

        return erase(self.access, table, EraseOptions(where, tuple(also), tuple(besides), wait, on_event))

    def readmit(
        self,
        table: str,
        where: str,
        *,
        also: Sequence[str] = (),
        besides: Sequence[str] = (),
        wait: float = 0.0,
    ) -> Readmitted:
        """Lets new rows of erased people in again. Raises as ``erase``, RunError LS623 if nobody was erased.

        Example:
            change = shop.readmit("bronze.orders", "email = 'nobody@example.com'")
        """
        from lakesmith.api.erasing import EraseOptions, readmit

        return readmit(self.access, table, EraseOptions(where, tuple(also), tuple(besides), wait))

    def rename(self, old: str, new: str) -> Change[Renamed, Renamed]:
        """Prepares to rename a table in the catalog and in the project's files; its progress stays.

        Raises UsageError LS250 (no such table), LS251 (the name is not free), StateError LS503 (another
        project's), LS513 (another change was begun and not finished), EnvironmentProblem LS328 (a catalog of
        its own).

        Example:
            change = shop.rename("gold.customers_by_city_month", "gold.cities")
            print(change.to_dict())  # change.apply() renames the table
        """
        from lakesmith.api.renaming import rename

        return rename(self.access, old, new)

    def register(self) -> Change[Registered, Registered]:
        """Prepares to enter the tables in the catalog whose files are in the warehouse: the catalog was lost.

        Raises EnvironmentProblem LS328 (a catalog of its own).

        Example:
            print(shop.register().to_dict())  # apply() enters the tables that were found
        """
        from lakesmith.api.registering import register

        return register(self.access)

    def relocate(self, *, on_event: Callable[[str], None] = ignore) -> Change[Relocated, Relocated]:
        """Prepares to make the files of a project that was copied or moved its own tables; rewrites the paths
        in them.

        ``on_event`` receives what is done, in words. Raises StateError LS526 (files are missing),
        EnvironmentProblem LS328; ``apply`` raises StateError LS511 if a table was changed meanwhile.

        Example:
            print(shop.relocate().to_dict())  # apply() rewrites the paths of a copied project
        """
        from lakesmith.api.registering import relocate

        return relocate(self.access, on_event)

    def recover(self, *, on_event: Callable[[str], None] = ignore) -> Change[Recovered, Recovered]:
        """Prepares to recover the lake of the target's ``recover_from`` from copies of its buckets, or the
        entries of a catalog that was lost.

        ``on_event`` receives what is done, in words. Raises EnvironmentProblem LS348 (not a lake in S3),
        StateError LS528 (the copy is still written to), OSError.

        Example:
            # shop.recover().apply() enters the newest whole state of each table
        """
        from lakesmith.api.recovering import recover

        return recover(self.access, on_event)

    def connect(self, engine: str, *tables: str) -> Snippet:
        """Returns the text with which another engine reads the tables (all, without a pattern). Starts no
        Spark.

        Raises UsageError LS254 (unknown engine), LS252 (it cannot read the catalog), LS253 (nothing is
        built), LS201.

        Example:
            print(shop.connect("duckdb", "gold.*").text)
        """
        from lakesmith.api.connecting import connect

        return connect(self.access, engine, tables)

    def up(
        self,
        observer: Observer,
        *,
        address: tuple[str, int] = ("127.0.0.1", 8080),
        pace: Pace | None = None,
        tls: tuple[Path | None, Path | None] = (None, None),
        page: PageChoice | None = None,
    ) -> Up:
        """Returns a service that takes events over HTTP and refreshes tables as their inputs arrive or are
        due.

        ``keep()`` runs it until ``stop()`` is called, from another thread or a signal handler; a second
        ``stop()`` abandons the batch under way. The service has a Spark session of its own.

        Args:
            observer: receives what happens.
            address: the host and the port that take events.
            pace: how often tables are looked at.
            tls: the files of a certificate and of its key, for HTTPS.
            page: whether the web page is served, in a process of its own, and how.

        Raises UsageError LS274 (the certificate); ``keep`` raises UsageError LS270, LS271, LS275, LS284,
        LockedError LS701.

        Example:
            shop.up(observer).keep()  # until it is stopped
        """
        from lakesmith.api.keeping_up import up
        from lakesmith.serve.options import Pace, PageChoice

        return up(self.access, observer, address, pace or Pace(), tls, page or PageChoice())

    def ui(
        self,
        *,
        port: int | None = None,
        host: str | None = None,
        allow_hosts: Sequence[str] = (),
        tls: tuple[Path | None, Path | None] = (None, None),
        may_change: bool = False,
    ) -> Ui:
        """Returns the web page of the lake, served as the project declares (``ui``), but for what is given.

        Args:
            port: the port; 0: any.
            host: the address that it listens on. Another one than this machine's own needs ``tls``.
            allow_hosts: other names under which browsers may ask for it, which need ``tls``, too.
            tls: the files of a certificate and of its key, for HTTPS.
            may_change: whether it may change the lake, which it does beside ``up`` alone.

        ``keep()`` serves it until ``stop()`` is called; ``link`` signs a browser in. Raises UsageError LS274,
        LS284 (no TLS); ``keep`` raises UsageError LS275 (the port), EnvironmentProblem LS309 (a package).

        Example:
            print(shop.ui().link)  # shop.ui().keep() serves the page there
        """
        from lakesmith.api.keeping_up import ui

        return ui(self.access, port, host, allow_hosts, tls, may_change)

    def send(
        self,
        table: str | None = None,
        options: SendOptions | None = None,
        *,
        on_event: Callable[[str], None] = ignore,
    ) -> Sent:
        """Posts made-up events to a source of the project, where ``up`` takes them, and checks that they
        arrive.

        ``table`` is a table or a path; None for the only source. ``on_event`` receives what is sent, in
        words.

        Raises UsageError LS271, LS272, LS273, StateError LS520, LS521.

        Example:
            print(shop.send("bronze.orders").to_dict())  # while lakesmith up takes events
        """
        from lakesmith.api.keeping_up import SendOptions, send

        return send(self.access, table, options or SendOptions(), on_event)

    def stop(self) -> Stopped:
        """Ends the JVM that a command left warm, unless a process uses it.

        Example:
            shop.stop()
        """
        from lakesmith.api.keeping_up import stop

        return stop(self.access)
