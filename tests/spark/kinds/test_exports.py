"""Exports: what readers of files see after runs, failures and changes."""

import csv
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from harness import Harness, MakeShop, fail

import lakesmith
from lakesmith.execute import faults
from lakesmith.execute.events import ExportFailed, TableExported
from lakesmith.exports import publishing
from lakesmith.exports.due import ExportStep
from lakesmith.exports.places import BucketPlace
from lakesmith.exports.publishing import Written
from lakesmith.project.definitions import TableName
from lakesmith.spark.start.session import SessionHandle
from lakesmith.spark.start.target_conf import objects_conf
from landings import BucketLanding, store_of
from s3_server import Server

pytestmark = pytest.mark.in_turn("file", of=3)

BRONZE = """
    source:
      files: {path: landing/orders/, pattern: "*.csv", format: csv}
    columns: {id: bigint, day: date, city: string, price: "decimal(10,2)"}
    export: {format: FORMAT}
    """


def bronze(export: str, more: str = "") -> dict[str, str]:
    text = BRONZE.replace("{format: FORMAT}", export)
    return {
        "tables/bronze/orders.yaml": text.replace('"*.csv", format: csv}', f'"*.csv", format: csv{more}}}')
    }


@pytest.fixture(autouse=True)
def _no_faults() -> Iterator[None]:
    yield
    faults.clear()


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def files_of(folder: Path) -> list[str]:
    """The files that the manifest names, each of the size that it says."""
    found = manifest(folder)["files"]
    assert [(folder / each["path"]).stat().st_size for each in found] == [each["size"] for each in found]
    return [str(folder / each["path"]) for each in found]


def rows_in(folder: Path, columns: str = "id, day, city, price") -> list[tuple[Any, ...]]:
    """What DuckDB reads of the Parquet files that the manifest names."""
    files = files_of(folder)
    return duckdb.sql(
        f"SELECT {columns} FROM read_parquet({files}, hive_partitioning = true) ORDER BY id"
    ).fetchall()


def exported(result: Any) -> list[TableExported]:
    return [event for event in result.events if isinstance(event, TableExported)]


def test_rows_are_exported_after_each_refresh_and_only_then(make_shop: MakeShop) -> None:
    shop = make_shop(bronze("{format: parquet}"))
    out = shop.root / "exports/bronze/orders"
    first = shop.take_rows("orders", 1, "1,2026-01-31,Oslo,1.50", "2,2026-01-31,Bergen,")
    assert [str(event.table) for event in exported(first)] == ["bronze.orders"]
    assert rows_in(out) == shop.rows("bronze.orders")
    found = manifest(out)
    assert found["snapshot"] == str(shop.head("bronze.orders").snapshot_id)
    assert found["rows"] == 2
    assert found["columns"][3] == {"name": "price", "type": "decimal(10,2)"}
    assert all(path.startswith(f"{out}/v={found['snapshot']}/") for path in files_of(out))

    idle = shop.must_run()
    assert not exported(idle) and manifest(out) == found
    shop.take_rows("orders", 2, "3,2026-02-01,Oslo,3")
    assert rows_in(out) == shop.rows("bronze.orders")
    assert len(list(out.glob("v=*"))) == 2, "who reads the version before can finish"


@pytest.mark.parametrize("point", ["export-written", "export-manifest"])
def test_the_next_run_completes_an_export_that_failed(make_shop: MakeShop, point: str) -> None:
    shop = make_shop(bronze("{format: parquet, keep: 0 seconds}"))
    out = shop.root / "exports/bronze/orders"
    shop.take_rows("orders", 1, "1,2026-01-31,Oslo,1")
    before = manifest(out)
    faults.arrange(point, fail)
    shop.land_rows("orders", 2, "2,2026-01-31,Oslo,2")
    failed = shop.run()
    assert failed.code == 1
    (event,) = [each for each in failed.events if isinstance(each, ExportFailed)]
    assert [problem.code for problem in event.problems] == ["LS651"]
    assert shop.count("bronze.orders") == 2 and manifest(out) == before
    assert [row[0] for row in rows_in(out)] == [1], "the version in place stays whole"

    faults.clear()
    shop.must_run()
    assert rows_in(out) == shop.rows("bronze.orders")
    assert len(list(out.glob("v=*"))) == 1, "what failed leaves nothing"


