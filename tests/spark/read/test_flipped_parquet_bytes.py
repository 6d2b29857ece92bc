"""Parquet files with one byte changed: all rows are read as PyArrow reads them, or the file is refused.

Where pages have checksums, a changed page is never read as other values.
"""

import io
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from landing_files import landed, source
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from soaking import SOAK, seeds

import odd_parquet
from lakesmith.errors import SourceError
from lakesmith.project.definitions import Column
from lakesmith.project.formats import FileFormat
from lakesmith.quoting import quoted
from lakesmith.sources.columns.reading import SourceFiles
from lakesmith.sources.columns.types import table_type
from lakesmith.sources.inspect import count_records, group_by_shape
from lakesmith.spark.jvm.failures import full_text, unreadable_file
from lakesmith.spark.kinds.unreadable_files import is_of_content
from lakesmith.spark.read.files import SparkRecords, read_files, request_of
from lakesmith.spark.read.request import REASONS, SOURCE_POSITION

ROWS = 24
FLIPS = 250 if SOAK else 20
"""Of each seed, for files with checksums and for files without."""
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "id": (pa.int64(), list(range(ROWS))),
    "name": (pa.string(), [None if at % 5 == 0 else f"name {at % 7}" for at in range(ROWS)]),
    "x": (pa.float64(), [at / 8 for at in range(ROWS)]),
    "n": (pa.int32(), [None if at % 3 == 0 else at * 1000 for at in range(ROWS)]),
    "flag": (pa.bool_(), [at % 3 == 1 for at in range(ROWS)]),
    "price": (pa.decimal128(9, 2), [Decimal(at) / 4 for at in range(ROWS)]),
    "at": (pa.timestamp("us"), [1_700_000_000_000_000 + at for at in range(ROWS)]),
    "many": (pa.list_(pa.int32()), [[at] * (at % 4) if at % 6 else None for at in range(ROWS)]),
    "deep": (pa.struct([("a", pa.string())]), [{"a": str(at)} if at % 4 else None for at in range(ROWS)]),
}
TABLE = pa.table({name: pa.array(values, kind) for name, (kind, values) in VALUES.items()})


@dataclass(frozen=True)
class Flip:
    """One byte of a file changed."""

    data: bytes
    at: int
    in_footer: bool


def _flip(random: Random, checksums: bool) -> Flip:
    data = odd_parquet.parquet(
        TABLE,
        compression=random.choice(["none", "snappy", "zstd"]),
        data_page_version=random.choice(["1.0", "2.0"]),
        use_dictionary=random.random() < 0.5,
        row_group_size=random.choice([ROWS, 10]),
        write_page_checksum=checksums,
    )
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    # The first bytes of a page are its header and its levels.
    pages = [odd_parquet.page(data, column) for column in range(len(pq.read_schema(io.BytesIO(data))))]
    at = random.choice(
        [
            random.randrange(footer),
            min(random.choice(pages) + random.randrange(60), footer - 1),
            random.randrange(footer, len(data)),
        ]
    )
    return Flip(odd_parquet.flipped(data, at, random.randrange(1, 256)), at, at >= footer)


def _read(spark: SparkSession, root: Path, data: bytes) -> pa.Table | None:
    """The rows of a file as a batch would read them; None if it is refused."""
    of, file = source(FileFormat.PARQUET), landed(root, "landing/a.parquet", data)
    try:
        groups = group_by_shape([file], of, root)
        (shape,) = [group.shape for group in groups]
        kinds = zip(shape.columns, shape.types, strict=True)
        columns = [Column(name, table_type(kind)) for name, kind in kinds if kind and kind != "void"]
        read = SourceFiles(of, groups, SparkRecords(spark, root)).read(columns)
        frame = read_files(spark, request_of(spark, read, root))
        # Decimals as texts: Arrow refuses more digits than their type has.
        wide = [name for name, kind in frame.dtypes if kind.startswith("decimal")]
        rows = frame.withColumns({name: F.col(quoted(name)).cast("string") for name in wide}).toArrow()
    except SourceError:
        return None
    except (PySparkException, Py4JError) as error:
        assert unreadable_file(error) == str(root / file.path), full_text(error)[:3000]
        assert is_of_content(error, checked=True), full_text(error)[:3000]
        return None
    # A batch whose counts differ is not published.
    return rows if rows.num_rows == count_records([file], of, root) else None


def _plain(table: pa.Table, like: pa.Schema) -> list[dict[str, str]]:
    """Rows as texts, which tell NaN and -0.0; moments as numbers, which have no bounds."""
    table = table.select(like.names).cast(like)
    moments = {field.name: pa.int64() for field in like if pa.types.is_timestamp(field.type)}
    numbers = pa.schema([field.with_type(moments.get(field.name, field.type)) for field in like])
    return [{name: repr(value) for name, value in row.items()} for row in table.cast(numbers).to_pylist()]


@pytest.mark.parametrize("checksums", [True, False], ids=["checksums", "none"])
@pytest.mark.parametrize("seed", seeds(43))
def test_a_flipped_byte_gives_no_other_value_and_no_fewer_rows(
    seed: int, checksums: bool, spark: SparkSession, tmp_path: Path
) -> None:
    random, refused = Random(f"{seed} {checksums}"), 0
    for number in range(FLIPS):
        flip = _flip(random, checksums)
        (tmp_path / "flip.parquet").write_bytes(flip.data)
        rows = _read(spark, tmp_path, flip.data)
        if rows is None:
            refused += 1
            continue
        case = f"seed {seed}, flip {number} at byte {flip.at}, footer: {flip.in_footer}"
        good = [reasons == [] for reasons in rows[REASONS].to_pylist()]
        shown = rows.select([name for name in rows.column_names if not name.startswith("_")])
        by_arrow = TABLE if checksums and not flip.in_footer else pq.read_table(tmp_path / "flip.parquet")
        assert rows.num_rows == by_arrow.num_rows, case
        assert rows[SOURCE_POSITION].to_pylist() == list(range(1, rows.num_rows + 1)), case
        expected = _plain(by_arrow.filter(pa.array(good)), shown.schema)
        assert _plain(shown.filter(pa.array(good)), shown.schema) == expected, case
    print(f"{refused} of {FLIPS} refused")
    assert refused < FLIPS
