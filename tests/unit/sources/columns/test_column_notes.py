"""Everything that is said of files names one of them, and how many more there are."""

from collections.abc import Callable

import pytest

from lakesmith.errors import Place, Problem, SourceError
from lakesmith.project.definitions import FileSource
from lakesmith.sources.columns.notes import Findings, Holders

Make = Callable[..., FileSource]


def test_what_holds_of_several_shapes_is_said_once_with_its_files(make_source: Make) -> None:
    told = Findings(make_source())
    told.add(["null: c"], [], Holders(("in/a.csv", "in/b.csv")))
    told.add(["null: c", "left out: d"], [], Holders(("in/c.csv",)))
    assert told.notes == ["null: c (in/a.csv and 2 more)", "left out: d (in/c.csv)"]


def test_each_problem_has_its_place_and_its_files(make_source: Make) -> None:
    told = Findings(make_source())
    told.raise_problems()
    new, required = Problem("LS431", "a new column", found="d"), Problem("LS433", "gone", Place("t.yaml", 9))
    told.add([], [new], Holders(("in/a.csv", "in/b.csv")))
    told.add([], [new, required], Holders(("in/c\n.csv",)))
    with pytest.raises(SourceError) as caught:
        told.raise_problems()
    assert [(str(problem.place), problem.what) for problem in caught.value.problems] == [
        ("tables/bronze/orders.yaml:2", "source 'orders': in/a.csv and 2 more: a new column"),
        ("t.yaml:9", "source 'orders': in/c\\n.csv: gone"),
    ]


def test_keys_of_json_lines_are_told_of_a_file_that_has_them(make_source: Make) -> None:
    told = Findings(make_source())
    holders = Holders(("in/a.json", "in/b.json"), {"d": "in/b.json"})
    told.add(["new: d"], [Problem("LS431", "a new column", found="d, e")], holders)
    assert told.notes == ["new: d (among in/a.json and 1 more)"]
    with pytest.raises(SourceError, match=r"in/b\.json: a new column"):
        told.raise_problems()
