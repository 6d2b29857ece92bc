"""Redshift: external schemas over Glue's databases, or the catalog of S3 Tables that is mounted by itself."""

from __future__ import annotations

from lakesmith.connect.model import SQLITE, Engine, Lake, Piece
from lakesmith.connect.settings import known_region, table_bucket
from lakesmith.connect.values import in_sql

_FEDERATED = (
    "once for an account and region: have S3 Tables integrated with Glue's Data Catalog (s3tablescatalog)"
)
_ROLE = "IAM_ROLE default: the cluster's default role reads Glue and the bucket; or name another one's ARN"


def _glue(lake: Lake) -> Piece:
    schemas = dict.fromkeys(table.namespace for table in lake.tables)
    queries = [f'SELECT * FROM "{table.namespace}"."{table.table}" LIMIT 10;' for table in lake.tables]
    return Piece((*(_schema(lake, name) for name in schemas), *queries), (_ROLE,))


def _schema(lake: Lake, name: str) -> str:
    where = known_region(lake)
    parts = [
        f'CREATE EXTERNAL SCHEMA IF NOT EXISTS "{name}" FROM DATA CATALOG',
        f"DATABASE {in_sql(name)}",
        *([f"REGION {in_sql(where)}"] if where else []),
        *([f"CATALOG_ID {in_sql(other)}"] if (other := lake.setting("glue.id")) else []),
        "IAM_ROLE default;",
    ]
    return " ".join(parts)


def _s3tables(lake: Lake) -> Piece:
    catalog = f"{table_bucket(lake)}@s3tablescatalog"
    queries = [f'SELECT * FROM "{catalog}"."{t.namespace}"."{t.table}" LIMIT 10;' for t in lake.tables]
    return Piece(tuple(queries), (_FEDERATED, "it is mounted for users with an IAM identity"))


_ELSEWHERE = "it reads Iceberg tables of Glue's Data Catalog alone, and of what is federated there"
ENGINE = Engine(
    name="redshift",
    title="Redshift",
    comment="--",
    writes={"glue": _glue, "s3tables": _s3tables},
    refuses=dict.fromkeys(("local", SQLITE, "rest", "jdbc"), _ELSEWHERE),
    format_three="read since August 2026, on RG nodes and Serverless; columns of struct, list and map are not",
    fills_in="fill them in first, such as by | envsubst",
)
