"""Files in S3 are ingested as those in a folder: odd keys, every format, large files, changed objects."""

import bz2
import gzip
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from harness import Harness
from landing_files import avro_file

from lakesmith import limits
from lakesmith.execute.events import TableRedone
from lakesmith.spark.kinds import ingest_files
from lakesmith.spark.start.session import SessionHandle
from lakesmith.spark.start.target_conf import objects_conf
from landings import BucketLanding, FolderLanding, Landing, store_of
from s3_server import Server

pytestmark = pytest.mark.in_turn

BRONZE = """
    source:
      files: {{path: "{path}", pattern: "*", format: csv{more}}}
    columns: {{id: bigint, name: string}}
    """


@pytest.fixture
def reached(s3: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server, where the environment says how S3 is reached."""
    for name, value in {**s3.environ, "AWS_ENDPOINT_URL_S3": s3.endpoint}.items():
        monkeypatch.setenv(name, value)
    return s3


def shop_on(
    landing: Landing, root: Path, session: SessionHandle, more: str = "", table: str = BRONZE
) -> Harness:
    shop = Harness(root, session, {"tables/bronze/orders.yaml": table.format(path=landing.path, more=more)})
    if isinstance(landing, BucketLanding):
        for key, value in objects_conf(store_of(landing.server)).items():
            shop.spark.conf.set(key.removeprefix("spark.hadoop."), value)
    return shop


@pytest.fixture(params=["folder", "s3"])
def landing(request: pytest.FixtureRequest, tmp_path: Path) -> Landing:
    if request.param == "folder":
        return FolderLanding(tmp_path / "shop")
    return BucketLanding(request.getfixturevalue("reached"), tmp_path / "shop")


@pytest.fixture
def bucket(reached: Server, tmp_path: Path) -> BucketLanding:
    return BucketLanding(reached, tmp_path / "shop")


NAMES = [
    "a b.csv",
    "50%+c.csv",
    "%41.csv",
    "%20 %2F.csv",
    "h#s.csv",
    "q?x=1&y.csv",
    "g[1]{a,b}*.csv",
    "12:30.csv",
    "rep [12:30].csv",
    "{a:b}.csv",
    "x:y/[z].csv",
    'it\'s "so".csv',
    "day=1/p.csv",
    "back\\slash.csv",
    "${env:HOME}.csv",
    "süß:[é]😀.csv",
    "case.csv",
    "CASE.csv",
    "x" * 200 + "/" + "y" * 700 + ".csv",
]


@pytest.mark.always
def test_odd_keys_come_out_as_they_are(
    bucket: BucketLanding, tmp_path: Path, session: SessionHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OBJECTS_A_FRAME", 6)
    shop = shop_on(bucket, tmp_path / "shop", session)
    for number, name in enumerate(NAMES):
        bucket.put(name, f"id,name\n{number},x\n")
    assert shop.must_run().published["bronze.orders"].files == len(NAMES)
    assert shop.rows("bronze.orders", "id", "_source_file") == [
        (number, bucket.path + name) for number, name in enumerate(NAMES)
    ]
    assert not shop.must_run().published


def test_columns_that_only_keys_have(bucket: BucketLanding, tmp_path: Path, session: SessionHandle) -> None:
    table = BRONZE.replace("id: bigint, name: string", "id: bigint, day: date, 'my st': string")
    shop = shop_on(bucket, tmp_path / "shop", session, table=table)
    bucket.put("day=2024-05-01/my st=a%2Fb +c/1.csv", "id\n1\n")
    bucket.put("my%20st=é/day=__HIVE_DEFAULT_PARTITION__/2.csv", "id\n2\n")
    shop.must_run()
    assert shop.rows("bronze.orders") == [(1, date(2024, 5, 1), "a/b +c"), (2, None, "é")]


@pytest.mark.parametrize("name", ["a//b.csv", "/b.csv", "c//"])
def test_a_key_that_spark_would_take_for_another_is_refused(
    name: str, bucket: BucketLanding, tmp_path: Path, session: SessionHandle
) -> None:
    shop = shop_on(bucket, tmp_path / "shop", session, ", on_bad_file: fail")
    bucket.put("a/b.csv", "id,name\n1,x\n")
    bucket.put("b.csv", "id,name\n2,x\n")
    bucket.put(name, "id,name\n3,x\n")
    if name.endswith("/"):
        assert shop.must_run().published["bronze.orders"].files == 2
        return
    (problem,) = shop.run().problems
    assert problem.code == "LS408"
    assert bucket.path + name in problem.what
    assert f"--skip {bucket.path}{name}" in (problem.hint or "")
    shop = shop_on(bucket, tmp_path / "shop", session, ", on_bad_file: skip")
    assert shop.must_run().published["bronze.orders"].files == 2
    assert shop.rows("bronze.orders", "id") == [(1,), (2,)]


MOMENTS = ["open_intake", "_declare", "_counted", "_require_same"]
CHANGES: dict[str, Callable[[Landing], None]] = {
    "replaced": lambda landing: landing.put("a.csv", "id,name\n1,new\n"),
    "deleted": lambda landing: landing.delete("a.csv"),
    "of other columns": lambda landing: landing.put("a.csv", "name,id\nnew,1\n"),
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_while_a_batch_is_at_work_is_planned_anew(
    moment: str,
    change: str,
    landing: Landing,
    tmp_path: Path,
    session: SessionHandle,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop = shop_on(landing, tmp_path / "shop", session)
    landing.put("a.csv", "id,name\n1,old\n")
    landing.put("b.csv", "id,name\n2,x\n")
    there = getattr(ingest_files, moment)
    changed: list[str] = []

    def first_changed(*args: Any) -> Any:
        if not changed:
            changed.append(change)
            CHANGES[change](landing)
        return there(*args)

    monkeypatch.setattr(ingest_files, moment, first_changed)
    result = shop.must_run()
    assert any(isinstance(event, TableRedone) for event in result.events)
    rows = [(2, "x")] if change == "deleted" else [(1, "new"), (2, "x")]
    assert shop.rows("bronze.orders") == rows


SOURCES = """
    source:
      csv: {{files: {{path: "{path}csv/", format: csv}}}}
      tsv: {{files: {{path: "{path}tsv/", format: tsv}}}}
      json: {{files: {{path: "{path}json/", format: json}}}}
      parquet: {{files: {{path: "{path}parquet/", format: parquet}}}}
      avro: {{files: {{path: "{path}avro/", format: avro}}}}
    columns: {{id: bigint, name: string}}
    """


def test_every_format_is_taken_once_and_bad_rows_go_aside(
    landing: Landing, tmp_path: Path, session: SessionHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = shop_on(landing, tmp_path / "shop", session, table=SOURCES)
    monkeypatch.setattr(limits, "LARGE_FILE_BYTES", 100_000)
    monkeypatch.setattr(limits, "READ_BLOCK_BYTES", 50_000)
    large = "id,name\n" + "".join(f"{100 + n},{'x' * 20}\n" for n in range(10_000))
    landing.put("csv/in blocks.csv", large)
    landing.put("csv/a.csv.gz", gzip.compress(b"name,id\na,1\nb,zwei\n"))
    landing.put("csv/b.csv.bz2", bz2.compress(b"id,name\n2,c\n"))
    landing.put("csv/nothing.csv", b"")
    landing.put("tsv/a.tsv", "id\tname\n3\td\n")
    landing.put("json/a.jsonl", '{"id": 4, "name": "e"}\n{"id": "five"}\n')
    landing.put("parquet/a.parquet", _parquet())
    landing.put("avro/a.avro", avro_file([(7, "h"), (8, None)]))
    record = shop.must_run().published["bronze.orders"]
    assert (record.files, record.account.read, record.account.quarantined) == (8, 10_009, 2)
    small = [(1, "a"), (2, "c"), (3, "d"), (4, "e"), (6, "g"), (7, "h"), (8, None)]
    assert shop.rows("bronze.orders") == [*small, *((100 + n, "x" * 20) for n in range(10_000))]
    places = shop.rows("bronze.orders", "_source_file", "_source_position", "id")
    assert len({place[:2] for place in places}) == 10_007
    assert [row["source_file"] for row in shop.quarantine("bronze.orders")] == [
        f"{landing.path}csv/a.csv.gz",
        f"{landing.path}json/a.jsonl",
    ]
    assert not shop.must_run().published


def _parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"name": ["g"], "id": pa.array([6], pa.int32())}), sink)
    return bytes(sink.getvalue())


def test_a_changed_file_takes_the_place_of_the_one_that_was_taken(
    landing: Landing, tmp_path: Path, session: SessionHandle
) -> None:
    shop = shop_on(landing, tmp_path / "shop", session, ", on_changed_file: replace")
    landing.put("a b+.csv", "id,name\n1,a\n2,b\n")
    landing.put("c.csv", "id,name\n3,c\n")
    shop.must_run()
    landing.put("a b+.csv", "id,name\n1,a\n4,d\n")
    record = shop.must_run().published["bronze.orders"]
    assert (record.files, record.account.inserted, record.account.deleted) == (1, 2, 2)
    assert shop.rows("bronze.orders") == [(1, "a"), (3, "c"), (4, "d")]
    landing.put("c.csv", "id,name\n3,c\n")
    landing.delete("a b+.csv")
    assert not shop.must_run().published


def test_what_is_asked_of_s3_for_taken_and_for_new_objects(
    bucket: BucketLanding, tmp_path: Path, session: SessionHandle
) -> None:
    shop = shop_on(bucket, tmp_path / "shop", session)
    for number in range(20):
        bucket.put(f"{number:02}.csv", f"id,name\n{number},x\n")
    shop.must_run()
    with bucket.server.asked(bucket.bucket) as idle:
        assert not shop.must_run().published
    assert len(idle) == 1
    bucket.put("05-late.csv", "id,name\n99,late\n")
    with bucket.server.asked(bucket.bucket) as one_new:
        assert shop.must_run().published["bronze.orders"].files == 1
    asked_of = {line.partition("/landing/orders/")[2].partition("?")[0] for line in one_new}
    assert asked_of <= {"", "05-late.csv"}
    assert len(one_new) <= 12


def test_objects_whose_records_are_no_lines(
    bucket: BucketLanding, tmp_path: Path, session: SessionHandle
) -> None:
    table = BRONZE.replace("format: csv", "format: json")
    shop = shop_on(bucket, tmp_path / "shop", session, table=table)
    bucket.put("glued.json.gz", gzip.compress(b"".join(b'{"id":%d}' % number for number in range(5000))))
    bucket.put("array [1].json", '[\n  {"id": 5000, "name": "é"},\n  {"id": 5001}\n]\n')
    bucket.put("lines.json", '{"id": 5002}\n{"id": 5003\n')
    record = shop.must_run().published["bronze.orders"]
    assert (record.account.read, record.account.quarantined) == (5004, 1)
    assert shop.rows("bronze.orders", "id") == [(number,) for number in range(5003)]


def test_a_padded_object_is_read_and_bytes_after_the_end_of_another_are_named(
    bucket: BucketLanding, tmp_path: Path, session: SessionHandle
) -> None:
    shop = shop_on(bucket, tmp_path / "shop", session)
    first, second = gzip.compress(b"id,name\n1,a\n"), gzip.compress(b"2,b\n")
    bucket.put("padded.csv.gz", first + second + bytes(512))
    bucket.put("between.csv.gz", first + bytes(512) + second)
    shop.must_run()
    assert shop.rows("bronze.orders", "id") == [(1,), (1,), (2,), (2,)]
    bucket.put("glued.csv.bz2", bz2.compress(b"id,name\n3,c\n") + b"seventeen bytes!\n")
    (problem,) = shop.run().problems
    assert (problem.code, f"{bucket.path}glued.csv.bz2" in problem.what) == ("LS422", True)
    assert problem.found == "complete, followed by 17 bytes that are no bzip2"


def test_damaged_objects_are_told_by_their_names(
    bucket: BucketLanding, tmp_path: Path, session: SessionHandle
) -> None:
    shop = shop_on(bucket, tmp_path / "shop", session)
    whole = gzip.compress(b"id,name\n" + b"".join(b"%d,%x\n" % (n, n * 7919) for n in range(50_000)))
    bucket.put("cut.csv.gz", whole[: len(whole) // 2])
    bucket.put("whole.csv", "id,name\n1,a\n")
    (problem,) = shop.run().problems
    assert (problem.code, f"{bucket.path}cut.csv.gz" in problem.what) == ("LS422", True)
    shop = shop_on(bucket, tmp_path / "shop", session, ", on_bad_file: skip")
    assert shop.must_run().published["bronze.orders"].files == 1
    assert shop.rows("bronze.orders") == [(1, "a")]
