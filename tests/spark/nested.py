"""Helpers of the tests of nested types: sources with nested columns, files for them, results of runs."""

import json
import re
from pathlib import Path
from typing import Any

from harness import Harness, RunResult

_SOURCE = """
    source:
      files: {{path: landing/{name}/, format: {format}, on_new_column: {policy}}}
    columns:
      id: bigint
    {columns}
    """


def source(name: str, format_: str, policy: str, columns: dict[str, str]) -> dict[str, str]:
    """The file of the table ``bronze.NAME``, with ``id`` and these columns, which reads ``landing/NAME``."""
    lines = "".join(f"  {json.dumps(column)}: {json.dumps(kind)}\n    " for column, kind in columns.items())
    text = _SOURCE.format(name=name, format=format_, policy=policy, columns=lines)
    return {f"tables/bronze/{name}.yaml": text}


def sources(format_: str, columns: dict[str, str], *policies: str) -> dict[str, str]:
    """A ``source`` for each policy, of its name."""
    tables = [source(policy, format_, policy, columns) for policy in policies]
    return {name: text for table in tables for name, text in table.items()}


def json_lines(*rows: Any) -> str:
    return "".join(
        (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n" for row in rows
    )


def land_parquet(shop: Harness, name: str, rows: list[dict[str, Any]], schema: Any = None) -> None:
    """Lands ``landing/NAME.parquet``, written by Arrow, of inferred types if there is no ``schema``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows, schema), shop.land(f"landing/{name}.parquet", b""))


def made(shop: Harness, format_: str, sql: str) -> bytes:
    folder = shop.root / "made" / format_
    shop.spark.sql(sql).coalesce(1).write.format(format_).mode("overwrite").save(str(folder))
    return next(folder.glob(f"part-*.{format_}")).read_bytes()


def land_as(shop: Harness, format_: str, name: str, columns: dict[str, str], *rows: dict[str, Any]) -> None:
    """A file ``landing/NAME`` of the rows: JSON lines, or of the types in ``columns`` besides an ``id``."""
    if format_ == "json":
        shop.land(f"landing/{name}.json", json_lines(*rows))
        return
    fields = ",".join(f"{column}:{kind}" for column, kind in columns.items())
    text = json.dumps(rows).replace("\\", "\\\\").replace("'", "\\'")
    sql = f"SELECT inline(from_json('{text}', 'array<struct<id:bigint,{fields}>>'))"
    shop.land(f"landing/{name}.{format_}", made(shop, format_, sql))


def found(result: RunResult) -> dict[str, tuple[str, str | None]]:
    """What failed: the file of the problem's place -> its code and what was found."""
    return {
        Path(problem.place.file).stem if problem.place else "": (problem.code, problem.found)
        for problem in result.problems
    }


def notes(result: RunResult, table: str) -> list[str]:
    """What the run said of a table it published, without the files that it holds of."""
    return [re.sub(r" \((among )?landing/[^()]*\)$", "", note) for note in result.published[table].notes]


def types(shop: Harness, table: str) -> dict[str, str]:
    """The types of a table's columns, but for those that lakesmith adds and the ``id``."""
    columns = shop.state(table).columns
    return {
        column.name: column.type
        for column in columns
        if not column.name.startswith("_") and column.name != "id"
    }


def reasons(shop: Harness, table: str) -> dict[Any, list[str]]:
    """What is in quarantine: the row's ``id`` -> the reasons."""
    return {json.loads(row["raw"])["id"]: list(row["reasons"]) for row in shop.quarantine(table)}
