"""Snowflake: a catalog integration, and an Iceberg table over each table."""

from __future__ import annotations

from collections.abc import Iterable

from lakesmith.connect.model import SQLITE, Engine, Lake, Piece, Table
from lakesmith.connect.settings import account, is_on_s3, login, region, signs, table_bucket, warehouse
from lakesmith.connect.values import in_sql

_ROLE, _VOLUME = "<role arn>", "<external volume>"
_TRUST = "DESCRIBE CATALOG INTEGRATION lake_catalog then says whom the role has to trust"


def _glue(lake: Lake) -> Piece:
    """Glue by its Iceberg REST endpoint, which is the one that knows deletion vectors."""
    config = _aws_config(lake, account(lake))
    return Piece((*_integration(config, _signed(lake)), *_tables(lake)), (_TRUST,))


def _s3tables(lake: Lake) -> Piece:
    """S3 Tables are read through Glue's endpoint as well, and the credentials for the files come from there."""
    name = f"{account(lake)}:s3tablescatalog/{table_bucket(lake)}"
    config = [*_aws_config(lake, name), "ACCESS_DELEGATION_MODE = VENDED_CREDENTIALS"]
    return Piece((*_integration(config, _signed(lake)), *_tables(lake, vended=True)), (_TRUST,))


def _rest(lake: Lake) -> Piece:
    uri = lake.setting("uri") or ""
    config = [f"CATALOG_URI = {in_sql(uri)}"]
    config += [f"CATALOG_NAME = {in_sql(warehouse(lake))}"] if warehouse(lake) else []
    vended = not is_on_s3(lake)
    config += ["ACCESS_DELEGATION_MODE = VENDED_CREDENTIALS"] if vended else []
    notes = ("Snowflake has to reach the catalog over the network",)
    return Piece((*_integration(config, _login(lake)), *_tables(lake, vended)), notes)


def _jdbc(lake: Lake) -> Piece:
    """By metadata files: Snowflake knows no catalog in a database."""
    made = (
        "CREATE CATALOG INTEGRATION IF NOT EXISTS lake_catalog",
        "  CATALOG_SOURCE = OBJECT_STORE TABLE_FORMAT = ICEBERG ENABLED = TRUE;",
    )
    schemas = [_schema(name) for name in dict.fromkeys(table.namespace for table in lake.tables)]
    tables = [line for table in lake.tables for line in _by_file(lake, table)]
    notes = (
        "each table is as it is now: after a run, ALTER ICEBERG TABLE ... REFRESH '<newer metadata file>'",
        f"the external volume's folder is {warehouse(lake)}: the paths below begin there",
    )
    return Piece((*made, *schemas, *tables), notes)


def _by_file(lake: Lake, table: Table) -> Iterable[str]:
    path = (table.metadata or "").removeprefix(warehouse(lake).rstrip("/") + "/")
    yield f"CREATE ICEBERG TABLE IF NOT EXISTS {table.path}"
    yield f"  EXTERNAL_VOLUME = '{_VOLUME}' CATALOG = lake_catalog METADATA_FILE_PATH = {in_sql(path)};"


def _aws_config(lake: Lake, name: str) -> list[str]:
    uri = f"https://glue.{region(lake)}.amazonaws.com/iceberg"
    return [f"CATALOG_URI = {in_sql(uri)}", "CATALOG_API_TYPE = AWS_GLUE", f"CATALOG_NAME = {in_sql(name)}"]


def _signed(lake: Lake) -> list[str]:
    return ["TYPE = SIGV4", f"SIGV4_IAM_ROLE = '{_ROLE}'", f"SIGV4_SIGNING_REGION = {in_sql(region(lake))}"]


def _login(lake: Lake) -> list[str]:
    if signs(lake):
        return _signed(lake)
    if token := lake.setting("token"):
        return ["TYPE = BEARER", f"BEARER_TOKEN = {in_sql(token)}"]
    client, secret = login(lake) or ("<client id>", "<client secret>")
    server, scope = lake.setting("oauth2-server-uri"), lake.setting("scope") or "<scope>"
    return [
        "TYPE = OAUTH",
        *([f"OAUTH_TOKEN_URI = {in_sql(server)}"] if server else []),
        f"OAUTH_CLIENT_ID = {in_sql(client)}",
        f"OAUTH_CLIENT_SECRET = {in_sql(secret)}",
        f"OAUTH_ALLOWED_SCOPES = ({in_sql(scope)})",
    ]


def _integration(config: Iterable[str], login_words: Iterable[str]) -> tuple[str, ...]:
    return (
        "CREATE CATALOG INTEGRATION IF NOT EXISTS lake_catalog",
        "  CATALOG_SOURCE = ICEBERG_REST TABLE_FORMAT = ICEBERG",
        f"  REST_CONFIG = ({' '.join(config)})",
        f"  REST_AUTHENTICATION = ({' '.join(login_words)})",
        "  ENABLED = TRUE;",
    )


def _tables(lake: Lake, vended: bool = False) -> tuple[str, ...]:
    schemas = [_schema(name) for name in dict.fromkeys(table.namespace for table in lake.tables)]
    volume = "" if vended else f"EXTERNAL_VOLUME = '{_VOLUME}' "
    return (*schemas, *(line for table in lake.tables for line in _by_name(table, volume)))


def _by_name(table: Table, volume: str) -> Iterable[str]:
    yield f"CREATE ICEBERG TABLE IF NOT EXISTS {table.path} {volume}CATALOG = lake_catalog"
    place = f"CATALOG_NAMESPACE = {in_sql(table.namespace)} CATALOG_TABLE_NAME = {in_sql(table.table)}"
    yield f"  {place} AUTO_REFRESH = TRUE;"


def _schema(name: str) -> str:
    return f"CREATE SCHEMA IF NOT EXISTS {name};"


ENGINE = Engine(
    name="snowflake",
    title="Snowflake",
    comment="--",
    writes={"glue": _glue, "s3tables": _s3tables, "rest": _rest, "jdbc": _jdbc},
    refuses=dict.fromkeys(("local", SQLITE), "it reaches no files of this machine"),
    format_three="read since May 2026, deletion vectors included",
    fills_in="fill them in first, such as by | envsubst",
    asks_for_metadata=frozenset({"jdbc"}),
)
