"""What becomes of the landing files that hold rows of people who are erased."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lakesmith.errors import Problem, UsageError
from lakesmith.execute.lake import Lake
from lakesmith.graph.graph import Graph
from lakesmith.project.definitions import FileSource, OnErase, TableDefinition, TableName, is_object
from lakesmith.sources.kafka.slices import is_slice
from lakesmith.sources.listing import absolute_path
from lakesmith.sources.object_client import client_of
from lakesmith.sources.objects import bucket_and_key
from lakesmith.sources.without_persons import why_not


@dataclass(frozen=True, slots=True)
class LandingFile:
    """A file, what becomes of it, and where it is declared. ``choice`` None: nobody said."""

    path: str
    source: FileSource
    choice: OnErase | None


def landing_files(lake: Lake, graph: Graph, files: Mapping[TableName, Iterable[str]]) -> list[LandingFile]:
    """The files that are there, each with its choice. Records of topics are none: a topic forgets by its own retention."""
    found = []
    for name, paths in files.items():
        table, ledger = graph.node(name).definition, lake.ledger(name, lake.facts(name))
        for path in paths:
            if is_slice(path) or not _is_there(lake, path, table):
                continue
            known = ledger[path].source if path in ledger else table.sources[0].name
            source = next((each for each in table.sources if each.name == known), table.sources[0])
            found.append(LandingFile(path, source, _choice(source)))
    return found


def _choice(source: FileSource) -> OnErase | None:
    """Files that lakesmith wrote itself, of events and rows that came in, are removed: nobody else has a use for them."""
    if source.http is not None or source.postgres is not None:
        return OnErase.REMOVE
    return source.on_erase


def require_choices(files: Sequence[LandingFile]) -> None:
    """Raises UsageError LS260 where nobody has said what becomes of a file, LS261 for one that cannot be rewritten and is to be."""
    _require_rewritable(files)
    open_ = [file for file in files if file.choice is None]
    if not open_:
        return
    more = f" and {len(open_) - 3} more" if open_[3:] else ""
    found = ", ".join(file.path for file in open_[:3]) + more
    raise UsageError(
        Problem(
            "LS260",
            f"{len(open_)} landing file{'s' if open_[1:] else ''} hold rows of theirs, and nothing says what becomes of them",
            open_[0].source.place,
            "on_erase: rewrite, on_erase: remove (the other rows are in the table) or on_erase: keep",
            found,
            "nothing was erased yet: set on_erase where the files are declared, and call it again",
        )
    )


def _require_rewritable(files: Iterable[LandingFile]) -> None:
    for file in files:
        if file.choice is OnErase.REWRITE and (why := why_not(file.source)) is not None:
            expected = "on_erase: remove (the other rows are in the table) or on_erase: keep"
            what = f"{file.path} has rows of theirs and cannot be rewritten: {why}"
            raise UsageError(Problem("LS261", what, file.source.place, expected, "on_erase: rewrite"))


def remove(lake: Lake, file: LandingFile) -> None:
    """Deletes a file; one that is gone is no error. Raises OSError, and what S3 answers."""
    if not is_object(file.path):
        absolute_path(file.path, lake.project.root).unlink(missing_ok=True)
        return
    bucket, key = bucket_and_key(file.path)
    client_of(lake.project.target.store).delete_object(Bucket=bucket, Key=key)


def _is_there(lake: Lake, path: str, table: TableDefinition) -> bool:
    return is_object(path) or absolute_path(path, lake.project.root).is_file()
