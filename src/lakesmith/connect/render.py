"""The text of a snippet: what is to be known in comments above, then what the engine is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lakesmith.connect.model import SQLITE, Engine, Lake, Piece
from lakesmith.connect.values import in_shell, variables
from lakesmith.errors import Problem, UsageError
from lakesmith.project.nearest import listed

FORMAT_THREE: Final = 3
_GAP: Final = re.compile(r"<[a-z][a-z ]*>")


def snippet(engine: Engine, lake: Lake, others: tuple[Engine, ...] = ()) -> str:
    """The text for ``engine``. Raises UsageError LS252 for a catalog that it cannot read; ``others`` are named then, where they can."""
    write = engine.writes.get(lake.kind)
    if write is None:
        raise UsageError(_cannot(engine, lake, others))
    piece = write(lake)
    comments = [f"{engine.comment} {line}" for line in _comments(engine, lake, piece)]
    return in_shell("\n".join([*comments, "", *piece.lines]))


def _comments(engine: Engine, lake: Lake, piece: Piece) -> Iterator[str]:
    yield f"{engine.title}: the tables of project {lake.project}, target {lake.target.name}"
    yield from piece.notes
    yield from _on_format(engine, lake)
    body = "\n".join(piece.lines)
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
    """What is to be known of tables of format 3, which all are that nobody told of."""
    three = [table.path for table in lake.tables if (table.format_version or FORMAT_THREE) >= FORMAT_THREE]
    if engine.format_three and three:
        untold = any(table.format_version is None for table in lake.tables)
        unless = ", unless they are declared as format 2; the catalog did not answer" if untold else ""
        yield f"format 3 ({listed(three)}){unless}:"
        yield f"  {engine.format_three}"


def _known(lake: Lake) -> tuple[str, ...]:
    """The environment variables that the target's catalog is written with."""
    return variables("".join(value for _, value in lake.target.catalog))


def _names(body: str, variable: str) -> bool:
    """Whether the variable is in the text, as any engine writes it."""
    return re.search(rf'[{{:"]{re.escape(variable)}[}}"]', body) is not None


def _cannot(engine: Engine, lake: Lake, others: tuple[Engine, ...]) -> Problem:
    able = [other.name for other in others if lake.kind in other.writes]
    types = ", ".join(sorted(set(engine.writes) - {SQLITE}))
    return Problem(
        "LS252",
        f"{engine.title} cannot read the tables of target {lake.target.name!r}: {engine.refuses[lake.kind]}",
        lake.target.place,
        f"a target with a catalog of type {types}",
        lake.kind,
        f"lakesmith connect {' | '.join(able)} for this target; or a target with another catalog",
    )
