"""Small lines of what rules found, batch by batch."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from lakesmith.catalog.record import Gate
from lakesmith.page.quality import HEIGHT, WIDTH, Mark, placed, rules_of


@dataclass
class Record:
    batch: int
    gates: dict[str, Gate] = field(default_factory=dict)
    checks: dict[str, int] = field(default_factory=dict)


@dataclass
class Point:
    record: Record | None


@dataclass
class Rule:
    text: str


def test_a_rule_has_its_metric_or_the_rows_that_broke_it_in_the_order_of_batches() -> None:
    newest_first = [
        Point(Record(3, {"Mean": Gate("failed", 7.5, "> 8")}, {"price > 0": 0})),
        Point(None),
        Point(Record(2, {"Mean": Gate("passed", 2.5)}, {"price > 0": 4})),
        Point(Record(1)),
    ]
    mean, price, new = rules_of([Rule("Mean"), Rule("price > 0"), Rule("new")], newest_first)
    assert [(each.batch, each.value, each.has_failed) for each in mean.marks] == [
        (2, 2.5, False),
        (3, 7.5, True),
    ]
    assert mean.last is not None and mean.last.expected == "> 8"
    assert mean.span == "2.5 to 7.5" and not mean.of_rows and mean.marks[0].text == "batch 2: 2.5"
    assert price.of_rows and [each.value for each in price.marks] == [4, 0]
    assert price.marks[0].has_failed and not price.marks[1].has_failed
    assert new.last is None and new.line == ""


@given(st.lists(st.one_of(st.none(), st.floats(-1e300, 1e300)), max_size=40))
def test_marks_are_inside_and_greater_values_are_higher(values: list[float | None]) -> None:
    marks = placed([Mark(at, value, False) for at, value in enumerate(values)])
    assert all(0 <= each.x <= WIDTH and 0 <= each.y <= HEIGHT for each in marks)
    assert [each.x for each in marks] == sorted(each.x for each in marks)
    measured = sorted((each.value, -each.y) for each in marks if each.value is not None)
    assert [y for _, y in measured] == sorted(y for _, y in measured)
