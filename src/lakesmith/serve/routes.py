"""The sources of events that a project declares: their paths, tokens, and folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from lakesmith.errors import UsageError
from lakesmith.project.definitions import HttpSource, Project, TableDefinition
from lakesmith.redaction import secrets_in


@dataclass(frozen=True, slots=True)
class EventSource:
    """A source of events of a table; ``folder`` has its segments."""

    table: TableDefinition
    source: HttpSource
    folder: Path


def event_sources(project: Project) -> tuple[EventSource, ...]:
    """Returns the sources of a project. Raises UsageError LS270 if two have one path."""
    found = tuple(_sources(project.tables, project.root))
    for number, one in enumerate(found):
        for other in found[:number]:
            if one.source.url_path == other.source.url_path:
                raise _same_path(one, other)
    return found


def tokens_of(each: EventSource, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the bearer tokens of a source. Raises UsageError LS271 if a variable is not set, or empty."""
    for name in each.source.tokens:
        if not environment.get(name):
            raise UsageError.of(
                "LS271",
                f"the environment has no token for {each.source.url_path}",
                each.source.place,
                expected=f"a value in {name}",
                found="nothing",
                hint=f"export {name}=...",
            )
    return tuple(environment[name] for name in each.source.tokens)


def _sources(tables: Sequence[TableDefinition], root: Path) -> Iterator[EventSource]:
    for table in tables:
        for source in table.sources_of(HttpSource):
            yield EventSource(table, source, root / source.path)


def _same_path(one: EventSource, other: EventSource) -> UsageError:
    return UsageError.of(
        "LS270",
        f"{other.table.name} and {one.table.name} take events at one path",
        one.source.place,
        expected="a path for each",
        found=one.source.url_path,
        hint="give one of them another path; a table that derives from the other may read its events",
    )


def chosen(sources: Sequence[EventSource], name: str | None) -> EventSource:
    """Returns the source of a table or a path; the only one without a name. Raises UsageError LS272."""
    found = [each for each in sources if name is None or name in (str(each.table.name), each.source.url_path)]
    if len(found) == 1:
        return found[0]
    ways = ", ".join(f"{each.table.name} ({each.source.url_path})" for each in found or sources) or "none"
    if not sources:
        what, hint = "no table of the project takes events", "give one a source: {http: {path: /events}}"
    elif not found:
        what, hint = f"{name} takes no events", "name one of the tables that do, or a path"
    else:
        what, hint = (
            "several sources take events",
            "name the table, or the path, that events are to be sent to",
        )
    raise UsageError.of("LS272", what, None, "one source of events", ways, hint)


def url_of(each: EventSource, base: str) -> SplitResult:
    """Returns the URL of a source at an intake. Raises UsageError LS273 unless ``base`` is an HTTP URL."""
    try:
        parts = urlsplit(base)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_right = False
    if not is_right or secrets_in(base) != ():
        expected = "such as http://127.0.0.1:8080, without a user or password"
        raise UsageError.of("LS273", "not the URL of an intake", None, expected)
    return parts._replace(path=parts.path.rstrip("/") + each.source.url_path, query="", fragment="")


def token_for(each: EventSource, environment: Mapping[str, str]) -> str | None:
    """Returns a token of the source; None if none is needed. Raises UsageError LS271."""
    for name in each.source.tokens:
        if environment.get(name):
            return environment[name]
    return next(iter(tokens_of(each, environment)), None)
