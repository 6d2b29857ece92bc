"""Spark without lakesmith: a session with Iceberg's catalog, by settings that ``spark-sql --conf`` takes as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakesmith.connect.model import ALIAS, SQLITE, Engine, Lake, Piece
from lakesmith.connect.settings import is_on_s3, region, s3tables_uri, signs, storage, warehouse
from lakesmith.connect.values import in_python
from lakesmith.spark.start.settings import DEFAULTS, local_catalog_conf
from lakesmith.spark.start.versions import POSTGRES_JARS, installed_pair
from lakesmith.spark.start.versions import SQLITE as SQLITE_DRIVER

_OF_ONE_ALONE: Final = (
    "s3.force-virtual-addressing",
    "init_catalog_tables",
    "py-io-impl",
    "echo",
    "pool_pre_ping",
)
"""Settings that PyIceberg has and Spark has not."""
_KEYS: Final = ("access-key-id", "secret-access-key", "session-token")
_PYICEBERGS: Final = tuple(f"{client}.{key}" for client in ("client", "glue") for key in _KEYS)
"""Keys by the names that PyIceberg has for them. In Spark those of S3 are settings; what asks Glue, or signs requests to a REST catalog,
finds keys where AWS's own tools look for them, and nowhere else."""


def _local(lake: Lake) -> Piece:
    return _piece(lake, local_catalog_conf(lake.catalog_db, lake.warehouse), (SQLITE_DRIVER,))


def _glue(lake: Lake) -> Piece:
    return _piece(lake, _catalog({"type": "glue", **_given(lake)}))


def _rest(lake: Lake) -> Piece:
    return _piece(lake, _catalog({"type": "rest", **_given(lake)}))


def _s3tables(lake: Lake) -> Piece:
    signed = {
        "type": "rest",
        "uri": s3tables_uri(lake),
        "rest.sigv4-enabled": "true",
        "rest.signing-name": "s3tables",
        "rest.signing-region": region(lake),
    }
    return _piece(lake, _catalog({**signed, **_given(lake)}))


def _jdbc(lake: Lake) -> Piece:
    drivers = (SQLITE_DRIVER,) if lake.kind == SQLITE else POSTGRES_JARS
    return _piece(lake, _catalog({"type": "jdbc", "jdbc.schema-version": "V1", **_given(lake)}), drivers)


def _given(lake: Lake) -> dict[str, str]:
    """The target's settings by the names that Iceberg's Java has for them."""
    left_out = (*_OF_ONE_ALONE, *_PYICEBERGS, "s3.region", "glue.region", "warehouse")
    given = {key: value for key, value in lake.target.catalog if key not in left_out}
    told = storage(lake)
    given |= {"warehouse": warehouse(lake)} if warehouse(lake) else {}
    given |= {"client.region": told.region} if told.region and is_on_s3(lake) else {}
    given |= {"s3.access-key-id": told.key_id} if told.key_id else {}
    given |= {"s3.secret-access-key": told.key} if told.key else {}
    given |= {"s3.session-token": told.session_token} if told.session_token else {}
    given |= {"s3.path-style-access": "true"} if told.path_style else {}
    given |= (
        {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO"} if is_on_s3(lake) and "io-impl" not in given else {}
    )
    return given


def _catalog(properties: Mapping[str, str]) -> dict[str, str]:
    prefix = f"spark.sql.catalog.{ALIAS}"
    own = {f"{prefix}.{key}": value for key, value in properties.items()}
    return {prefix: "org.apache.iceberg.spark.SparkCatalog", **own}


def _piece(lake: Lake, catalog: Mapping[str, str], drivers: tuple[str, ...] = ()) -> Piece:
    remote = lake.target.type in ("glue", "s3tables", "rest") or is_on_s3(lake)
    pair = installed_pair()
    jars = (pair.runtime, *((pair.aws_bundle,) if remote else ()), *drivers)
    extensions = DEFAULTS["spark.sql.extensions"]
    conf = {"spark.jars.packages": ",".join(jars), "spark.sql.extensions": extensions, **catalog}
    settings = [f"    {in_python(key)}: {in_python(value)}," for key, value in conf.items()]
    look = [f'spark.table("{ALIAS}.{table.path}").show()' for table in lake.tables[:1]]
    imports = ["import os", ""] if any("os.environ" in line for line in settings) else []
    return Piece(
        (
            *imports,
            "from pyspark.sql import SparkSession",
            "",
            "settings = {",
            *settings,
            "}",
            "spark = SparkSession.builder.config(map=settings).getOrCreate()",
            *look,
        ),
        _notes(lake),
    )


def _notes(lake: Lake) -> tuple[str, ...]:
    install = f'pip install "pyspark=={installed_pair().minor}.*"; other versions of Spark have a runtime of Iceberg of their own'
    asks_aws = lake.target.type in ("glue", "s3tables") or signs(lake)
    note = "the catalog's keys: export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, if nothing else has them"
    return (install, note) if asks_aws else (install,)


ENGINE = Engine(
    name="spark",
    title="Spark",
    comment="#",
    writes={
        "local": _local,
        "glue": _glue,
        "s3tables": _s3tables,
        "rest": _rest,
        "jdbc": _jdbc,
        SQLITE: _jdbc,
    },
    package="pyspark",
)
