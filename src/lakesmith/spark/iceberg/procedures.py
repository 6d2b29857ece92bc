"""Iceberg's procedures of maintenance, called with what they take, and what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from lakesmith.plan.maintenance import ManifestFacts
from lakesmith.project.definitions import FileOrder, TableName
from lakesmith.quoting import literal, quoted
from lakesmith.spark.iceberg.commits import CATALOG, physical


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Data files that were rewritten, and what they became."""

    files: int = 0
    into: int = 0


def rewrite_data_files(
    spark: SparkSession,
    name: TableName,
    options: Mapping[str, str],
    order: FileOrder = FileOrder.BINPACK,
    columns: Sequence[str] = (),
    where: str | None = None,
) -> Rewritten:
    """Rewrites data files of a wrong size or with many deletes; ``where``: only files with such rows."""
    given = ", ".join(f"{literal(key)}, {literal(value)}" for key, value in options.items())
    arguments = {"strategy": literal("sort" if columns else "binpack"), "options": f"map({given})"}
    if columns:
        arguments["sort_order"] = literal(_sort_order(order, columns))
    if where is not None:
        arguments["where"] = literal(where)
    done = _call(spark, "rewrite_data_files", name, **arguments)[0]
    return Rewritten(int(done["rewritten_data_files_count"]), int(done["added_data_files_count"]))


def rewrite_position_deletes(spark: SparkSession, name: TableName, every: bool = False) -> int:
    """Compacts position-delete files (v2) or turns them into vectors (v3); returns how many. ``every``: of
    any size."""
    given = {"options": "map('rewrite-all', 'true')"} if every else {}
    done = _call(spark, "rewrite_position_delete_files", name, **given)[0]
    return int(done["rewritten_delete_files_count"])


def rewrite_manifests(spark: SparkSession, name: TableName, spec: int) -> Rewritten:
    """Puts the manifests of a partition spec together."""
    done = _call(spark, "rewrite_manifests", name, spec_id=str(spec))[0]
    return Rewritten(int(done["rewritten_manifests_count"]), int(done["added_manifests_count"]))


def manifests_of(spark: SparkSession, name: TableName) -> tuple[ManifestFacts, ...]:
    rows = spark.sql(f"SELECT partition_spec_id, content, length FROM {physical(name)}.manifests").collect()
    return tuple(ManifestFacts(int(row[0]), int(row[1]) != 0, int(row[2])) for row in rows)


def orphan_files(spark: SparkSession, name: TableName, before: float, by_prefix: bool) -> list[str]:
    """Returns orphaned files older than ``before`` (seconds since the epoch); removes none. ``by_prefix``:
    listed by the table's own file client."""
    moment = datetime.fromtimestamp(before, UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
    found = _call(
        spark,
        "remove_orphan_files",
        name,
        older_than=f"TIMESTAMP {literal(moment)}",
        dry_run="true",
        prefix_listing=str(by_prefix).lower(),
    )
    return sorted(str(row[0]) for row in found)


def expire_all_but(spark: SparkSession, name: TableName, kept: int) -> None:
    """Expires all snapshots but the newest ones, and deletes their files."""
    now = literal(datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC"))
    _call(spark, "expire_snapshots", name, older_than=f"TIMESTAMP {now}", retain_last=str(kept))


def _sort_order(order: FileOrder, columns: Sequence[str]) -> str:
    named = ", ".join(map(quoted, columns))
    return f"zorder({named})" if order is FileOrder.Z_ORDER else named


def _call(spark: SparkSession, procedure: str, name: TableName, **arguments: str) -> list[Any]:
    of = literal(physical(name).removeprefix(f"{quoted(CATALOG)}."))
    given = ", ".join(f"{key} => {value}" for key, value in {"table": of, **arguments}.items())
    return spark.sql(f"CALL {CATALOG}.system.{procedure}({given})").collect()
