"""Values of the environment stay out of what a failure in Spark says."""

from pathlib import Path

import pytest
from harness import Harness

from lakesmith.errors import RunError
from lakesmith.graph.graph import Graph, load
from lakesmith.project.definitions import Project
from lakesmith.spark.ask import run_query
from lakesmith.spark.start.session import SessionHandle

QUERY = "SELECT CAST(concat('t0ken-of-the-shop', id) AS int) FROM range(1, 2)"
TOKEN = "t0ken-of-the-shop"
PROJECT = "name: shop\ntargets: {local: {spark: {spark.hadoop.shop.token: '${SHOP_TOKEN}'}}}\n"


class SecretiveShop(Harness):
    """A project that is told a secret by its environment."""

    def load(self) -> tuple[Project, Graph]:
        return load(self.root, self.target, {"SHOP_TOKEN": TOKEN})


def test_a_secret_that_spark_quotes_is_masked(tmp_path: Path, session: SessionHandle) -> None:
    shop = SecretiveShop(
        tmp_path / "shop",
        session,
        {
            "lakesmith.yaml": PROJECT,
            "tables/bronze/orders.yaml": """
                source:
                  files: {path: landing/orders/, pattern: "*.csv", format: csv}
                columns: {id: bigint}
                """,
            "tables/silver/orders.sql": "SELECT CAST(concat('t0ken-of-the-shop', id) AS int) AS id"
            " FROM bronze.orders",
        },
    )
    shop.land("landing/orders/1.csv", "id\n1\n")
    (problem,) = shop.run().problems
    said = "\n".join(problem.lines())
    assert "The value '***1' of the type" in said
    assert TOKEN not in said


def test_a_query_of_a_person_that_fails_does_not_show_it_either(session: SessionHandle) -> None:
    with pytest.raises(RunError) as raised, run_query(session, QUERY, secrets=(TOKEN,)) as result:
        list(result.rows)
    assert "The value '***1' of the type" in str(raised.value)
    assert TOKEN not in str(raised.value)
