"""Trino: a file of properties in ``etc/catalog/``."""

from __future__ import annotations

from collections.abc import Iterator

from lakesmith.connect.model import ALIAS, SQLITE, Engine, Lake, Piece
from lakesmith.connect.settings import (
    KEY,
    KEY_ID,
    is_on_s3,
    known_region,
    region,
    s3tables_uri,
    signs,
    storage,
    warehouse,
)
from lakesmith.connect.values import in_properties


def _glue(lake: Lake) -> Piece:
    glue = {
        "region": known_region(lake),
        "catalogid": lake.setting("glue.id"),
        "endpoint-url": lake.setting("glue.endpoint"),
        "aws-access-key": lake.setting("glue.access-key-id", *KEY_ID),
        "aws-secret-key": lake.setting("glue.secret-access-key", *KEY),
    }
    return _piece(lake, "glue", {f"hive.metastore.glue.{key}": value for key, value in glue.items()})


def _s3tables(lake: Lake) -> Piece:
    catalog = {"uri": s3tables_uri(lake), "warehouse": warehouse(lake), **_signed("s3tables")}
    return _piece(lake, "rest", _of_rest({**catalog, "view-endpoints-enabled": "false"}), region(lake))


def _rest(lake: Lake) -> Piece:
    token, credential = lake.setting("token"), lake.setting("credential")
    catalog = {"uri": lake.setting("uri"), "warehouse": warehouse(lake) or None}
    if signs(lake):
        catalog |= _signed(lake.setting("rest.signing-name") or "execute-api")
    elif token or credential:
        catalog |= {
            "security": "OAUTH2",
            "oauth2.token": token,
            "oauth2.credential": credential,
            "oauth2.server-uri": lake.setting("oauth2-server-uri"),
            "oauth2.scope": lake.setting("scope"),
        }
    vended = {} if storage(lake).is_told else {"vended-credentials-enabled": "true"}
    return _piece(lake, "rest", _of_rest({**catalog, **vended}))


def _jdbc(lake: Lake) -> Piece:
    catalog = {
        "catalog-name": ALIAS,
        "driver-class": "org.postgresql.Driver",
        "connection-url": lake.setting("uri"),
        "connection-user": lake.setting("jdbc.user"),
        "connection-password": lake.setting("jdbc.password"),
        "default-warehouse-dir": warehouse(lake),
    }
    return _piece(lake, "jdbc", {f"iceberg.jdbc-catalog.{key}": value for key, value in catalog.items()})


def _signed(name: str) -> dict[str, str | None]:
    return {"security": "SIGV4", "signing-name": name}


def _of_rest(settings: dict[str, str | None]) -> dict[str, str | None]:
    return {f"iceberg.rest-catalog.{key}": value for key, value in settings.items()}


def _piece(lake: Lake, kind: str, catalog: dict[str, str | None], known: str | None = None) -> Piece:
    told = {
        "connector.name": "iceberg",
        "iceberg.catalog.type": kind,
        # Rows written by another tool have no record: lakesmith would say so at its next run.
        "iceberg.security": "read_only",
        **catalog,
        **dict(_files(lake, known)),
    }
    lines = [f"{key}={in_properties(value)}" for key, value in told.items() if value]
    look = [f"then: SELECT * FROM {ALIAS}.{table.path} LIMIT 10" for table in lake.tables[:1]]
    return Piece(tuple(lines), (f"etc/catalog/{ALIAS}.properties on every node", *look))


def _files(lake: Lake, known: str | None) -> Iterator[tuple[str, str | None]]:
    if not (is_on_s3(lake) or lake.target.type == "rest"):
        return
    told = storage(lake)
    yield "fs.native-s3.enabled", "true"
    yield "s3.region", known or told.region
    yield "s3.endpoint", told.endpoint
    yield "s3.path-style-access", "true" if told.path_style else None
    yield "s3.aws-access-key", told.key_id
    yield "s3.aws-secret-key", told.key


ENGINE = Engine(
    name="trino",
    title="Trino",
    comment="#",
    writes={"glue": _glue, "s3tables": _s3tables, "rest": _rest, "jdbc": _jdbc},
    refuses=dict.fromkeys(("local", SQLITE), "it reads no SQLite file and no files of this machine"),
    format_three="Trino 480 and newer read it with its deletion vectors; older ones do not",
    fills_in="Trino fills them in itself",
)
