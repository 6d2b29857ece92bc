"""What is of S3 alone: how a prefix is listed, what is asked of it, and what its refusals are called."""

import json
import random
from pathlib import Path

import pytest

from lakesmith import limits
from lakesmith.errors import Place, SourceError
from lakesmith.project.definitions import FileSource, ObjectStore, TableName
from lakesmith.project.formats import FileFormat
from lakesmith.sources import objects
from lakesmith.sources.choose import FileChoice, choose_files
from lakesmith.sources.identity import changed_files, fingerprints, with_fingerprints
from lakesmith.sources.inspect import count_records, group_by_shape, read_shape
from lakesmith.sources.ledger_view import EMPTY
from lakesmith.sources.listing import list_files, opened_file
from lakesmith.sources.model import FileAction, LedgerEntry
from lakesmith.sources.object_listing import cuts_among
from landings import BucketLanding, files_in, listing_of, names_in, source_of
from large_bucket import BUCKET, LargeBucket, large_bucket
from s3_server import Server

pytestmark = pytest.mark.processes

ORDERS = TableName("bronze", "orders")
SECRET = "a-secret-that-nobody-shall-see"


def large(bucket: LargeBucket, path: str = "landing/", **fields: object) -> FileSource:
    store = ObjectStore(bucket.endpoint, "us-east-1", "key", SECRET)
    given = {"format": FileFormat.CSV, "path": f"s3://{BUCKET}/{path}", "store": store, **fields}
    return FileSource(name="orders", place=Place("t.yaml", 1), **given)  # type: ignore[arg-type]


LAYOUTS = {
    "flat": [f"landing/{n:06}.csv" for n in range(5_000)],
    "a thousand folders": [f"landing/dt={n % 1000:04}/{n}.csv" for n in range(5_000)],
    "one folder in another": [f"landing/a/b/{n % 7}/{n}.csv" for n in range(5_000)],
    "all late": [f"landing/z/{n}.csv" for n in range(3_500)] + [f"landing/a/{n}.csv" for n in range(1_500)],
}


