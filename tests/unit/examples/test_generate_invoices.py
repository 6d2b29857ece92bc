"""The invoice generator keeps its promises: the same call the same files, changes out of order as they really
come.
"""

from collections import defaultdict
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from example_files import EXAMPLES, contents, load_generator

generate = load_generator("invoices")
Delivered = dict[tuple[str, str], list[tuple[int, str, str]]]


def arrivals(**changes: float) -> list[object]:
    return list(
        generate.arrivals(generate.Settings(**{"files": 9, "rows_per_file": 300, "seed": 7, **changes}))
    )


@pytest.fixture(scope="module")
def delivered() -> Delivered:
    """For each key the (file, Op, time) of its changes in the order of their delivery."""
    changes: Delivered = defaultdict(list)
    for number, arrival in enumerate(arrivals(odd=0.1)):
        for op, at, invoice, item, *_ in arrival.rows:  # type: ignore[attr-defined]
            changes[invoice, item].append((number, op, at))
    return changes


def test_the_same_seed_makes_the_same_files_with_the_same_times(tmp_path: Path) -> None:
    for name in ("one", "two"):
        generate.main(
            ["--files", "5", "--rows-per-file", "40", "--bad", "0.05", "--out", str(tmp_path / name)]
        )

    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(contents(tmp_path / "one")) == 5


def test_another_seed_makes_other_rows() -> None:
    assert arrivals(seed=1) != arrivals(seed=2)


def test_more_files_leave_those_there_alone(tmp_path: Path) -> None:
    call = ["--rows-per-file", "40", "--out", str(tmp_path)]
    generate.main(["--files", "3", *call])
    before = {path.name: path.stat() for path in tmp_path.iterdir()}
    generate.main(["--files", "5", *call])

    assert {name: (tmp_path / name).stat() for name in before} == before
    assert len(list(tmp_path.iterdir())) == 5


def test_all_three_operations_come(delivered: Delivered) -> None:
    assert {op for changes in delivered.values() for _, op, _ in changes} == {"I", "U", "D"}


def test_some_deletes_come_one_file_before_their_insert(delivered: Delivered) -> None:
    first_two = [changes[:2] for changes in delivered.values() if len(changes) > 1]

    early = [(d, i) for d, i in first_two if (d[1], i[1]) == ("D", "I") and d[2] > i[2]]
    assert early
    assert all(insert[0] == delete[0] + 1 for delete, insert in early)


def test_some_deletes_are_older_than_the_insert_delivered_before_them(delivered: Delivered) -> None:
    pairs = [pair for changes in delivered.values() for pair in pairwise(changes)]

    assert any(before[1] == "I" and after[1] == "D" and after[2] < before[2] for before, after in pairs)


def test_some_rows_of_deleted_keys_come_again_exactly_alike(delivered: Delivered) -> None:
    def again(changes: list[tuple[int, str, str]]) -> bool:
        seen, deleted_at = set(), ""
        for _, op, at in changes:
            if op == "D":
                deleted_at = max(deleted_at, at)
            elif at in seen and at < deleted_at:
                return True
            seen.add(at)
        return False

    assert any(map(again, delivered.values()))


def test_every_fourth_file_is_back_dated() -> None:
    times: list[datetime] = [arrival.modified for arrival in arrivals()]  # type: ignore[attr-defined]

    assert [index for index in range(1, 9) if times[index] < times[index - 1]] == [3, 7]


def test_no_two_versions_of_a_row_share_their_time() -> None:
    rows = {row for arrival in arrivals(odd=0.1) for row in arrival.rows}  # type: ignore[attr-defined]

    assert len({(row[1], row[2], row[3]) for row in rows}) == len(rows)


def cannot_be(row: tuple[str, ...]) -> bool:
    """An own reading of what the example's columns and rules refuse."""
    try:
        return not (0 < float(row[5]) <= 10_000 and 0 < int(row[6]) <= 1_000)
    except ValueError:
        return True


def test_bad_rows_are_as_many_as_asked_and_alone_with_their_key() -> None:
    rows = [row for arrival in arrivals(bad=0.1) for row in arrival.rows]  # type: ignore[attr-defined]
    bad = [row for row in rows if row[0] != "D" and cannot_be(row)]

    assert 0.07 < len(bad) / len(rows) < 0.13
    assert {row[5] for row in bad} > {"-4.99", "0.00", "N/A"}
    for row in bad:
        assert [other for other in rows if other[2:4] == row[2:4]] == [row]


def test_deletes_carry_their_key_and_nothing_else() -> None:
    deletes = [row for arrival in arrivals() for row in arrival.rows if row[0] == "D"]

    assert deletes and all(set(row[4:]) == {""} and len(row) == len(generate.HEADER) for row in deletes)


def test_the_shipped_files_are_the_generators_own(tmp_path: Path) -> None:
    call = ["--files", "5", "--rows-per-file", "24", "--bad", "0.04", "--odd", "0.08", "--seed", "1", "--out"]
    generate.main([*call, str(tmp_path)])
    example = EXAMPLES / "invoices"
    shipped = [*(example / "landing" / "invoices").iterdir(), *(example / "arrivals").iterdir()]

    assert {path.name: path.read_bytes() for path in shipped} == {
        name: data for name, (data, _) in contents(tmp_path).items()
    }
