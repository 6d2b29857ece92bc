"""Chooses the files to ingest, by comparing a listing with the ledger. Pure.

A file is identified by its whole identity and never by being newer: late, back-dated and same-second files
are ingested, once. A file that was ingested and has changed is handled as its source declares
(``on_changed_file``).

If the size is equal and the rest is not (``touch``, ``chmod``, a copied or restored folder, the same file
delivered again, or a rewrite that set the time back), the content's fingerprint decides. Of large files with
another modification time only samples are compared, which does not prove them equal. Compute the fingerprints
of ``uncertain_files`` and pass them on. Without one, a file counts as changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lakesmith.errors import Problem
from lakesmith.project.definitions import OnBadFile, OnChangedFile, Source, TableName, is_object
from lakesmith.sources.identity import WHOLE_UP_TO
from lakesmith.sources.ledger_view import LedgerView, Row
from lakesmith.sources.listing import Listing
from lakesmith.sources.model import UNREAD, FileAction, FileIdentity
from lakesmith.sources.names import printable

_NO_FINGERPRINTS: Mapping[str, str] = {}
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class FileChoice:
    """What a batch does with a source's files; all tuples are sorted by path.

    ``take`` are new (or forgotten) files. ``replace`` were ingested and have changed: the rows of their
    earlier version are deleted in the same batch. ``changed`` stops the batch (``problems`` says so);
    ``ignored_changed`` does not. ``skipped`` are left out on record, ``unread`` because they cannot be read.
    All other files are ingested.
    """

    take: tuple[FileIdentity, ...] = ()
    replace: tuple[FileIdentity, ...] = ()
    changed: tuple[FileIdentity, ...] = ()
    ignored_changed: tuple[FileIdentity, ...] = ()
    skipped: tuple[FileIdentity, ...] = ()
    unread: tuple[FileIdentity, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def choose_files(
    source: Source,
    listing: Listing,
    ledger: LedgerView,
    fingerprints: Mapping[str, str] = _NO_FINGERPRINTS,
    table: TableName | None = None,
) -> FileChoice:
    """Compares ``listing`` with ``ledger``.

    ``fingerprints`` maps the paths of ``uncertain_files`` to the fingerprint of their content now; ``table``
    is named in the hints. Problems are in the result's ``problems``, not raised.
    """
    groups = _group(source, listing, ledger, fingerprints)
    changed, unread = tuple(groups["changed"]), tuple(groups["unread"])
    policy = source.on_changed_file
    stopping = changed if policy is OnChangedFile.FAIL else ()
    ignored = changed if policy is OnChangedFile.IGNORE else ()
    return FileChoice(
        take=tuple(groups["take"]),
        replace=changed if policy is OnChangedFile.REPLACE else (),
        changed=stopping,
        ignored_changed=ignored,
        skipped=tuple(groups["skipped"]),
        unread=unread,
        problems=(_changed_problem(source, stopping, ledger, table),) if stopping else (),
        notes=(
            *((_ignored_note(source, ignored),) if ignored else ()),
            *((_unread_note(source, unread, table),) if unread else ()),
        ),
    )


def uncertain_files(listing: Listing, ledger: LedgerView) -> tuple[FileIdentity, ...]:
    """Returns the files whose content decides whether they are the ingested ones."""
    return tuple(file for file, row in _not_settled(listing, ledger) if row and _is_uncertain(file, row))


def _group(
    source: Source, listing: Listing, ledger: LedgerView, fingerprints: Mapping[str, str]
) -> dict[str, list[FileIdentity]]:
    names = ("take", "changed", "skipped", "unread")
    groups: dict[str, list[FileIdentity]] = {name: [] for name in names}
    for file, row in _not_settled(listing, ledger):
        if row is None or row[1] == FileAction.FORGOTTEN:
            groups["take"].append(file)
        elif row[1] == FileAction.SKIPPED:
            groups["skipped"].append(file)
        elif row[1] in UNREAD:
            groups[_unread_group(source, file, row, fingerprints)].append(file)
        elif not (_is_uncertain(file, row) and fingerprints.get(file.path) == row[6]):
            groups["changed"].append(file)
    return groups


def _unread_group(source: Source, file: FileIdentity, row: Row, fingerprints: Mapping[str, str]) -> str:
    """An unreadable file is left out until it changes, if its source allows it."""
    same = _has_status(file, row) or (_is_uncertain(file, row) and fingerprints.get(file.path) == row[6])
    if same and source.on_bad_file is OnBadFile.SKIP:
        return "unread"
    return "changed" if row[1] == FileAction.KEPT else "take"


def _has_status(file: FileIdentity, row: Row) -> bool:
    return row[2:6] == (file.size, file.modified_ns, file.inode, file.changed_ns)


def _not_settled(listing: Listing, ledger: LedgerView) -> Iterator[tuple[FileIdentity, Row | None]]:
    """The files that differ from what was ingested, each with its newest line.

    A segment whose line has left the ledger is ingested, and unchanged if it is there again.
    """
    rows = ledger.rows
    taken = FileAction.TAKEN.value
    for file in listing.found:
        row = rows.get(file.path)
        # Written out here: in an idle run this is all that happens to each of perhaps 100,000 files.
        if (
            row is None
            or row[3] != file.modified_ns
            or row[5] != file.changed_ns
            or row[2] != file.size
            or row[4] != file.inode
            or row[1] != taken
            or (file.etag and file.etag != row[6])
        ) and not ledger.is_folded(file.path):
            known = ledger.row(file.path) if row is None else row
            is_copy = row is None and ledger.is_moved(file.path)
            if row is not None or known is None or not _is_as_taken(file, known, is_copy):
                yield file, known


def _is_as_taken(file: FileIdentity, row: Row, is_copy: bool = False) -> bool:
    """S3's replicas keep size and time; the ETag differs if they are encrypted with another key."""
    same_content = is_copy or not file.etag or file.etag == row[6]
    return row[1] == FileAction.TAKEN and _has_status(file, row) and same_content