def test_partitions_whose_rows_did_not_change_are_not_written_again(make_shop: MakeShop) -> None:
    shop = make_shop(bronze("{format: parquet, partition_by: [day, city]}"))
    out = shop.root / "exports/bronze/orders"
    shop.take_rows("orders", 1, "1,2026-01-30,Oslo,1", "2,2026-01-31,a/b %41,2", "3,,,3", "4,2026-01-30,,4")
    then = {each["path"] for each in manifest(out)["files"]}
    (event,) = exported(shop.take_rows("orders", 2, "5,2026-01-30,Oslo,5", "6,,,6"))
    now = {each["path"] for each in manifest(out)["files"]}
    assert event.report.carried == len(now & then) == 2
    assert rows_in(out, "id, price") == [(number, number) for number in range(1, 7)]
    told = {tuple(each["partition"].values()) for each in manifest(out)["files"]}
    assert told == {("2026-01-30", "Oslo"), ("2026-01-31", "a/b %41"), (None, None), ("2026-01-30", None)}


def test_a_text_means_the_same_in_csv_and_json(make_shop: MakeShop) -> None:
    odd = 'id,day,city,price\n1,2026-01-31,"  a ""b"", c\nd ",0.10\n2,,"",\n'
    for kind in ("csv", "json"):
        shop = make_shop(
            bronze(f"{{format: {kind}, single_file: orders.{kind}, keep: 0 seconds}}", ", multiline: true")
        )
        shop.take("landing/orders/1.csv", odd)
        shop.take("landing/orders/2.csv", "id,day,city,price\n3,2026-02-01,Oslo,3\n")
        path = shop.root / f"exports/bronze/orders/orders.{kind}"
        text = path.read_text()
        if kind == "csv":
            rows = [tuple(row[:4]) for row in csv.reader(text.splitlines(keepends=True))]
            assert rows[0] == ("id", "day", "city", "price")
            found = {row[0]: row[1:] for row in rows[1:]}
            assert found["1"] == ("2026-01-31", '  a "b", c\nd ', "0.10")
        else:
            lines = {each["id"]: each for each in map(json.loads, text.splitlines())}
            assert (lines[1]["city"], lines[2]["day"]) == ('  a "b", c\nd ', None)
            assert lines[1]["_ingested_at"].endswith("Z")
        assert path.read_bytes() == Path(files_of(path.parent)[0]).read_bytes()


def test_a_reader_of_the_manifest_never_sees_half_a_version(make_shop: MakeShop) -> None:
    """A thread reads all that the manifest names, as long as versions are published and removed."""
    shop = make_shop(bronze("{format: json, partition_by: [city], keep: 30 seconds}"))
    shop.take_rows("orders", 1, "1,2026-01-31,Oslo,1", "2,2026-01-31,Bergen,1")
    out, wrong, reads = shop.root / "exports/bronze/orders", list[str](), list[int]()
    project = shop.load()[0]
    table = project.table(TableName("bronze", "orders"))
    assert table.export is not None
    changed = replace(table, export=replace(table.export, order_by=("id",)))
    first = publishing.step_of(project, changed, shop.state("bronze.orders"))
    assert first is not None
    ends = threading.Event()

    def poll() -> None:
        while not ends.is_set():
            try:
                found = manifest(out)
                texts = [(out / each["path"]).read_text() for each in found["files"]]
                versions = {json.loads(line)["version"] for text in texts for line in text.splitlines()}
                if len(texts) != 3 or versions != {found["rows"]}:
                    wrong.append(f"{found['version']}: {len(texts)} files of {versions}")
            except (OSError, ValueError) as error:
                wrong.append(repr(error))
            reads.append(1)

    def write(step: ExportStep, folder: str) -> Written:
        number = step.rows or 0
        for city in ("a", "b", "c"):
            path = Path(folder.removeprefix("file://")) / f"city={city}" / "part.json"
            path.parent.mkdir(parents=True)
            with path.open("w") as file:
                for _ in range(20):
                    file.write(json.dumps({"version": number}) + "\n")
                    file.flush()
        return Written(60)

    publishing.publish(project, replace(first, rows=0), write, lambda _: None)
    reader = threading.Thread(target=poll)
    reader.start()
    try:
        for number in range(1, 201):
            step = replace(first, rows=number, snapshot=1000 + number)
            publishing.publish(project, step, write, lambda _: None)
    finally:
        ends.set()
        reader.join()
    assert not wrong and len(reads) > 20