@pytest.mark.parametrize("title", LAYOUTS)
def test_what_was_taken_costs_the_listing_and_no_more(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OBJECTS_A_PIECE", 2_400)
    keys = sorted(LAYOUTS[title])
    with large_bucket(keys) as bucket:
        first = list_files(large(bucket), tmp_path, 10**19)
        assert [file.path for file in first.found] == [f"s3://{BUCKET}/{key}" for key in keys]
        lines = [LedgerEntry(file, "orders", FileAction.TAKEN, "x", 1, 1) for file in first.found]
        ledger = EMPTY.plus(lines[:-10])
        bucket.asked.clear()
        again = list_files(large(bucket), tmp_path, 10**19, ledger.rows)
        choice = choose_files(large(bucket), again, ledger)
        assert again == first
        assert choice == FileChoice(take=tuple(line.file for line in lines[-10:]))
        # An answer has a thousand keys; each of the pieces, listed side by side, may begin one more.
        assert set(bucket.asked) == {"LIST"}
        assert bucket.asked["LIST"] <= len(keys) / 1000 + len(cuts_among(ledger.rows, "s3://")) + 1


def test_a_small_prefix_takes_one_request_however_many_folders_it_has(tmp_path: Path) -> None:
    with large_bucket([f"landing/{n:03}/a.csv" for n in range(500)]) as bucket:
        assert len(list_files(large(bucket), tmp_path, 10**19).found) == 500
        assert bucket.asked == {"LIST": 1}


def test_late_keys_anywhere_are_found_whatever_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OBJECTS_A_PIECE", 50)
    generator = random.Random(29)
    letters = "ab/=é-😀~\x7f"
    names = {"".join(generator.choices(letters, k=generator.randint(1, 6))) for _ in range(2_000)}
    keys = sorted({f"landing/{name.strip('/')}x" for name in names})
    paths = [f"s3://{BUCKET}/{key}" for key in keys]
    with large_bucket(keys) as bucket:
        whole = list_files(large(bucket, pattern="*x"), tmp_path, 10**19).found
        for known in (paths[::2], paths[:300], paths[-300:], [f"{path}!" for path in paths]):
            assert list_files(large(bucket, pattern="*x"), tmp_path, 10**19, known).found == whole
    assert {file.path for file in whole} <= set(paths)
    assert len(whole) > 1_000


def test_a_folder_that_is_left_out_is_not_gone_through(tmp_path: Path) -> None:
    keys = sorted([f"landing/_staging/{n:05}" for n in range(30_000)] + ["landing/a.csv", "landing/z.csv"])
    with large_bucket(keys) as bucket:
        listing = list_files(large(bucket), tmp_path, 10**19)
        assert [file.path[-5:] for file in listing.found] == ["a.csv", "z.csv"]
        assert listing.ignored == 1
        assert bucket.asked["LIST"] < 6


def test_what_comes_before_since_is_not_listed(tmp_path: Path) -> None:
    keys = [f"landing/dt={day:03}/{n:03}.csv" for day in range(200) for n in range(200)]
    with large_bucket(keys) as bucket:
        found = list_files(large(bucket, since="dt=198"), tmp_path, 10**19).found
        assert len(found) == 400
        assert (bucket.asked, bucket.given) == ({"LIST": 1}, 400)


def test_a_known_object_is_not_asked_for_when_only_its_time_has_changed(bucket: BucketLanding) -> None:
    bucket.put("a.csv")
    (file,) = with_fingerprints(files_in(bucket), bucket.root)
    ledger = EMPTY.plus([LedgerEntry(file, "orders", FileAction.TAKEN, "x", 1, 1)])
    later = type(file)(file.path, file.size, file.modified_ns + 10**9, etag=file.etag)
    with bucket.server.asked(bucket.bucket) as asked:
        listing = listing_of(bucket)
        known = fingerprints([later], bucket.root)
        assert choose_files(source_of(bucket), listing, ledger, known) == FileChoice()
    assert len(asked) == 1


def test_an_object_with_other_content_is_told_by_its_etag(bucket: BucketLanding) -> None:
    bucket.put("a.csv", "a,b\n1,2\n")
    (file,) = files_in(bucket)
    ledger = EMPTY.plus([LedgerEntry(file, "orders", FileAction.TAKEN, "x", 1, 1)])
    bucket.put("a.csv", "a,b\n1,3\n")
    (problem,) = choose_files(source_of(bucket), listing_of(bucket), ledger).problems
    assert (problem.expected or "").endswith(f"ETag {file.etag}")
    assert (problem.found or "").endswith(f"ETag {files_in(bucket)[0].etag}")


@pytest.mark.parametrize(
    ("title", "names", "found"),
    [
        ("two slashes in the middle", ["a//b.csv"], ["a//b.csv"]),
        ("a slash first", ["/b.csv"], ["/b.csv"]),
        ("parts that are dots are left out as names are", ["./b.csv", "a/../b.csv"], []),
        ("a folder's marker", ["", "2024/", "2024/a.csv"], ["2024/a.csv"]),
        ("a marker with bytes is no file", ["2024/"], []),
        ("a long name", ["x" * 200 + "/" + "y" * 780 + ".csv"], ["x" * 200 + "/" + "y" * 780 + ".csv"]),
    ],
)
def test_keys_that_no_folder_can_have(
    title: str, names: list[str], found: list[str], bucket: BucketLanding
) -> None:
    for name in names:
        bucket.put(
            name, "bytes" if "bytes" in title else "" if name.endswith("/") or not name else "a,b\n1,2\n"
        )
    assert names_in(bucket) == found
    assert listing_of(bucket).ignored == (
        1
        if "bytes" in title
        else len([name for name in names if "." in name.split("/") or ".." in name.split("/")])
    )


def test_uploads_that_are_still_open_are_not_there(bucket: BucketLanding) -> None:
    more = {"Bucket": bucket.bucket, "Key": bucket.key("open.csv")}
    upload = bucket.client.create_multipart_upload(**more)["UploadId"]
    bucket.client.upload_part(**more, UploadId=upload, PartNumber=1, Body=b"a,b\n1,2\n")
    assert names_in(bucket) == []


def test_an_object_of_several_parts_is_read_whole(bucket: BucketLanding) -> None:
    part = b"a,b\n" + b"1,2\n" * 1_400_000
    more = {"Bucket": bucket.bucket, "Key": bucket.key("parts.csv")}
    upload = bucket.client.create_multipart_upload(**more)["UploadId"]
    parts = [
        {
            "PartNumber": number,
            "ETag": bucket.client.upload_part(**more, UploadId=upload, PartNumber=number, Body=part)["ETag"],
        }
        for number in (1, 2)
    ]
    bucket.client.complete_multipart_upload(**more, UploadId=upload, MultipartUpload={"Parts": parts})
    files = files_in(bucket)
    assert files[0].etag.endswith("-2")
    assert count_records(files, source_of(bucket), bucket.root) == 2 * 1_400_001 - 1


def test_a_footer_is_read_without_the_file(bucket: BucketLanding, tmp_path: Path) -> None:
    _put_parquet(bucket, tmp_path)
    files, source = files_in(bucket), source_of(bucket, format=FileFormat.PARQUET)
    with bucket.server.asked("a.parquet") as asked:
        shape = read_shape(opened_file(files[0], source, bucket.root), source)
        assert count_records(files, source, bucket.root) == 400_000
    assert shape.columns == ("id", "x")
    assert files[0].size > 4_000_000
    assert _bytes_of(asked) < 4 * 64 * 1024


def test_pages_are_asked_for_once(bucket: BucketLanding, tmp_path: Path) -> None:
    _put_parquet(bucket, tmp_path)
    files, source = files_in(bucket), source_of(bucket, format=FileFormat.PARQUET)
    with bucket.server.asked("a.parquet") as asked:
        (group,) = group_by_shape(files, source, bucket.root, ORDERS)
    assert group.shape.columns == ("id", "x")
    assert files[0].size < _bytes_of(asked) <= files[0].size + 6 * 64 * 1024


def test_a_header_is_read_without_the_file(bucket: BucketLanding) -> None:
    bucket.put("a.csv", b"a,b\n" + b"1,2\n" * 1_000_000)
    with bucket.server.asked("a.csv") as asked:
        group_by_shape(files_in(bucket), source_of(bucket), bucket.root, ORDERS)
    assert _bytes_of(asked) <= 64 * 1024


def _put_parquet(bucket: BucketLanding, folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    ids = pa.array(range(400_000))
    table = pa.table({"id": ids, "x": pc.multiply(ids, 7919).cast(pa.string())})
    pq.write_table(table, folder / "a.parquet", compression="none", use_dictionary=False)
    bucket.put("a.parquet", (folder / "a.parquet").read_bytes())


def _bytes_of(asked: list[str]) -> int:
    ranges = [line.rpartition("bytes=")[2].split("-") for line in asked]
    return sum(int(last) - int(first) + 1 for first, last in ranges)


def test_an_object_that_is_replaced_while_it_is_read_is_told_of(bucket: BucketLanding) -> None:
    bucket.put("a.csv", b"a,b\n" + b"1,2\n" * 500_000)
    (file,) = files_in(bucket)
    with opened_file(file, source_of(bucket), bucket.root).open("rb") as stream:
        assert stream.read(10) == b"a,b\n1,2\n1,"
        bucket.put("a.csv", b"a,b\n" + b"1,3\n" * 500_000)
        with pytest.raises(OSError, match="another object by now"):
            stream.read()
    (changed,) = changed_files([file], bucket.root, bucket.store)
    assert (changed.file, changed.now) == (file, files_in(bucket)[0])
    assert file.etag != files_in(bucket)[0].etag


@pytest.mark.parametrize(
    ("title", "path", "code", "said"),
    [
        ("no such bucket", "s3://there-is-no-such-bucket/x/", "LS401", "its bucket does not exist"),
        ("an object", "s3://BUCKET/landing/orders/a.csv", "LS402", "pattern: 'a.csv'"),
    ],
)
def test_a_path_that_cannot_be_listed_says_why(
    title: str, path: str, code: str, said: str, bucket: BucketLanding
) -> None:
    bucket.put("a.csv")
    with pytest.raises(SourceError) as refused:
        listing_of(bucket, path=path.replace("BUCKET", bucket.bucket))
    assert refused.value.problems[0].code == code
    assert said in str(refused.value)


REFUSALS = [
    (403, "AccessDenied", "LS404"), (400, "ExpiredToken", "LS406"), (403, "InvalidAccessKeyId", "LS406"),
    (403, "SignatureDoesNotMatch", "LS406"), (403, "RequestTimeTooSkewed", "LS406"),
    (503, "SlowDown", "LS407"), (500, "InternalError", "LS407"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "word", "code"), REFUSALS)
def test_what_s3_refuses_is_told_with_a_way_out_and_without_secrets(
    status: int, word: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "_ATTEMPTS", 1)
    with large_bucket([]) as bucket:
        bucket.refusing = (status, word, f"The token {SECRET} is not right", 99)
        with pytest.raises(SourceError) as refused:
            list_files(large(bucket), tmp_path, 10**19)
    (problem,) = refused.value.problems
    assert (problem.code, str(problem.place)) == (code, "t.yaml:1")
    assert word in (problem.found or "")
    if code == "LS406":
        assert SECRET not in json.dumps(problem.as_dict())
    assert problem.hint


@pytest.mark.parametrize("word", ["SlowDown", "InternalError"])
def test_what_passes_is_tried_again(word: str, tmp_path: Path) -> None:
    with large_bucket(["landing/a.csv"]) as bucket:
        bucket.refusing = (503, word, "later", 1)
        assert len(list_files(large(bucket), tmp_path, 10**19).found) == 1
        assert bucket.asked["LIST"] == 2


def test_nobody_at_the_endpoint_is_told_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "_ATTEMPTS", 1)
    with pytest.raises(SourceError, match=r"LS407(.|\n)*S3 does not answer"):
        list_files(large(LargeBucket([], "http://127.0.0.1:9")), tmp_path, 10**19)


def test_a_server_that_says_nothing_is_told_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "_ATTEMPTS", 1)
    monkeypatch.setattr(objects, "_READ_SECONDS", 0.3)
    with large_bucket([]) as bucket:
        bucket.refusing = (0, "silence", "", 99)
        with pytest.raises(SourceError, match=r"LS407(.|\n)*ReadTimeoutError"):
            list_files(large(bucket), tmp_path, 10**19)