def _is_uncertain(file: FileIdentity, row: Row) -> bool:
    """Ingested, or tried, with a fingerprint, and equal in size (a large file: in modification time too)."""
    if row[1] not in (FileAction.TAKEN, *UNREAD) or not row[6] or row[2] != file.size:
        return False
    if row[1] in UNREAD and _has_status(file, row):
        return False
    return file.size <= WHOLE_UP_TO or row[3] == file.modified_ns or is_object(file.path)


def _changed_problem(
    source: Source, changed: Sequence[FileIdentity], ledger: LedgerView, table: TableName | None
) -> Problem:
    first = changed[0]
    before = ledger[first.path].file
    return Problem(
        "LS410",
        f"source {source.name!r}: {_count(changed)} changed after being taken: {_names(changed)}",
        source.place,
        expected=f"{printable(first.path)} as it was taken: {_stat(before)}",
        found=_stat(first) + (", with other content" if _stat(first) == _stat(before) else ""),
        hint=f"`lakesmith files {table or 'TABLE'} --skip FILE` leaves one out, "
        "`on_changed_file: replace` ingests its rows again, `on_changed_file: ignore` keeps the present rows",
    )


def _ignored_note(source: Source, ignored: Sequence[FileIdentity]) -> str:
    return (
        f"source {source.name!r}: {_count(ignored)} changed after being taken and not taken again "
        f"(on_changed_file: ignore): {_names(ignored)}"
    )


def _unread_note(source: Source, unread: Sequence[FileIdentity], table: TableName | None) -> str:
    one = len(unread) == 1
    return (
        f"source {source.name!r}: {_count(unread)} left out, because {'it' if one else 'they'} could not be"
        " read"
        f" (on_bad_file: skip): {_names(unread)}; tried again once changed, or after"
        f" `lakesmith files {table or 'TABLE'} --forget FILE`"
    )


def _stat(file: FileIdentity) -> str:
    seconds, nanoseconds = divmod(file.modified_ns, 1_000_000_000)
    modified = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    if is_object(file.path):
        return f"{file.size} bytes, modified {modified} UTC, ETag {file.etag}"
    return f"{file.size} bytes, modified {modified}.{nanoseconds:09d} UTC, inode {file.inode}"


def _count(files: Sequence[FileIdentity]) -> str:
    return "1 file" if len(files) == 1 else f"{len(files)} files"


def _names(files: Sequence[FileIdentity]) -> str:
    names = ", ".join(printable(file.path) for file in files[:_SHOWN])
    return names if len(files) <= _SHOWN else f"{names} and {len(files) - _SHOWN} more"
