import gzip
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lakesmith.errors import SourceError
from lakesmith.project.definitions import FileSource, TableName
from lakesmith.sources.inspect import group_by_shape
from lakesmith.sources.listing import list_files
from lakesmith.sources.model import FileIdentity

Make = Callable[..., FileSource]
Put = Callable[..., Path]
ORDERS = TableName("bronze", "orders")


def listed(root: Path, source: FileSource) -> tuple[FileIdentity, ...]:
    return list_files(source, root, time.time_ns()).found


def groups(root: Path, source: FileSource) -> list[tuple[list[str], bool, list[str]]]:
    found = group_by_shape(listed(root, source), source, root, ORDERS)
    return [
        (list(group.shape.columns), group.shape.empty, [Path(file.path).name for file in group.files])
        for group in found
    ]


def test_many_files_keep_their_order(tmp_path: Path, make_source: Make, put: Put) -> None:
    for number in range(1000):
        put(f"landing/orders/{number:04}.csv", "a,b\n1,2\n" if number % 2 else "b,a\n1,2\n")
    even, odd = groups(tmp_path, make_source())
    assert even == (["b", "a"], False, [f"{number:04}.csv" for number in range(0, 1000, 2)])
    assert odd == (["a", "b"], False, [f"{number:04}.csv" for number in range(1, 1000, 2)])


def test_no_files_no_groups(tmp_path: Path, make_source: Make) -> None:
    assert group_by_shape((), make_source(), tmp_path) == ()


def test_every_file_that_cannot_be_read_is_named_with_its_way_out(
    tmp_path: Path, make_source: Make, put: Put
) -> None:
    put("landing/orders/good.csv")
    put("landing/orders/twice.csv", "a,a\n")
    put("landing/orders/cut.csv.gz", gzip.compress(b"a,b\n" * 100)[:20])
    with pytest.raises(SourceError) as caught:
        groups(tmp_path, make_source())
    cut, twice = caught.value.problems
    assert (cut.code, twice.code) == ("LS422", "LS423")
    assert twice.what == "source 'orders': landing/orders/twice.csv: two columns have one name"
    assert str(twice.place) == "tables/bronze/orders.yaml:2"
    assert "`lakesmith files bronze.orders --skip landing/orders/twice.csv`" in (twice.hint or "")
    assert "`lakesmith files bronze.orders --skip landing/orders/cut.csv.gz`" in (cut.hint or "")


def test_hundreds_of_bad_files_do_not_fill_the_screen(tmp_path: Path, make_source: Make, put: Put) -> None:
    for number in range(30):
        put(f"landing/orders/{number:02}.csv", "a,a\n")
    with pytest.raises(SourceError) as caught:
        groups(tmp_path, make_source())
    assert len(caught.value.problems) == 21
    assert caught.value.problems[-1].what.endswith("10 more files cannot be read")
