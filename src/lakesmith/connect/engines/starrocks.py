"""StarRocks: an external catalog."""

from __future__ import annotations

from collections.abc import Mapping

from lakesmith.connect.model import ALIAS, SQLITE, Engine, Lake, Piece
from lakesmith.connect.settings import (
    KEY,
    KEY_ID,
    account,
    is_on_s3,
    region,
    signs,
    storage,
    table_bucket,
    warehouse,
)
from lakesmith.connect.values import in_shell

Settings = Mapping[str, str | None]
_KEY_HERE, _SECRET_HERE = "<access key id>", "<secret access key>"


def _glue(lake: Lake) -> Piece:
    key, secret = lake.setting("glue.access-key-id", *KEY_ID), lake.setting("glue.secret-access-key", *KEY)
    glue = {
        "use_instance_profile": "false" if key else "true",
        "access_key": key,
        "secret_key": secret,
        "region": region(lake),
        "endpoint": lake.setting("glue.endpoint"),
    }
    named = {f"aws.glue.{name}": value for name, value in glue.items()}
    return _piece(lake, {"iceberg.catalog.type": "glue", **named, **_files(lake, region(lake))})


def _s3tables(lake: Lake) -> Piece:
    """As StarRocks's own page has it: through Glue's Iceberg REST endpoint."""
    catalog = {
        "uri": f"https://glue.{region(lake)}.amazonaws.com/iceberg",
        "warehouse": f"{account(lake)}:s3tablescatalog/{table_bucket(lake)}",
        **_signed("glue", lake),
    }
    return _piece(lake, {**_of_rest(catalog), "aws.s3.region": region(lake)})


def _rest(lake: Lake) -> Piece:
    token, credential = lake.setting("token"), lake.setting("credential")
    catalog: dict[str, str | None] = {"uri": lake.setting("uri"), "warehouse": warehouse(lake) or None}
    if signs(lake):
        catalog |= _signed(lake.setting("rest.signing-name") or "execute-api", lake)
    elif token or credential:
        catalog |= {
            "security": "oauth2",
            "oauth2.token": token,
            "oauth2.credential": credential,
            "oauth2.server-uri": lake.setting("oauth2-server-uri"),
            "oauth2.scope": lake.setting("scope"),
        }
    return _piece(lake, {**_of_rest(catalog), **(_files(lake) if storage(lake).is_told else {})})


def _jdbc(lake: Lake) -> Piece:
    catalog = {
        "type": "jdbc",
        "uri": lake.setting("uri"),
        "jdbc.user": lake.setting("jdbc.user"),
        "jdbc.password": lake.setting("jdbc.password"),
        "warehouse": warehouse(lake),
    }
    named = {f"iceberg.catalog.{name}": value for name, value in catalog.items()}
    files = _files(lake) if is_on_s3(lake) else {}
    note = f"the catalog has to be called {ALIAS}: the rows in the database have its name"
    return _piece(lake, {**named, **files}, (note,))


def _signed(name: str, lake: Lake) -> dict[str, str | None]:
    return {
        "rest.sigv4-enabled": "true",
        "rest.signing-name": name,
        "rest.access-key-id": lake.setting(*KEY_ID) or _KEY_HERE,
        "rest.secret-access-key": lake.setting(*KEY) or _SECRET_HERE,
    }


def _of_rest(settings: Settings) -> dict[str, str | None]:
    return {f"iceberg.catalog.{name}": value for name, value in {"type": "rest", **settings}.items()}


def _files(lake: Lake, known: str | None = None) -> dict[str, str | None]:
    told = storage(lake)
    files = {
        "use_instance_profile": "false" if told.key_id else "true",
        "access_key": told.key_id,
        "secret_key": told.key,
        "region": known or told.region,
        "endpoint": told.endpoint,
        "enable_ssl": "false" if (told.endpoint or "").startswith("http://") else None,
        "enable_path_style_access": "true" if told.path_style else None,
    }
    return {f"aws.s3.{name}": value for name, value in files.items()}


def _piece(lake: Lake, settings: Settings, notes: tuple[str, ...] = ()) -> Piece:
    told = [("type", "iceberg"), *((key, value) for key, value in settings.items() if value)]
    inside = ",\n".join(f"  {_text(key)} = {_text(value)}" for key, value in told)
    look = [f"SELECT * FROM {ALIAS}.{table.path} LIMIT 10;" for table in lake.tables[:1]]
    return Piece((f"CREATE EXTERNAL CATALOG {ALIAS} PROPERTIES (", *inside.split("\n"), ");", *look), notes)


def _text(value: str) -> str:
    return '"' + in_shell(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


ENGINE = Engine(
    name="starrocks",
    title="StarRocks",
    comment="--",
    writes={"glue": _glue, "s3tables": _s3tables, "rest": _rest, "jdbc": _jdbc},
    refuses=dict.fromkeys(("local", SQLITE), "it reads no SQLite file and no files of this machine"),
    format_three="its page names formats 1 and 2; releases before July 2026 refuse a table with deletion vectors",
    fills_in="fill them in first, such as by | envsubst",
)
