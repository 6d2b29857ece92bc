"""Objects in S3 as a source finds them: every one of them, whatever its key, and nothing but listings asked for."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lakesmith import limits
from lakesmith.errors import Place, SourceError
from lakesmith.project.definitions import FileSource, ObjectStore
from lakesmith.project.formats import FileFormat
from lakesmith.sources import object_client
from lakesmith.sources.listing import Listing, list_files
from large_bucket import BUCKET, large_bucket
from s3_server import KEY_ID, REGION, SECRET, Server

NOW_NS = 1_900_000_000 * 10**9
Listed = Callable[..., Listing]


def source(
    path: str, endpoint: str, since: str | None = None, pattern: str = "*", age: float = 0.0
) -> FileSource:
    store = ObjectStore(endpoint, REGION, KEY_ID, SECRET)
    place = Place("tables/bronze/orders.yaml", 2)
    return FileSource(
        "files", path, FileFormat.CSV, place, pattern, min_age_seconds=age, store=store, since=since
    )


@pytest.fixture
def listed(s3: Server) -> Listed:
    """What is found below ``in/`` of a bucket with these keys."""

    def find(*keys: str, body: bytes = b"a\n1\n", **options: object) -> Listing:
        bucket, client = s3.make_bucket(), s3.client()
        for key in keys:
            client.put_object(Bucket=bucket.removeprefix("s3://"), Key=key, Body=body)
        found = list_files(source(f"{bucket}/in/", s3.endpoint, **options), Path("/"), NOW_NS)  # type: ignore[arg-type]
        start = len(f"{bucket}/in/")
        shown = [file.path[start:] for file in found.found]
        return Listing(found.found, found.waiting, found.ignored, tuple(shown), found.summary)

    return find


ODD = (
    "a b.csv",
    "a+b.csv",
    "a%20b.csv",
    "100%.csv",
    "a#b?c=d.csv",
    "12:30.csv",
    "[x]{y}*.csv",
    "ü漢😀.csv",
    "'\".csv",
    "A.csv",
    "a.csv",
    "x//y.csv",
    "/z.csv",
    "dt=1/n.csv",
)


def test_keys_of_any_kind_are_found_as_they_are(listed: Listed) -> None:
    found = listed(*(f"in/{key}" for key in ODD))
    assert sorted(found.notes) == sorted(ODD)
    assert all(file.size == 4 and file.etag and file.modified_ns for file in found.found)


def test_what_is_hidden_or_being_written_is_left_out_and_counted(listed: Listed) -> None:
    found = listed(
        "in/a.csv",
        "in/_SUCCESS",
        "in/.hidden",
        "in/b.csv.tmp",
        "in/_log/1.csv",
        "in/_log/2.csv",
        "in/folder/",
        "other/c.csv",
    )
    assert found.notes == ("a.csv",)
    # A folder counts once.
    assert found.summary is not None
    assert "(3)" in found.summary


def test_the_pattern_is_of_the_name_alone(listed: Listed) -> None:
    assert listed("in/x.csv/a.txt", "in/d/b.csv", "in/c.CSV", pattern="*.csv").notes == ("d/b.csv",)


def test_from_a_name_on(listed: Listed) -> None:
    keys = [f"in/dt=2026-{month:02}/a.csv" for month in range(1, 13)]
    found = listed(*keys, since="dt=2026-11")
    assert found.notes == ("dt=2026-11/a.csv", "dt=2026-12/a.csv")
    assert "before 'dt=2026-11' (not looked at)" in (found.summary or "")


def test_from_a_name_on_is_the_same_in_a_folder_here(tmp_path: Path) -> None:
    for month in (10, 11, 12):
        (tmp_path / f"in/dt=2026-{month}").mkdir(parents=True)
        (tmp_path / f"in/dt=2026-{month}/a.csv").write_text("a\n1\n")
    here = FileSource("files", "in/", FileFormat.CSV, Place("t.yaml", 1), since="dt=2026-11")
    found = list_files(here, tmp_path, NOW_NS)
    assert [file.path for file in found.found] == ["in/dt=2026-11/a.csv", "in/dt=2026-12/a.csv"]


def test_young_objects_wait(listed: Listed) -> None:
    found = listed("in/a.csv", age=10.0**9)
    assert (len(found.found), len(found.waiting)) == (0, 1)


def test_an_upload_that_is_not_complete_is_no_object(s3: Server) -> None:
    bucket = s3.make_bucket()
    s3.client().create_multipart_upload(Bucket=bucket.removeprefix("s3://"), Key="in/a.csv")
    assert list_files(source(f"{bucket}/in/", s3.endpoint), Path("/"), NOW_NS).found == ()


@pytest.mark.parametrize(("path", "code"), [("s3://no-such-bucket-here/in/", "LS401"), ("in/a.csv", "LS402")])
def test_a_path_that_is_no_folder(s3: Server, path: str, code: str) -> None:
    bucket = s3.make_bucket()
    s3.client().put_object(Bucket=bucket.removeprefix("s3://"), Key="in/a.csv", Body=b"x")
    wrong = source(path if path.startswith("s3") else f"{bucket}/{path}", s3.endpoint)
    with pytest.raises(SourceError, match=code) as error:
        list_files(wrong, Path("/"), NOW_NS)
    assert error.value.problems[0].place == wrong.place
    assert SECRET not in str(error.value)


def test_nobody_at_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_client, "_ATTEMPTS", 1)
    object_client._client.cache_clear()
    with pytest.raises(SourceError, match="LS407"):
        list_files(source("s3://b/in/", "http://127.0.0.1:1"), Path("/"), NOW_NS)
    object_client._client.cache_clear()


def names(kind: str, many: int) -> list[str]:
    """Keys below ``in/``, in the order of S3."""
    if kind == "flat":
        return sorted(f"in/{number:08}.csv" for number in range(many))
    if kind == "by day":
        return sorted(f"in/dt={day:04}/{number}.csv" for day in range(many // 100) for number in range(100))
    rng = random.Random(7)
    return sorted({f"in/{rng.randrange(9)}/{rng.getrandbits(40):x}/{number}.csv" for number in range(many)})


@pytest.mark.parametrize("kind", ["flat", "by day", "anyhow"])
@pytest.mark.parametrize("taken", ["none", "most", "others"])
def test_very_many_objects_are_found_once_each_and_asked_for_by_listings_alone(kind: str, taken: str) -> None:
    keys = names(kind, 30_000)
    paths = [f"s3://{BUCKET}/{key}" for key in keys]
    known: dict[str, Sequence[str]] = {
        "none": (),
        "most": paths[: len(paths) * 9 // 10],
        "others": [f"s3://{BUCKET}/in/{number}" for number in range(20_000)],
    }
    with large_bucket(keys) as bucket:
        found = list_files(source(f"s3://{BUCKET}/in/", bucket.endpoint), Path("/"), NOW_NS, known[taken])
    assert [file.path for file in found.found] == paths
    assert set(bucket.asked) == {"LIST"}
    assert bucket.asked["LIST"] <= len(keys) // 1000 + 2 * limits.OBJECT_THREADS + 4


def test_a_prefix_is_pruned_by_where_its_names_begin_to_count() -> None:
    keys = names("by day", 30_000)
    with large_bucket(keys) as bucket:
        found = list_files(source(f"s3://{BUCKET}/in/", bucket.endpoint, since="dt=0290"), Path("/"), NOW_NS)
    assert [file.path for file in found.found] == [
        f"s3://{BUCKET}/{key}" for key in keys if key >= "in/dt=0290"
    ]
    assert bucket.asked["LIST"] <= 4
