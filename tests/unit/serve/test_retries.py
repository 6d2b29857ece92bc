"""Tables that fail: each is tried again on its own, ever more seldom."""

from lakesmith.errors import Place, Problem
from lakesmith.serve.retries import (
    LONGEST_PAUSE,
    PARKED_AFTER,
    PARKED_PAUSE,
    Failing,
    failed,
    held_back,
    tried_again,
    without_parking,
)

BAD_FILE = Problem("LS422", "orders/a.gz cannot be read", Place("tables/bronze/orders.yaml", 2))
BAD_CAST = Problem("LS601", "Spark failed: no number", Place("tables/silver/orders.sql", 1))


def failures(*problems: Problem) -> list[Failing]:
    found: list[Failing] = []
    for problem in problems:
        found.append(failed(found[-1] if found else None, [problem], now=100.0))
    return found


def test_pauses_grow_to_a_minute_and_then_the_table_is_parked() -> None:
    found = failures(*[BAD_FILE] * (PARKED_AFTER + 1))

    pauses = [each.next_try - 100.0 for each in found]
    assert pauses == [1, 2, 4, 8, 16, 32, LONGEST_PAUSE, PARKED_PAUSE, PARKED_PAUSE]
    assert [each.is_parked for each in found] == [False] * 7 + [True] * 2
    assert [each.is_new for each in found] == [True] + [False] * 8


def test_another_problem_is_told_and_does_not_park() -> None:
    found = failures(*[BAD_FILE] * 7, BAD_CAST, BAD_FILE)

    assert [each.is_new for each in found[-2:]] == [True, True]
    assert not found[-1].is_parked
    assert found[-1].next_try == 100.0 + LONGEST_PAUSE


def test_the_same_problem_in_other_words_is_the_same() -> None:
    found = failures(BAD_FILE, Problem("LS422", "orders/b.gz cannot be read", BAD_FILE.place))

    assert (found[-1].alike, found[-1].problem.what) == (2, "orders/b.gz cannot be read")


def test_what_is_held_back_and_what_is_tried() -> None:
    failing = {"a": failures(BAD_FILE)[0], "b": failures(*[BAD_FILE] * 3)[-1]}

    assert (held_back(failing, 100.5), tried_again(failing, 100.5)) == ({"a", "b"}, frozenset())
    assert (held_back(failing, 101.0), tried_again(failing, 101.0)) == ({"b"}, {"a"})


def test_what_cannot_be_parked_is_tried_each_minute() -> None:
    found = without_parking(failures(*[BAD_FILE] * 9)[-1], now=100.0)

    assert found.next_try == 100.0 + LONGEST_PAUSE
