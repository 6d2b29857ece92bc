"""DuckDB: views over metadata files, or a catalog that is attached."""

from __future__ import annotations

from lakesmith.connect.model import ALIAS, SQLITE, Engine, Lake, Piece, Table
from lakesmith.connect.settings import (
    is_on_s3,
    login,
    signs,
    storage,
    warehouse,
)
from lakesmith.connect.values import in_sql

_LOAD = ("INSTALL iceberg;", "LOAD iceberg;")
_AT_THIS_MOMENT = "each view is its table as it is now: print this again after a run"


def _views(lake: Lake) -> Piece:
    """By metadata files: DuckDB knows no catalog in a database."""
    secret = _storage_secret(lake) if is_on_s3(lake) else ()
    schemas = dict.fromkeys(table.namespace for table in lake.tables)
    made = [f"CREATE SCHEMA IF NOT EXISTS {_name(schema)};" for schema in schemas]
    views = [_view(table) for table in lake.tables]
    return Piece((*_LOAD, *secret, *made, *views, *_look(lake, "")), (_AT_THIS_MOMENT,))


def _view(table: Table) -> str:
    scan = f"SELECT * FROM iceberg_scan({in_sql(table.metadata or '')})"
    return f"CREATE OR REPLACE VIEW {_name(table.namespace)}.{_name(table.table)} AS {scan};"


def _glue(lake: Lake) -> Piece:
    """Glue's own account is meant by ``:``."""
    attach = _attach(lake.setting("glue.id") or ":", "ENDPOINT_TYPE glue")
    return Piece((*_LOAD, *_storage_secret(lake), *attach, *_look(lake, f"{ALIAS}.")))


def _s3tables(lake: Lake) -> Piece:
    attach = _attach(warehouse(lake), "ENDPOINT_TYPE s3_tables")
    return Piece((*_LOAD, *_storage_secret(lake), *attach, *_look(lake, f"{ALIAS}.")))


def _rest(lake: Lake) -> Piece:
    secret = _login_secret(lake)
    how = "SECRET lake_login" if secret else f"AUTHORIZATION_TYPE '{'sigv4' if signs(lake) else 'none'}'"
    attach = _attach(warehouse(lake), f"ENDPOINT {in_sql(lake.setting('uri') or '')}", how)
    told = storage(lake).is_told or signs(lake)
    vended = () if told else ("the credentials for the files come from the catalog",)
    files = _storage_secret(lake) if told else ("INSTALL httpfs;", "LOAD httpfs;")
    return Piece((*_LOAD, *files, *secret, *attach, *_look(lake, f"{ALIAS}.")), vended)


def _login_secret(lake: Lake) -> tuple[str, ...]:
    if token := lake.setting("token"):
        return (f"CREATE OR REPLACE SECRET lake_login (TYPE iceberg, TOKEN {in_sql(token)});",)
    if lake.setting("credential") is None:
        return ()
    client, secret = login(lake) or ("<client id>", "<client secret>")
    server = lake.setting("oauth2-server-uri") or f"{(lake.setting('uri') or '').rstrip('/')}/v1/oauth/tokens"
    parts = [
        "TYPE iceberg",
        f"CLIENT_ID {in_sql(client)}",
        f"CLIENT_SECRET {in_sql(secret)}",
        f"OAUTH2_SERVER_URI {in_sql(server)}",
        *([f"OAUTH2_SCOPE {in_sql(scope)}"] if (scope := lake.setting("scope")) else []),
    ]
    return (f"CREATE OR REPLACE SECRET lake_login ({', '.join(parts)});",)


def _storage_secret(lake: Lake) -> tuple[str, ...]:
    """The way to the files, in DuckDB's words; without keys those that AWS's own tools find."""
    told = storage(lake)
    parts = ["TYPE s3"]
    if told.key_id and told.key:
        parts += [f"KEY_ID {in_sql(told.key_id)}", f"SECRET {in_sql(told.key)}"]
        parts += [f"SESSION_TOKEN {in_sql(told.session_token)}"] if told.session_token else []
    else:
        parts += ["PROVIDER credential_chain"]
    parts += [f"REGION {in_sql(told.region)}"] if told.region else []
    parts += _endpoint(told.endpoint) if told.endpoint else []
    parts += ["URL_STYLE 'path'"] if told.path_style else []
    needed = ("httpfs",) if told.key_id else ("httpfs", "aws")
    loads = [line for name in needed for line in (f"INSTALL {name};", f"LOAD {name};")]
    return (*loads, f"CREATE OR REPLACE SECRET lake_files ({', '.join(parts)});")


def _endpoint(url: str) -> list[str]:
    """DuckDB takes a host, and whether it speaks TLS."""
    host = url.removeprefix("https://").removeprefix("http://").rstrip("/")
    return [f"ENDPOINT {in_sql(host)}", *(["USE_SSL false"] if url.startswith("http://") else [])]


def _attach(what: str, *options: str) -> tuple[str, ...]:
    return (f"ATTACH {in_sql(what)} AS {ALIAS} (TYPE iceberg, {', '.join(options)}, READ_ONLY);",)


def _look(lake: Lake, prefix: str) -> tuple[str, ...]:
    return tuple(
        f"SELECT * FROM {prefix}{_name(table.namespace)}.{_name(table.table)} LIMIT 10;"
        for table in lake.tables[:1]
    )


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


ENGINE = Engine(
    name="duckdb",
    title="DuckDB",
    comment="--",
    writes={
        "local": _views,
        SQLITE: _views,
        "jdbc": _views,
        "glue": _glue,
        "s3tables": _s3tables,
        "rest": _rest,
    },
    format_three="DuckDB 1.5 reads it, deletion vectors included; older ones may not",
    fills_in="fill them in first, such as by | envsubst",
    asks_for_metadata=frozenset({"local", "jdbc"}),
    package="duckdb",
)
