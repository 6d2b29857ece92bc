"""Files of stories: what they say, and what is wrong with them, each at its line."""

import pytest

from lakesmith.errors import ProjectError
from lakesmith.project.definitions import TableName
from lakesmith.stories.model import Given, Story
from lakesmith.stories.reading import read_stories

ORDERS = TableName("silver", "orders")


def one(text: str) -> Story:
    (story,) = read_stories(f"stories:\n{text}", "tests/a.yaml")
    return story


def problems(text: str) -> list[tuple[str, int | None]]:
    with pytest.raises(ProjectError) as caught:
        read_stories(text, "tests/a.yaml")
    return [(each.code, each.place.line if each.place else None) for each in caught.value.problems]


def test_a_story_of_one_batch_needs_no_batches() -> None:
    story = one(
        "  - story: newest wins\n"
        "    given: {bronze.orders: [{id: 1}]}\n"
        "    expect: {silver.orders: [{id: 1, status: null}]}\n"
    )
    (batch,) = story.batches
    (expected,) = batch.expected
    assert (story.title, story.place.line) == ("newest wins", 2)
    assert batch.given[0].rows == ({"id": 1},)
    assert expected.table == ORDERS and expected.rows is not None
    assert (expected.rows.columns, expected.rows.rows) == (("id", "status"), ((1, None),))


def test_csv_stands_for_given_and_for_expected_rows() -> None:
    story = one(
        "  - story: a\n    given:\n      bronze.orders: |\n        id,name\n        1,a\n"
        '    expect:\n      silver.orders: |\n        id,name\n        1,"b, c"\n        2,\n'
    )
    assert story.batches[0].given[0].text == "id,name\n1,a\n"
    rows = story.batches[0].expected[0].rows
    assert rows is not None and rows.texts
    assert rows.rows == (("1", "b, c"), ("2", ""))


GIVEN = {
    "{rows: [{id: 1}], name: b.csv}": [("rows", None, "b.csv")],
    "{file: samples/a.csv}": [("file", None, None)],
    "{web: [{id: 1}], shop: 'id'}": [("rows", "web", None), ("text", "shop", None)],
    "{shop: {file: a.csv}}": [("file", "shop", None)],
}


@pytest.mark.parametrize("text", GIVEN)
def test_what_arrives_is_rows_a_text_or_a_file_of_a_source(text: str) -> None:
    story = one(
        f"  - story: a\n    given: {{bronze.orders: {text}}}\n    expect: {{silver.orders: {{count: 1}}}}\n"
    )
    assert [_about(each) for each in story.batches[0].given] == GIVEN[text]


def _about(given: Given) -> tuple[str, str | None, str | None]:
    (kind,) = (name for name in ("rows", "text", "file") if getattr(given, name) is not None)
    return kind, given.source, given.name


EXPECTS = "    expect: {silver.orders: {count: 1}}\n"
WRONG = {
    "a story that expects nothing": (
        "stories:\n  - story: a\n    given: {bronze.orders: 'id'}\n",
        [("LS150", 2)],
    ),
    "an expectation of nothing": (
        "stories:\n  - story: a\n    expect:\n      silver.orders: {}\n",
        [("LS150", 4)],
    ),
    "two stories of one title": (f"stories:\n  - story: a\n{EXPECTS}  - story: a\n{EXPECTS}", [("LS150", 4)]),
    "batches and given beside them": (
        "stories:\n  - story: a\n    given: {bronze.orders: 'id'}\n"
        "    batches: [{expect: {silver.orders: {count: 1}}}]\n",
        [("LS150", 2)],
    ),
    "a misspelt word": (
        "stories:\n  - story: a\n    expect:\n      silver.orders:\n        cuont: 1\n",
        [("LS103", 5)],
    ),
    "a table without a layer": (
        "stories:\n  - story: a\n    expect:\n      orders: {count: 1}\n",
        [("LS105", 4)],
    ),
    "rows that name different columns": (
        "stories:\n  - story: a\n    expect:\n      silver.orders:\n        - {id: 1}\n        - {ip: 2}\n",
        [("LS151", 6)],
    ),
    "a line of CSV with a value too many": (
        "stories:\n  - story: a\n    expect:\n      silver.orders: |\n        id\n        1,2\n",
        [("LS151", 5)],
    ),
    "given both as rows and as a text": (
        "stories:\n  - story: a\n    given:\n      bronze.orders: {rows: [{id: 1}], text: id}\n" + EXPECTS,
        [("LS151", 4)],
    ),
    "a now that is no time": (f"stories:\n  - story: a\n    now: yesterday\n{EXPECTS}", [("LS151", 3)]),
    "no story at all": ("stories: []\n", [("LS105", 1)]),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_at_its_line(case: str) -> None:
    text, found = WRONG[case]
    assert problems(text) == found