def test_no_credentials_at_all_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, s3: Server) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    store = ObjectStore(s3.endpoint, "eu-north-1")
    source = FileSource("orders", "s3://any/x/", FileFormat.CSV, Place("t.yaml", 1), store=store)
    with pytest.raises(SourceError, match=r"LS406(.|\n)*AWS_PROFILE"):
        list_files(source, tmp_path, 10**19)


def test_an_object_that_may_not_be_read_is_told_by_its_name(bucket: BucketLanding) -> None:
    with large_bucket(["landing/orders/a.csv"]) as server:
        source = large(server, "landing/orders/")
        files = list_files(source, bucket.root, 10**19).found
        server.refusing = (403, "AccessDenied", "no", 99)
        with pytest.raises(SourceError) as refused:
            group_by_shape(files, source, bucket.root, ORDERS)
    (problem,) = refused.value.problems
    assert (problem.code, problem.found) == (
        "LS421",
        "S3 does not let these credentials read it (s3:GetObject)",
    )
    assert "a.csv" in problem.what


def test_an_archived_object_has_to_be_restored(bucket: BucketLanding) -> None:
    bucket.client.put_object(
        Bucket=bucket.bucket, Key=bucket.key("a.csv"), Body=b"a\n1\n", StorageClass="GLACIER"
    )
    with pytest.raises(SourceError, match=r"LS421(.|\n)*has to be restored first"):
        group_by_shape(files_in(bucket), source_of(bucket), bucket.root, ORDERS)
