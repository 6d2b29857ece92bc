"""Athena: the tables of Glue and of S3 Tables are there; the snippet is a query."""

from __future__ import annotations

from lakesmith.connect.model import SQLITE, Engine, Lake, Piece
from lakesmith.connect.settings import table_bucket
from lakesmith.connect.values import in_shell

_FEDERATED = (
    "once for an account and region: have S3 Tables integrated with Glue's Data Catalog (s3tablescatalog)"
)


def _glue(lake: Lake) -> Piece:
    """Another account's catalog is a data source with a name of its own."""
    other = in_shell(lake.setting("glue.id") or "")
    note = f"the catalog of account {other}: where that is another one, register it as a data source"
    return Piece(_queries(lake, "AwsDataCatalog"), (note,) if other else ())


def _s3tables(lake: Lake) -> Piece:
    return Piece(_queries(lake, f"s3tablescatalog/{table_bucket(lake)}"), (_FEDERATED,))


def _queries(lake: Lake, catalog: str) -> tuple[str, ...]:
    return tuple(
        f'SELECT * FROM "{catalog}"."{table.namespace}"."{table.table}" LIMIT 10;' for table in lake.tables
    )


_ELSEWHERE = "it sees what is in Glue's Data Catalog, and what is federated there"
ENGINE = Engine(
    name="athena",
    title="Athena",
    comment="--",
    writes={"glue": _glue, "s3tables": _s3tables},
    refuses=dict.fromkeys(("local", SQLITE, "rest", "jdbc"), _ELSEWHERE),
    format_three="Athena does not read it (AWS's table of services, 2026): Redshift, Spark and Trino do",
    fills_in="fill them in first, such as by | envsubst",
)