def test_a_folder_that_cannot_be_written_is_said(make_shop: MakeShop) -> None:
    shop = make_shop(bronze("{format: parquet, to: out/}"))
    (shop.root / "out").write_text("a file where the folder is to be")
    shop.land_rows("orders", 1, "1,2026-01-31,Oslo,1")
    failed = shop.run()
    (event,) = [each for each in failed.events if isinstance(each, ExportFailed)]
    assert failed.code == 1 and event.problems[0].code == "LS651"
    assert shop.count("bronze.orders") == 1
    with lakesmith.open(shop.root) as lake:
        assert "its export is behind" in lake.status().tables[0].export
        assert "its export is behind" in lake.plan().tables[0].export
    (shop.root / "out").unlink()
    assert exported(shop.must_run()) and rows_in(shop.root / "out") == shop.rows("bronze.orders")


def test_the_folder_of_another_export_is_refused(make_shop: MakeShop) -> None:
    shop = make_shop(bronze("{format: parquet, to: out/}"))
    shop.take_rows("orders", 1, "1,2026-01-31,Oslo,1")
    found = manifest(shop.root / "out")
    (shop.root / "out/manifest.json").write_text(json.dumps({**found, "project": "another"}))
    shop.land_rows("orders", 2, "2,2026-01-31,Oslo,1")
    (event,) = [each for each in shop.run().events if isinstance(each, ExportFailed)]
    assert event.problems[0].code == "LS653"
    assert manifest(shop.root / "out")["files"] == found["files"]


def test_an_erasure_takes_people_out_of_exports(make_shop: MakeShop) -> None:
    shop = make_shop(bronze("{format: csv, single_file: all.csv, keep: 30 days}", ", on_erase: remove"))
    shop.take_rows("orders", 1, "1,2026-01-31,Ada Lovelace,1", "2,2026-01-31,Oslo,2")
    shop.take_rows("orders", 2, "3,2026-01-31,Bergen,3")
    out = shop.root / "exports/bronze/orders"
    assert len(list(out.glob("v=*"))) == 2
    with lakesmith.open(shop.root, spark=shop.spark) as lake:
        receipt = lake.erase("bronze.orders", "city = 'Ada Lovelace'").apply()
    assert not [line for line in receipt.content["proof"]["left"] if "export" in line]
    texts = [path.read_text() for path in out.rglob("*") if path.is_file()]
    assert texts and not any("Lovelace" in text for text in texts)
    assert len(list(out.glob("v=*"))) == 1 and not exported(shop.must_run())


def test_exports_in_s3_are_as_those_in_a_folder(
    s3: Server, tmp_path: Path, session: SessionHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**s3.environ, "AWS_ENDPOINT_URL_S3": s3.endpoint}.items():
        monkeypatch.setenv(name, value)
    to = BucketLanding(s3, tmp_path / "shop").path + "out/"
    export = f"{{format: parquet, partition_by: [city], to: '{to}', keep: 0 seconds}}"
    shop = Harness(tmp_path / "shop", session, bronze(export))
    for key, value in objects_conf(store_of(s3)).items():
        shop.spark.conf.set(key.removeprefix("spark.hadoop."), value)
    shop.take_rows("orders", 1, "1,2026-01-31,Oslo,1", "2,2026-01-31,a/b %41,2")
    (event,) = exported(shop.take_rows("orders", 2, "3,2026-01-31,Oslo,3"))
    assert event.report.carried == 1
    place = BucketPlace(to, store_of(s3))
    found = publishing.read_manifest(place)
    assert found is not None and found.rows == 3
    copied = []
    for number, file in enumerate(found.files):
        content = place.read(file.path)
        assert content is not None and len(content) == file.size
        copied.append(str(tmp_path / f"{number}.parquet"))
        Path(copied[-1]).write_bytes(content)
    rows = duckdb.sql(f"SELECT id, price FROM read_parquet({copied}) ORDER BY id").fetchall()
    assert rows == [(1, 1), (2, 2), (3, 3)]
    there = {each.path for folder in place.folders() for each in place.files(folder)}
    assert there == {file.path for file in found.files}, "the version before is gone, but for what is carried"
    assert not exported(shop.must_run())


