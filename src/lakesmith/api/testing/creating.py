"""``lakesmith test --create``: a story from rows that are in the lake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from lakesmith.api.frames import Rows, ask
from lakesmith.api.testing.runner import StoryRunner
from lakesmith.errors import Place, UsageError
from lakesmith.project.definitions import ADDED_COLUMNS, READ_COLUMNS, TableDefinition, TableName
from lakesmith.quoting import quoted
from lakesmith.stories.model import Batch, Expectation, Given, Story
from lakesmith.stories.model import Rows as ExpectedRows
from lakesmith.stories.reading import FOLDER
from lakesmith.stories.values import found_value
from lakesmith.stories.writing import story_text, yaml_value
from lakesmith.whole_file import write_whole

if TYPE_CHECKING:
    from lakesmith.api.access import Access
    from lakesmith.execute.opened import Opened

_PII: Final = "pii"
_LEFT_OUT: Final = (*ADDED_COLUMNS, *(name for name, _ in READ_COLUMNS))


def create(access: Access, table: str, rows: int) -> str:
    """Writes a story of some rows of a table, and of the rows of its sources that make them.

    Returns its file. Raises UsageError LS201, LS205, LS263 if the file is there already, LS264 if the rows
    make none.
    """
    opened = access.opened()
    name = opened.one(table)
    file = f"{FOLDER}/{name.layer}_{name.name}.yaml"
    if (opened.project.root / file).exists():
        raise UsageError.of("LS263", f"{file} is there already", None, "a file that does not exist yet")
    given = _given(access, opened, name, rows)
    access.close()
    with StoryRunner(access.folder, access.target, access.given) as runner:
        runner.stories()
        result = access.do(lambda: runner.run(_story(file, name, given)))
    found = next((each for each in result.found), None)
    if found is None:
        lines = "; ".join(line for failure in result.failures for line in failure.lines)
        raise UsageError.of("LS264", f"these rows of {name} make no story", None, found=lines or "no rows")
    expected = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    text = story_text(f"rows of {name} as they were", {str(each): rows for each, rows in given.items()},
                      {str(name): expected})  # fmt: skip
    path = opened.project.root / file
    path.parent.mkdir(exist_ok=True)
    write_whole(path, text)
    return file


def _story(file: str, name: TableName, given: Mapping[TableName, Sequence[Mapping[str, Any]]]) -> Story:
    place = Place(file, 1)
    # No row: what is found in place of that is what is to be expected.
    wanted = Expectation(name, place, ExpectedRows((), (), place))
    arrived = tuple(Given(table, place, rows=tuple(rows)) for table, rows in given.items())
    return Story(file, "", place, (Batch(arrived, (wanted,)),), without=frozenset({"rebuild", "repeat"}))


def _given(
    access: Access, opened: Opened, name: TableName, rows: int
) -> dict[TableName, list[dict[str, Any]]]:
    """Rows of each source that the table is made from: those of its keys where they have such columns."""
    key = opened.graph.node(name).definition.key
    sample = _read(access, opened, f"SELECT * FROM {_quoted(name)} LIMIT {rows}") if key else []
    found = {}
    for each in (*opened.graph.upstream(name), name):
        definition = opened.graph.node(each).definition
        if not definition.is_sourced:
            continue
        columns = _columns(access, opened, each)
        shared = [column for column in key if column in columns]
        where = _of_keys(shared, sample)
        read = _read(
            access, opened, f"SELECT * FROM {_quoted(each)}{where} LIMIT {max(rows, 2 * len(sample))}"
        )
        left = [{column: value for column, value in row.items() if column not in _LEFT_OUT} for row in read]
        found[each] = _masked(definition, left)
    return found


def _columns(access: Access, opened: Opened, name: TableName) -> Sequence[str]:
    facts = opened.lake.facts(name)
    return tuple(facts.base.record.columns or ()) if facts.base.record is not None else ()


def _of_keys(columns: Sequence[str], sample: Sequence[Mapping[str, Any]]) -> str:
    if not columns or not sample:
        return ""
    rows = (
        " AND ".join(f"{quoted(column)} <=> {_literal(row[column])}" for column in columns) for row in sample
    )
    return f" WHERE {' OR '.join(f'({each})' for each in rows)}"


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool | int):
        return str(value)
    text = str(yaml_value(value)).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"


def _read(access: Access, opened: Opened, sql: str) -> list[dict[str, Any]]:
    question = ask(opened, sql, None)
    session = access.do(lambda: access.session(opened, question.size, reads=True))
    found = Rows(session, question, tuple(opened.project.secrets), access).arrow()
    return [{name: found_value(value) for name, value in row.items()} for row in found.to_pylist()]


def _quoted(name: TableName) -> str:
    return f"{quoted(name.layer)}.{quoted(name.name)}"


def _masked(table: TableDefinition, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with other texts and numbers in columns of personal data, the same for the same value. Of a
    table that has the tag ``pii``, and no column marked so, those are all texts."""
    marked = {column.name for column in table.columns if column.pii}
    by_tag = _PII in table.tags and not marked
    known: dict[tuple[str, Any], int] = {}

    def mask(name: str, value: Any) -> Any:
        if value is None or not (name in marked or (by_tag and isinstance(value, str))):
            return value
        number = known.setdefault((name, str(value)), len(known) + 1)
        return f"{name}-{number}" if isinstance(value, str) else number if isinstance(value, int) else None

    return [{name: yaml_value(mask(name, value)) for name, value in row.items()} for row in rows]
