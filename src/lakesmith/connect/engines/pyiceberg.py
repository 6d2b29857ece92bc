"""PyIceberg: a catalog by its properties, which are those that the target is written in."""

from __future__ import annotations

from collections.abc import Sequence

from lakesmith.connect.model import ALIAS, SQLITE, Engine, Lake, Piece
from lakesmith.connect.settings import region, s3tables_uri, warehouse
from lakesmith.connect.values import in_python


def _local(lake: Lake) -> Piece:
    properties = {
        "type": "sql",
        "uri": f"sqlite:///{lake.catalog_db}",
        "init_catalog_tables": "false",
        "warehouse": f"file://{lake.warehouse}",
    }
    return _piece(lake, "sql-sqlite", _written(properties))


def _glue(lake: Lake) -> Piece:
    return _piece(lake, "glue", _written({"type": "glue", **_given(lake)}))


def _rest(lake: Lake) -> Piece:
    return _piece(lake, "", _written({"type": "rest", **_given(lake)}))


def _s3tables(lake: Lake) -> Piece:
    signed = {
        "type": "rest",
        "uri": s3tables_uri(lake),
        "rest.sigv4-enabled": "true",
        "rest.signing-name": "s3tables",
        "rest.signing-region": region(lake),
    }
    return _piece(lake, "rest-sigv4", _written({**signed, **_given(lake)}))


def _jdbc(lake: Lake) -> Piece:
    """SQLAlchemy takes user and password in the URL, where they are quoted."""
    rest = {
        key: value for key, value in _given(lake).items() if key not in ("uri", "jdbc.user", "jdbc.password")
    }
    lines = _written({"type": "sql", "init_catalog_tables": "false", **rest})
    imports = ("from urllib.parse import quote",) if lake.setting("jdbc.user") else ()
    return _piece(lake, "sql-postgres", (f'    "uri": {_database(lake)},', *lines), imports)


def _sqlite(lake: Lake) -> Piece:
    file = (lake.setting("uri") or "").removeprefix("jdbc:sqlite:").partition("?")[0]
    properties = {"type": "sql", "init_catalog_tables": "false", **_given(lake), "uri": f"sqlite:///{file}"}
    return _piece(lake, "sql-sqlite", _written(properties))


def _database(lake: Lake) -> str:
    url = (lake.setting("uri") or "").removeprefix("jdbc:")
    user, password = lake.setting("jdbc.user"), lake.setting("jdbc.password")
    if user is None:
        return in_python(url)
    scheme, _, rest = url.partition("://")
    logged = [_quoted(user), *(['":"', _quoted(password)] if password else [])]
    return " + ".join([in_python(f"{scheme}://"), *logged, in_python(f"@{rest}")])


def _quoted(value: str) -> str:
    return f'quote({in_python(value)}, safe="")'


def _given(lake: Lake) -> dict[str, str]:
    """The target's own settings; a local folder as PyIceberg has it."""
    given = dict(lake.target.catalog)
    folder = warehouse(lake)
    return {**given, "warehouse": f"file://{folder}"} if folder.startswith("/") else given


def _written(properties: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"    {in_python(key)}: {in_python(value)}," for key, value in properties.items())


def _piece(lake: Lake, extra: str, properties: Sequence[str], imports: Sequence[str] = ()) -> Piece:
    extras = ",".join(filter(None, (extra, "pyarrow")))
    needs_os = any("os.environ" in line for line in properties)
    head = [*(["import os"] if needs_os else []), *imports]
    names = [f'    ("{table.namespace}", "{table.table}"),' for table in lake.tables]
    look = [f'print(tables["{table.path}"].scan(limit=10).to_arrow())' for table in lake.tables[:1]]
    return Piece(
        (
            *head,
            *([""] if head else []),
            "from pyiceberg.catalog import load_catalog",
            "",
            "properties = {",
            *properties,
            "}",
            f'catalog = load_catalog("{ALIAS}", **properties)',
            "names = [",
            *names,
            "]",
            'tables = {".".join(name): catalog.load_table(name) for name in names if catalog.table_exists(name)}',
            *look,
        ),
        (f'pip install "pyiceberg[{extras}]>=0.12" pyroaring',),
    )


ENGINE = Engine(
    name="pyiceberg",
    title="PyIceberg",
    comment="#",
    writes={
        "local": _local,
        "glue": _glue,
        "s3tables": _s3tables,
        "rest": _rest,
        "jdbc": _jdbc,
        SQLITE: _sqlite,
    },
    package="pyiceberg",
)
