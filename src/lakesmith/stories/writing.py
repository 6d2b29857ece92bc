"""Expectations and stories as YAML: what ``lakesmith test --update`` and ``--create`` write."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import LiteralScalarString

from lakesmith.project.yaml_reader import YamlPath
from lakesmith.stories.model import Rows
from lakesmith.stories.values import found_value

if TYPE_CHECKING:
    import pyarrow as pa


def yaml_value(value: Any) -> Any:
    """Returns a found value as a story has it: what YAML cannot say exactly is a text."""
    match value:
        case Decimal():
            return str(value)
        case datetime():
            zone = "Z" if value.tzinfo is not None else ""
            moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
            return moment.isoformat(" ") + zone
        case date():
            return value.isoformat()
        case bytes():
            return value.hex()
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        case Mapping():
            return {str(key): yaml_value(item) for key, item in value.items()}
        case list():
            return [yaml_value(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Rows that were found in place of expected ones. ``texts``: the expectation is CSV."""

    path: YamlPath
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    texts: bool


def found_rows(expected: Rows, found: pa.Table) -> FoundRows:
    """Returns what is to be expected of a table that holds ``found``: the columns that were named, or all."""
    names = {name.lower(): name for name in found.column_names}
    columns = [
        names[name.lower()] for name in expected.columns if name.lower() in names
    ] or found.column_names
    values = [map(found_value, found.column(name).to_pylist()) for name in columns]
    rows = sorted(zip(*values, strict=True), key=lambda row: [(value is None, str(value)) for value in row])
    return FoundRows(expected.path, tuple(columns), tuple(rows), expected.texts)


def with_rows(text: str, found: Iterable[FoundRows]) -> str:
    """Returns a file of stories whose expectations have the found rows; all else stays as it is written."""
    yaml, out = _yaml(), io.StringIO()
    data = yaml.load(text)
    for each in found:
        above = data
        for part in each.path[:-1]:
            above = above[part]
        above[each.path[-1]] = _as_csv(each) if each.texts else _flow_rows(each)
    yaml.dump(data, out)
    return out.getvalue()


def _as_csv(found: FoundRows) -> LiteralScalarString:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows([_csv_value(value) for value in row] for row in found.rows)
    text: LiteralScalarString = LiteralScalarString(out.getvalue())
    return text


def _csv_value(value: Any) -> Any:
    written = yaml_value(value)
    if isinstance(written, bool):
        return str(written).lower()
    return json.dumps(written, ensure_ascii=False) if isinstance(written, list | dict) else written


def _flow_rows(found: FoundRows) -> CommentedSeq:
    rows = CommentedSeq()
    for row in found.rows:
        line = CommentedMap((name, yaml_value(value)) for name, value in zip(found.columns, row, strict=True))
        line.fa.set_flow_style()
        rows.append(line)
    if not rows:
        rows.fa.set_flow_style()
    return rows


def story_text(
    title: str,
    given: Mapping[str, Sequence[Mapping[str, Any]]],
    expect: Mapping[str, Sequence[Mapping[str, Any]]],
) -> str:
    """Returns a file with one story of one batch."""
    lines = ["stories:", f"  - story: {json.dumps(title, ensure_ascii=False)}"]
    for word, tables in (("given", given), ("expect", expect)):
        lines.append(f"    {word}:")
        for table, rows in tables.items():
            lines.append(f"      {table}:" if rows else f"      {table}: []")
            lines += [f"        - {_flow(row)}" for row in rows]
    return "\n".join([*lines, ""])


def _flow(row: Mapping[str, Any]) -> str:
    """A row in YAML's flow style, which JSON is."""
    items = (
        f"{_key(name)}: {json.dumps(yaml_value(value), ensure_ascii=False)}" for name, value in row.items()
    )
    return "{" + ", ".join(items) + "}"


def _key(name: str) -> str:
    return name if name.replace("_", "a").isalnum() and not name[0].isdigit() else json.dumps(name)


def _yaml() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 10_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml
