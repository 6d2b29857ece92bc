import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lakesmith.errors import SourceError
from lakesmith.project.definitions import FileSource
from lakesmith.sources.listing import absolute_path, list_files

Make = Callable[..., FileSource]
Put = Callable[..., Path]

SECOND = 1_000_000_000


def found(source: FileSource, root: Path) -> list[str]:
    return [file.path for file in list_files(source, root, time.time_ns()).found]


def test_files_of_all_levels_sorted_with_their_identity(tmp_path: Path, make_source: Make, put: Put) -> None:
    late = put("landing/orders/2024/05/z.csv", "xyz")
    put("landing/orders/b.csv")
    put("landing/orders/a.csv")
    listing = list_files(make_source(), tmp_path, time.time_ns())
    assert [file.path for file in listing.found] == [
        "landing/orders/2024/05/z.csv", "landing/orders/a.csv", "landing/orders/b.csv",
    ]  # fmt: skip
    first, stat = listing.found[0], late.stat()
    assert (first.size, first.modified_ns) == (3, stat.st_mtime_ns)
    assert (first.inode, first.changed_ns, first.etag) == (stat.st_ino, stat.st_ctime_ns, "")
    assert absolute_path(first.path, tmp_path) == late


@pytest.mark.parametrize(
    "name",
    [
        "a b.csv",
        "100%.csv",
        "%20.csv",
        "a+b.csv",
        "#1.csv",
        "[x].csv",
        "{x}.csv",
        "*.csv",
        "a\nb.csv",
        "12:30.csv",
        "žluť.csv",
    ],
)
def test_names_that_other_tools_trip_over_are_listed_as_they_are(
    name: str, tmp_path: Path, make_source: Make, put: Put
) -> None:
    path = put(f"landing/orders/d {name}/{name}")
    assert found(make_source(), tmp_path) == [f"landing/orders/d {name}/{name}"]
    assert absolute_path(f"landing/orders/d {name}/{name}", tmp_path) == path


def test_a_name_that_is_not_utf8_is_refused_and_shown(tmp_path: Path, make_source: Make, put: Put) -> None:
    put("landing/orders/good.csv")
    (tmp_path / "landing/orders" / os.fsdecode(b"caf\xe9.csv")).write_text("a\n")
    with pytest.raises(SourceError, match=r"LS405.*not UTF-8") as caught:
        list_files(make_source(), tmp_path, time.time_ns())
    assert caught.value.problems[0].found == r"landing/orders/caf\xe9.csv"


def test_a_name_that_is_not_utf8_is_no_matter_where_the_pattern_leaves_it_out(
    tmp_path: Path, make_source: Make, put: Put
) -> None:
    put("landing/orders/good.csv")
    (tmp_path / "landing/orders" / os.fsdecode(b"caf\xe9.txt")).write_text("a\n")
    assert found(make_source(pattern="*.csv"), tmp_path) == ["landing/orders/good.csv"]


def test_a_folder_outside_the_project_gives_absolute_paths(
    tmp_path: Path, make_source: Make, put: Put
) -> None:
    outside = put("elsewhere/a.csv")
    (tmp_path / "shop").mkdir()
    assert found(make_source(path="../elsewhere"), tmp_path / "shop") == [outside.as_posix()]
    assert found(make_source(path=str(outside.parent)), tmp_path / "shop") == [outside.as_posix()]
    assert absolute_path(outside.as_posix(), tmp_path / "shop") == outside


def test_an_absolute_path_into_the_project_gives_relative_paths(
    tmp_path: Path, make_source: Make, put: Put
) -> None:
    put("landing/a.csv")
    assert found(make_source(path=str(tmp_path / "landing")), tmp_path) == ["landing/a.csv"]
    assert found(make_source(path="./landing/../landing//"), tmp_path) == ["landing/a.csv"]
    assert found(make_source(path="."), tmp_path) == ["landing/a.csv"]


def test_links_are_followed_and_cycles_end(tmp_path: Path, make_source: Make, put: Put) -> None:
    put("landing/orders/a.csv")
    put("archive/old.csv")
    put("single.csv")
    orders = tmp_path / "landing/orders"
    (orders / "loop").symlink_to(orders)
    (orders / "archive").symlink_to(tmp_path / "archive")
    (orders / "one.csv").symlink_to(tmp_path / "single.csv")
    (orders / "dead.csv").symlink_to(tmp_path / "nowhere.csv")
    assert found(make_source(), tmp_path) == [
        "landing/orders/a.csv", "landing/orders/archive/old.csv", "landing/orders/one.csv",
    ]  # fmt: skip


def test_a_file_with_a_second_name_in_the_source_is_listed_once(
    tmp_path: Path, make_source: Make, put: Put
) -> None:
    orders = tmp_path / "landing/orders"
    put("landing/orders/zz/monday.csv")
    (orders / "aa").symlink_to(orders / "zz")
    (orders / "latest.csv").symlink_to(orders / "zz/monday.csv")
    listing = list_files(make_source(), tmp_path, time.time_ns())
    assert [file.path for file in listing.found] == ["landing/orders/zz/monday.csv"]
    assert listing.ignored == 2


def test_a_source_that_is_a_link_keeps_the_name_it_was_given(
    tmp_path: Path, make_source: Make, put: Put
) -> None:
    put("data/a.csv")
    (tmp_path / "landing").symlink_to(tmp_path / "data")
    assert found(make_source(path="landing"), tmp_path) == ["landing/a.csv"]


def test_pipes_are_no_files(tmp_path: Path, make_source: Make, put: Put) -> None:
    put("landing/orders/a.csv")
    os.mkfifo(tmp_path / "landing/orders/pipe.csv")
    assert found(make_source(), tmp_path) == ["landing/orders/a.csv"]


@pytest.mark.parametrize(
    ("title", "age", "min_age", "later", "waits"),
    [
        ("older than asked", 61.0, 60.0, 0.0, False),
        ("exactly as old as asked", 60.0, 60.0, 0.0, False),
        ("younger", 59.9, 60.0, 0.0, True),
        ("younger, looked at later", 59.9, 60.0, 0.2, False),
        ("no age asked", 0.0, 0.0, 0.0, False),
        ("no age asked and a time in the future", -500.0, 0.0, 0.0, False),
        ("a time in the future", -500.0, 60.0, 0.0, True),
        ("a time in the future does not hold a file for ever", -500.0, 60.0, 61.0, False),
    ],
)
def test_young_files_wait(
    title: str,
    age: float,
    min_age: float,
    later: float,
    waits: bool,
    tmp_path: Path,
    make_source: Make,
    put: Put,
) -> None:
    path = put("landing/orders/a.csv")
    now = path.stat().st_ctime_ns
    os.utime(path, ns=(now - int(age * SECOND), now - int(age * SECOND)))
    listing = list_files(make_source(min_age_seconds=min_age), tmp_path, now + int(later * SECOND))
    assert [file.path for file in listing.waiting] == ["landing/orders/a.csv"] * waits
    assert [file.path for file in listing.found] == ["landing/orders/a.csv"] * (not waits)


def test_an_empty_folder_holds_nothing(tmp_path: Path, make_source: Make) -> None:
    (tmp_path / "landing/orders").mkdir(parents=True)
    listing = list_files(make_source(), tmp_path, time.time_ns())
    assert (listing.found, listing.waiting, listing.ignored) == ((), (), 0)


@pytest.mark.parametrize(
    ("title", "path", "code", "hint"),
    [
        ("missing folder", "landing/nothing/", "LS401", "mkdir -p landing/nothing/"),
        ("a file", "landing/file.csv", "LS402", "pattern: 'file.csv'"),
        ("other URI", "hdfs://name:8020/orders", "LS403", "mounted folder"),
        ("Hadoop's name for S3", "s3a://shop/orders/", "LS403", "write s3:// in its place"),
    ],
)
def test_a_path_that_is_no_folder_is_refused(
    title: str, path: str, code: str, hint: str, tmp_path: Path, make_source: Make, put: Put
) -> None:
    put("landing/file.csv")
    with pytest.raises(SourceError) as caught:
        list_files(make_source(path=path), tmp_path, time.time_ns())
    (problem,) = caught.value.problems
    assert problem.code == code
    assert hint in (problem.hint or "")
    assert str(problem.place) == "tables/bronze/orders.yaml:2"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_refused(tmp_path: Path, make_source: Make, put: Put) -> None:
    closed = put("landing/orders/closed/a.csv").parent
    closed.chmod(0)
    try:
        with pytest.raises(SourceError, match="LS404"):
            list_files(make_source(), tmp_path, time.time_ns())
    finally:
        closed.chmod(0o755)


def test_what_somebody_would_have_expected_is_said_when_it_is_left_out(
    tmp_path: Path, make_source: Make, put: Put
) -> None:
    folder = put("landing/orders/2024/monday.csv").parent.parent
    (folder / "latest.csv").symlink_to("2024/monday.csv")
    (folder / "newest.csv").symlink_to("latest.csv")
    (folder / "astray.csv").symlink_to("nothing.csv")
    (folder / "this-year").symlink_to("2024")
    outside = put("elsewhere/x.csv")
    (folder / "from-outside.csv").symlink_to(outside)
    put("landing/orders/A.CSV")
    put("landing/orders/b.csv.gz")
    put("landing/orders/readme.txt")
    put("landing/orders/_SUCCESS")
    os.mkfifo(folder / "pipe.csv")
    listing = list_files(make_source(pattern="*.csv"), tmp_path, time.time_ns())
    names = [file.path.removeprefix("landing/orders/") for file in listing.found]
    assert names == ["2024/monday.csv", "from-outside.csv"]
    start = "source 'orders': left out: landing/orders/"
    assert listing.notes == (
        f"{start}latest.csv and 1 more, a link to a file that is taken under its own name"
        " (landing/orders/2024/monday.csv)",
        f"{start}this-year, a link to a folder that is searched under its own name",
        f"{start}astray.csv, a link that leads nowhere",
        f"{start}A.CSV and 1 more, which the pattern '*.csv' misses by its case, or by the ending of its"
        " compression",
    )
    assert listing.summary == (
        "source 'orders' leaves out in landing/orders/: names with an underscore first, or as of files being"
        " written (1),"
        " not matched by '*.csv' (3), of links to what is listed itself (3), of links that lead nowhere (1),"
        " of other things than files (1)"
    )
    assert listing.ignored == 9


def test_what_is_left_out_as_usual_is_said_only_where_no_file_is_left(
    tmp_path: Path, make_source: Make, put: Put
) -> None:
    put("landing/orders/.gitkeep")
    assert list_files(make_source(), tmp_path, time.time_ns()).summary is None
    put("landing/orders/_SUCCESS")
    put("landing/orders/readme.txt")
    source = make_source(pattern="*.csv")
    (note,) = list_files(source, tmp_path, time.time_ns()).notes
    assert "as of files being written (1), not matched by '*.csv' (1)" in note
    put("landing/orders/a.csv")
    listing = list_files(source, tmp_path, time.time_ns())
    assert (listing.notes, listing.summary) == ((), note)
