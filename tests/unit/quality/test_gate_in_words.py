"""What a plan says that a table's gate reads."""

import pytest

from lakesmith.errors import Place
from lakesmith.quality.dqdl import parse_rules
from lakesmith.quality.metrics import gate_in_words

CASES = {
    "RowCount > 0, ColumnCount = 3": "2 table rules read metadata alone",
    'Mean "a" > 0, Completeness "b" > 0.9': "2 table rules read one pass over a, b",
    'IsUnique "a", Uniqueness "a" > 0.9, DuplicateRowCount = 0': (
        "3 table rules read rows grouped by a; rows grouped by all columns"
    ),
    'ColumnValues "a" > now(), DataFreshness "b" < 2 days, RowCount > 0 where "c = 1"': (
        "3 table rules read one pass over a, b, rows"
    ),
    'RowCountMatch "x.y" = 1': "1 table rule read other tables or queries for RowCountMatch",
    'DetectAnomalies "Mean" "a"': "1 table rule read one pass over a",
}


@pytest.mark.parametrize(("rules", "expected"), CASES.items(), ids=CASES)
def test_a_gate_says_what_it_reads(rules: str, expected: str) -> None:
    parsed = parse_rules(f"Rules = [ {rules} ]", Place("t.yaml", 1))
    assert gate_in_words(parsed) == f"before it is published, {expected}"