def test_an_erasure_finds_earlier_exports_in_s3(
    s3: Server, tmp_path: Path, session: SessionHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another prefix, and in a bucket that has gone since."""
    for name, value in {**s3.environ, "AWS_ENDPOINT_URL_S3": s3.endpoint}.items():
        monkeypatch.setenv(name, value)
    kept, lost, client = s3.make_bucket(), s3.make_bucket(), s3.client()
    places = [f"{lost}/out/", f"{kept}/one/", f"{kept}/two/"]
    shop = Harness(tmp_path / "shop", session, bronze(f"{{format: csv, to: '{places[0]}'}}", ON_ERASE))
    for key, value in objects_conf(store_of(s3)).items():
        shop.spark.conf.set(key.removeprefix("spark.hadoop."), value)
    shop.take_rows("orders", 1, *PEOPLE)
    for place in places[1:]:
        shop.write(bronze(f"{{format: csv, single_file: a.csv, to: '{place}'}}", ON_ERASE))
        shop.must_run()
    name = lost.removeprefix("s3://")
    for each in client.list_objects_v2(Bucket=name)["Contents"]:
        client.delete_object(Bucket=name, Key=each["Key"])
    client.delete_bucket(Bucket=name)

    assert not [line for line in erased(shop) if "export" in line]
    name = kept.removeprefix("s3://")
    there = [each["Key"] for each in client.list_objects_v2(Bucket=name)["Contents"]]
    assert {key.partition("/")[0] for key in there} == {"two"}
    contents = [client.get_object(Bucket=name, Key=key)["Body"].read() for key in there]
    assert not any(b"Lovelace" in content for content in contents)


def test_an_empty_text_is_exported_once_with_the_null_partition(make_shop: MakeShop) -> None:
    texts = "SELECT id, CASE WHEN id % 2 = 0 THEN '' ELSE city END AS city FROM bronze.orders"
    shop = make_shop(
        {
            "tables/bronze/orders.yaml": BRONZE.replace("    export: {format: FORMAT}\n", ""),
            "tables/silver/orders.yaml": "export: {format: parquet, partition_by: [city]}\n",
            "tables/silver/orders.sql": texts,
        }
    )
    shop.take_rows("orders", 1, "1,2026-01-31,,1", "2,2026-01-31,x,2", "3,2026-01-31,Oslo,3")
    (event,) = exported(shop.take_rows("orders", 2, "4,2026-01-31,y,4"))
    assert event.report.carried == 1
    found = rows_in(shop.root / "exports/silver/orders", "id, city")
    assert found == [(1, None), (2, None), (3, "Oslo"), (4, None)]


ON_ERASE = ", on_erase: remove"
PEOPLE = ("1,2026-01-31,Ada Lovelace,1", "2,2026-01-31,Oslo,2")


def erased(shop: Harness, table: str = "bronze.orders") -> list[str]:
    """What an erasure of Ada could not remove."""
    with lakesmith.open(shop.root, spark=shop.spark) as lake:
        return list(lake.erase(table, "city = 'Ada Lovelace'").apply().content["proof"]["left"])


def with_ada(shop: Harness) -> set[str]:
    """The files outside lakesmith's own folders that have her name, Parquet files read by DuckDB."""
    found = set()
    for path in shop.root.rglob("*"):
        if not path.is_file() or ".lakesmith" in path.relative_to(shop.root).parts:
            continue
        content = path.read_bytes()
        if path.suffix == ".parquet":
            content = str(duckdb.sql(f"SELECT * FROM read_parquet('{path}')").fetchall()).encode()
        if b"Lovelace" in content:
            found.add(str(path.relative_to(shop.root)))
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{format: csv, single_file: a.csv, keep: 30 days}", "{format: csv, single_file: b.csv}"),
        ("{format: csv, single_file: a.csv, keep: 30 days}", "{format: csv, keep: 30 days}"),
        ("{format: csv, single_file: a.csv}", "{format: json, single_file: a.json, keep: 9 days}"),
        ("{format: parquet}", "{format: parquet, to: elsewhere/}"),
        ("{format: csv, to: out/, single_file: a.csv}", "{format: csv, to: ./out/below/}"),
        ("{format: csv, to: out/, single_file: a.csv}", "{format: csv}"),
        ("{format: parquet, to: out/}", None),
    ],
)
def test_an_erasure_finds_what_an_export_wrote_under_earlier_settings(
    make_shop: MakeShop, before: str, after: str | None
) -> None:
    shop = make_shop(bronze(before, ON_ERASE))
    shop.take_rows("orders", 1, *PEOPLE)
    assert with_ada(shop) > {"landing/orders/1.csv"}
    text = bronze(after or "", ON_ERASE)["tables/bronze/orders.yaml"]
    shop.write({"tables/bronze/orders.yaml": text if after else text.replace("    export: \n", "")})
    shop.must_run()
    assert not [line for line in erased(shop) if "export" in line]
    assert with_ada(shop) == set()
    if after:
        assert not exported(shop.must_run())


