"""Rows of erased people: if an old file is ingested again, hashes identify them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith.project.definitions import Column
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.batch.sidecar import SidecarKind, read_pinned
from lakesmith.spark.frames.row_counts import RowCounts, counts_of

COLUMNS: Final = (
    Column("attempt", "string", "the batch that erased"),
    Column("erased_at", "timestamp", "when it began"),
    Column("fields", "array<int>", "the ids of the columns of the erasure filter"),
    Column("salt", "string", "what the values were hashed with"),
    Column("hash", "string", "SHA-256 of the salt and the values, each behind its length"),
)


def hash_of(salt: SparkColumn, values: Sequence[SparkColumn]) -> SparkColumn:
    """Returns the hash of a row's values, cast to strings; NULL if one is NULL.

    Their lengths are hashed, too, so that no two lists of values give the same text.
    """
    parts = [F.concat(F.length(value).cast("string"), F.lit(":"), value) for value in values]
    return F.sha2(F.concat(salt, *parts), 256)


@dataclass
class LeftOut:
    """Leaves the rows of erased people out of a batch, and counts them. ``is_theirs`` None: no people."""

    is_theirs: SparkColumn | None
    _seen: list[RowCounts] = field(default_factory=list)

    def without(self, rows: DataFrame) -> DataFrame:
        """The other rows."""
        if self.is_theirs is None:
            return rows
        return rows.where(~self.is_theirs)

    def counted(self, rows: DataFrame) -> DataFrame:
        """The same rows; how many of them are left out is counted when they are computed."""
        if self.is_theirs is None:
            return rows
        self._seen[:] = [RowCounts()]
        return self._seen[0].observe(rows, F.count_if(self.is_theirs).alias("erased"))

    def count(self) -> int:
        """How many were left out."""
        return counts_of(self._seen[0])["erased"] if self._seen else 0


def note_of(found: int) -> tuple[str, ...]:
    """Returns the note on so many rows left out."""
    rows = "1 row" if found == 1 else f"{found:,} rows"
    return (f"{rows} of people who were erased came again, and stayed out",) if found else ()


def left_out(batch: Batch, columns: Sequence[str]) -> LeftOut:
    """Returns the filter for rows with these columns, by the hashes of the table's last batch."""
    known = read_pinned(batch, SidecarKind.ERASED)
    if known is None:
        return LeftOut(None)
    hashes: dict[tuple[tuple[int, ...], str], list[str]] = defaultdict(list)
    for row in known.select("fields", "salt", "hash").collect():
        hashes[tuple(row["fields"]), row["salt"]].append(row["hash"])
    spelt = {name.lower(): name for name in columns}
    # By their ids: a column may have another name by now.
    names = {
        each.field_id: spelt[each.name.lower()]
        for each in batch.state().columns
        if each.name.lower() in spelt
    }
    found = F.lit(False)
    for (fields, salt), values in hashes.items():
        if all(number in names for number in fields):
            texts = [F.col(quoted(names[number])).cast("string") for number in fields]
            found = found | F.coalesce(hash_of(F.lit(salt), texts).isin(values), F.lit(False))
    return LeftOut(found)
