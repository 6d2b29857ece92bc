"""Bounds of decimals by a footer that is read without Arrow, which ends the process for some statistics."""

import io
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import odd_parquet
from lakesmith.sources.formats.parquet import read_parquet_shape
from lakesmith.sources.formats.parquet_pages import read_parquet_pages
from lakesmith.sources.formats.parquet_statistics import Footer


@pytest.mark.parametrize("seed", range(8))
def test_bounds_are_those_that_arrow_reads(seed: int) -> None:
    choose, columns = random.Random(seed), {}
    for number in range(choose.randrange(1, 30)):
        digits = choose.choice([4, 9, 18, 30, 38])
        scale = choose.randrange(digits)
        values = [
            None
            if choose.random() < 0.2
            else Decimal(choose.randrange(-(10**digits) + 1, 10**digits)).scaleb(-scale)
            for _ in range(50)
        ]
        columns[f"c{number}"] = pa.array(values, pa.decimal128(digits, scale))
    columns["nothing"] = pa.array([None] * 50, pa.decimal128(9, 2))
    table = pa.table(columns).replace_schema_metadata({"a": "b" * choose.randrange(500)})
    data = odd_parquet.parquet(
        table,
        row_group_size=choose.choice([50, 7]),
        store_decimal_as_integer=choose.random() < 0.5,
        store_schema=choose.random() < 0.5,
        compression=choose.choice(["none", "zstd"]),
    )
    footer, found = pq.ParquetFile(io.BytesIO(data)).metadata, Footer(io.BytesIO(data))
    for place in range(len(columns)):
        bounds = [0]
        for group in range(footer.num_row_groups):
            said = footer.row_group(group).column(place).statistics
            for raw in (said.min_raw, said.max_raw) if said.has_min_max else ():
                bounds.append(abs(raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)))
        column = footer.schema.column(place)
        width = {"INT32": 4, "INT64": 8}.get(column.physical_type, column.length)
        assert found.largest(place, width) == max(bounds), f"seed {seed}, column {place}"


def test_statistics_that_are_too_short_bound_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(odd_parquet.short_statistics())
    assert Footer(io.BytesIO(path.read_bytes())).largest(0, 3) is None
    assert read_parquet_shape(path).types == ("wide_decimal(5,2)",)
    read_parquet_pages(path)


def test_a_chunk_of_another_type_does_not_end_the_process(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(odd_parquet.another_type_in_a_chunk())
    assert read_parquet_shape(path).types == ("decimal(5,2)",)
    read_parquet_pages(path)


def test_every_cut_of_a_footer_is_told(tmp_path: Path) -> None:
    data = odd_parquet.short_statistics()
    footer = data[len(data) - 8 - int.from_bytes(data[-8:-4], "little") : -8]
    for end in range(len(footer)):
        cut = footer[:end] + end.to_bytes(4, "little") + b"PAR1"
        with pytest.raises(EOFError):
            Footer(io.BytesIO(cut))
