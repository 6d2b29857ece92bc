"""Which files differ between two snapshots, and what is too dear to be looked at."""

import pytest

from lakesmith.spark.iceberg.snapshot_files import Bound, DataFile, Differing, compare, have_ids, too_dear

MEGABYTE = 1024 * 1024
VECTOR = "[GenericDeleteFile{content=position_deletes, file_path=a}]"
LATER_VECTOR = "[GenericDeleteFile{content=position_deletes, file_path=b}]"
BY_VALUE = "[GenericDeleteFile{content=equality_deletes, file_path=c}]"


def _file(size: int = 1, deletes: str = "[]", has_ids: bool = True) -> DataFile:
    return DataFile(size, has_ids, deletes)


def test_files_that_went_came_and_have_other_deletes() -> None:
    then = {
        "kept": _file(), "gone": _file(), "masked": _file(deletes=VECTOR), "values": _file(deletes=VECTOR),
    }  # fmt: skip
    now = {
        "new": _file(), "values": _file(deletes=BY_VALUE), "masked": _file(deletes=LATER_VECTOR),
        "kept": _file(),
    }  # fmt: skip
    assert compare(then, now) == Differing(("gone",), ("new",), ("masked",), ("values",))
    assert compare(then, then) == Differing((), (), (), ())


@pytest.mark.parametrize("without", ["gone", "new", "masked", "kept"])
def test_rows_have_ids_where_all_files_that_differ_give_them(without: str) -> None:
    then = {name: _file(has_ids=name != without) for name in ("kept", "gone", "masked")}
    now = {name: _file(deletes=VECTOR, has_ids=name != without) for name in ("masked", "new")}
    now["kept"] = then["kept"]
    assert have_ids(compare(then, now), then, now) is (without == "kept")


@pytest.mark.parametrize(("changed", "dear"), [(49, False), (51, True)])
def test_large_files_count_by_what_they_hold(changed: int, dear: bool) -> None:
    then = {str(number): _file(100 * MEGABYTE) for number in range(100)}
    now = then | {str(number): _file(100 * MEGABYTE, VECTOR) for number in range(changed)}
    assert (too_dear(compare(then, now), then, now, Bound(0.5)) is not None) is dear


def test_many_small_files_are_dear_though_they_hold_little() -> None:
    """Earlier changes wrote 2,400 small files, some of which this one meets again."""
    then = {str(number): _file(100_000) for number in range(400)}
    then |= {f"small{number}": _file(4_000) for number in range(2_400)}
    many = then | {f"small{number}": _file(4_000, VECTOR) for number in range(1_200)}
    said = too_dear(compare(then, many), then, many, Bound(0.5))
    assert said == "1,200 files with 4.8 MB, and all of it is in 2,800 with 49.6 MB"
    few = then | {f"small{number}": _file(4_000, VECTOR) for number in range(200)}
    assert too_dear(compare(then, few), then, few, Bound(0.5)) is None


def test_what_came_is_read_as_well_as_what_went() -> None:
    then = {str(number): _file(10 * MEGABYTE) for number in range(10)}
    rewritten = then | {"new0": _file(20 * MEGABYTE), "new1": _file(20 * MEGABYTE)}
    now = {name: file for name, file in rewritten.items() if name not in "0123"}
    assert too_dear(compare(then, now), then, now, Bound(0.5)) is not None
    assert too_dear(compare(then, now), then, now, Bound(1.0)) is None


def test_nothing_is_left() -> None:
    then = {"gone": _file(MEGABYTE)}
    said = too_dear(compare(then, {}), then, {}, Bound(0.5))
    assert said == "1 file with 1.0 MB, and all of it is in 0 with 0.0 MB"
    assert too_dear(compare({}, {}), {}, {}, Bound(0.5)) is None


def test_what_changed_in_a_small_input_is_held_against_all_inputs() -> None:
    then = {"a": DataFile(100_000)}
    now = {"a": DataFile(100_000, deletes="[dv]"), "b": DataFile(1_000)}
    assert too_dear(compare(then, now), then, now, Bound(0.5)) is not None
    assert too_dear(compare(then, now), then, now, Bound(0.5, besides=10**9)) is None
    assert too_dear(compare(then, {}), then, {}, Bound(0.5, besides=10**9)) is None
