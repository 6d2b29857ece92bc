"""Queries that can be read and that Spark refuses all the same: told at their line in the project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import ProjectHarness

if TYPE_CHECKING:
    from lakesmith.spark.start.session import SessionHandle

pytestmark = [pytest.mark.spark, pytest.mark.in_turn]

FILES = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, pattern: "*.csv", format: csv}
        columns: {id: bigint, city: string}
        """,
    # Of a keyed table, whose query is given more columns to carry along.
    "tables/silver/misnamed.yaml": "key: [id]\nquery: |\n  SELECT id,\n    ctiy AS city\n  FROM bronze.orders\n",
    "tables/silver/misordered.sql": "SELECT city\nFROM bronze.orders\nGROUP BY city\nWHERE city = 'Oslo'\n",
    "tables/silver/mistyped.sql": "SELECT id\nFROM bronze.orders\nWHERE array(id) > 5\n",
}


def test_each_is_told_at_its_line(tmp_path: Path, session: SessionHandle) -> None:
    shop = ProjectHarness(tmp_path / "shop", session, FILES)
    shop.land("landing/orders/1.csv", "id,city\n1,Oslo\n")
    found = {str(problem.place): problem for problem in shop.run().problems}
    assert sorted(found) == [
        "tables/silver/misnamed.yaml:4",
        "tables/silver/misordered.sql:4",
        "tables/silver/mistyped.sql:3",
    ]
    assert {problem.code for problem in found.values()} == {"LS614"}
    said = [found[place].found or "" for place in sorted(found)]
    assert "`ctiy` cannot be resolved" in said[0]
    assert "Syntax error at or near 'WHERE'" in said[1]
    assert "DATATYPE_MISMATCH" in said[2]
    # Nothing of what stands in for the tables in the text that Spark got.
    assert [text for text in said if "lakesmith" in text or "pos " in text] == []
