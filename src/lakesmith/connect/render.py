"""Renders a snippet: notes in comments, then the engine's text, both from the engine's template."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from lakesmith.connect import values
from lakesmith.connect.model import ALIAS, SQLITE, Engine, Lake, quoted
from lakesmith.connect.registry import ALL
from lakesmith.errors import Problem, UsageError, listed

if TYPE_CHECKING:
    from jinja2 import Environment

FORMAT_THREE: Final = 3
_GAP: Final = re.compile(r"<[a-z][a-z ]*>")
_RULER: Final = "---\n"
"""The line of a template between the notes and the text."""


def snippet(engine: Engine, lake: Lake) -> str:
    """Returns the text for ``engine``.

    Raises UsageError LS252, with the engines that can, for a catalog that the engine cannot read.
    """
    if lake.kind not in engine.reads:
        raise UsageError(_cannot(engine, lake))
    template = _environment().get_template(engine.template)
    rendered = template.render(lake=lake, s3=lake.storage, alias=ALIAS)
    notes, _, body = rendered.partition(_RULER)
    comments = [f"{engine.comment} {line}" for line in _comments(engine, lake, notes, body)]
    return values.in_shell("\n".join([*comments, "", body.rstrip("\n")]))


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from lakesmith.spark.start import settings, versions

    made = Environment(
        loader=PackageLoader("lakesmith.connect", "engines"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Each notation has its own filter.
        autoescape=False,
    )
    made.filters |= {
        "escaped": _escaped,
        "given_only": lambda given: {key: value for key, value in given.items() if value},
        "host": lambda url: url.removeprefix("https://").removeprefix("http://").rstrip("/"),
        "prefixed": lambda given, prefix: {f"{prefix}{key}": value for key, value in given.items()},
        "properties": values.in_properties,
        "python": values.in_python,
        "quoted": quoted,
        "shell": values.in_shell,
        "sql": values.in_sql,
        "without": _without,
    }
    made.globals |= {
        "extensions": settings.DEFAULTS["spark.sql.extensions"],
        "installed_pair": versions.installed_pair,
        "local_catalog_conf": settings.local_catalog_conf,
        "postgres_jars": list(versions.POSTGRES_JARS),
        "sqlite_jar": versions.SQLITE,
    }
    return made


def _escaped(value: str) -> str:
    """Returns the value as a text of StarRocks, in double quotes."""
    return '"' + values.in_shell(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _without(given: Mapping[str, str], *keys: str) -> dict[str, str]:
    return {key: value for key, value in given.items() if key not in keys}


def _comments(engine: Engine, lake: Lake, notes: str, body: str) -> Iterator[str]:
    yield f"{engine.title}: the tables of project {lake.project}, target {lake.target.name}"
    yield from notes.splitlines()
    yield from _on_format(engine, lake)
    if names := [name for name in _known(lake) if _names(body, name)]:
        how = f" ({engine.fills_in})" if engine.fills_in else ""
        yield f"environment variables: {', '.join(names)}{how}"
        if written := [name for name in names if name in lake.written_out]:
            yield f"  {', '.join(written)}: lakesmith.yaml has the value itself, which is not shown"
    if gaps := sorted(set(_GAP.findall(body))):
        yield f"put in: {', '.join(gaps)}"
    if lake.unbuilt:
        yield f"not built yet, and left out: {listed(map(str, lake.unbuilt))}"


def _on_format(engine: Engine, lake: Lake) -> Iterator[str]:
    """Yields the note on tables of format 3."""
    three = [table.path for table in lake.tables if table.format_version >= FORMAT_THREE]
    if engine.format_three and three:
        yield f"format 3 ({listed(three)}):"
        yield f"  {engine.format_three}"


def _known(lake: Lake) -> tuple[str, ...]:
    """Returns the environment variables in the target's catalog settings."""
    return values.variables("".join(lake.settings.values()))


def _names(body: str, variable: str) -> bool:
    """Returns whether the text contains the variable, in any engine's notation."""
    return re.search(rf'[{{:"]{re.escape(variable)}[}}"]', body) is not None


def _cannot(engine: Engine, lake: Lake) -> Problem:
    able = [other.name for other in ALL if lake.kind in other.reads]
    types = ", ".join(sorted(set(engine.reads) - {SQLITE}))
    return Problem(
        "LS252",
        f"{engine.title} cannot read the tables of target {lake.target.name!r}: {engine.why_not}",
        lake.target.place,
        f"a target with a catalog of type {types}",
        lake.kind,
        f"lakesmith connect {' | '.join(able)} for this target; or a target with another catalog",
    )