def test_the_export_of_a_renamed_table_goes_on_in_its_folder(make_shop: MakeShop) -> None:
    shop = make_shop(bronze("{format: parquet, to: out/}", ON_ERASE))
    shop.take_rows("orders", 1, *PEOPLE)
    with lakesmith.open(shop.root, spark=shop.spark) as lake:
        lake.rename("bronze.orders", "bronze.sales").apply()
    assert exported(shop.must_run()) and manifest(shop.root / "out")["table"] == "bronze.sales"
    assert not exported(shop.must_run())
    assert not [line for line in erased(shop, "bronze.sales") if "export" in line]
    assert with_ada(shop) == set()


def test_a_rename_moves_the_folder_that_an_export_has_by_default(make_shop: MakeShop) -> None:
    shop = make_shop(bronze("{format: csv, single_file: all.csv}", ON_ERASE))
    shop.take_rows("orders", 1, *PEOPLE)
    with lakesmith.open(shop.root, spark=shop.spark) as lake:
        lake.rename("bronze.orders", "bronze.sales").apply()
    assert (shop.root / "exports/bronze/sales/all.csv").is_file()
    assert not (shop.root / "exports/bronze/orders").exists()
    shop.must_run()
    assert not [line for line in erased(shop, "bronze.sales") if "export" in line]
    assert with_ada(shop) == set()


@pytest.mark.parametrize("purge", [True, False])
def test_a_dropped_table_leaves_no_unknown_export(make_shop: MakeShop, purge: bool) -> None:
    """With --purge its files are deleted, those of earlier settings too; without, an erasure names them."""
    daily = {"tables/gold/daily.sql": "SELECT city, id FROM bronze.orders\n"}
    shop = make_shop(
        {
            **bronze("{format: csv}", ON_ERASE),
            **daily,
            "tables/gold/daily.yaml": "export: {format: csv, to: one/, single_file: a.csv}\n",
        }
    )
    shop.take_rows("orders", 1, *PEOPLE)
    shop.write({"tables/gold/daily.yaml": "export: {format: csv, to: two/}\n"})
    shop.must_run()
    with lakesmith.open(shop.root, spark=shop.spark) as lake:
        change = lake.drop("gold.daily", purge=purge)
        assert change.preview.exports == ("one/", "two/")
        kept = change.apply().files_kept_in
    for name in ("daily.sql", "daily.yaml"):
        (shop.root / "tables/gold" / name).unlink()
    if purge:
        assert not kept and not {path for path in with_ada(shop) if path.startswith(("one", "two"))}
    else:
        assert kept[-2:] == ("one/", "two/")
    left = [line for line in erased(shop) if "export" in line]
    assert [line.partition(" ")[0] for line in left] == ([] if purge else ["one/", "two/"])


def test_a_table_that_no_file_declares_any_more_is_named_by_an_erasure(make_shop: MakeShop) -> None:
    shop = make_shop(
        {**bronze("{format: csv}", ON_ERASE), "tables/gold/old.sql": "SELECT * FROM bronze.orders\n"}
    )
    shop.take_rows("orders", 1, *PEOPLE)
    (shop.root / "tables/gold/old.sql").unlink()
    (shop.root / "tables/gold/new.sql").write_text("SELECT id FROM bronze.orders\n")
    shop.must_run()
    (line,) = [line for line in erased(shop) if "no file declares" in line]
    assert line.startswith("gold.old,")


def test_the_export_of_another_target_is_named_by_an_erasure(make_shop: MakeShop) -> None:
    """Targets on this machine have one catalog. What another one exported, its readers may still use."""
    targets = {"lakesmith.yaml": "name: shop\ntargets: {first: {}, second: {}}\ndefault_target: first\n"}
    shop = make_shop({**bronze("{format: csv, to: one/}", ON_ERASE), **targets})
    shop.take_rows("orders", 1, *PEOPLE)
    shop.write({**bronze("{format: csv, to: two/}", ON_ERASE)})
    shop.write({"lakesmith.yaml": targets["lakesmith.yaml"].replace("t_target: first", "t_target: second")})
    shop.must_run()
    (line,) = [line for line in erased(shop) if "export" in line]
    assert line.startswith("one/ has an export of bronze.orders of project shop, target first")
    assert {path.partition("/")[0] for path in with_ada(shop)} == {"one"}
