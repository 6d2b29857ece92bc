"""The facts that a snippet is made of, and the description of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lakesmith.catalog.protocol import CATALOG_NAME
from lakesmith.connect.values import has_reference
from lakesmith.project.definitions import TableName, Target

ALIAS: Final = CATALOG_NAME
"""The catalog's name in every engine: a JDBC catalog stores this name in its rows."""

SQLITE: Final = "sqlite"
"""The kind of a JDBC catalog in a file: like the embedded catalog, but in another place."""

_REGION, _ACCOUNT, _BUCKET = "<region>", "<account id>", "<table bucket>"
"""Placeholders for values that a target does not give. The reader fills them in."""
_CLIENTS: Final = ("s3", "client", "glue")


def quoted(name: str) -> str:
    """Returns the name as a quoted identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Table:
    """A table as an engine finds it.

    ``metadata`` is its newest metadata file. It is None if no catalog was asked.
    """

    name: TableName
    namespace: str
    table: str
    format_version: int
    metadata: str | None = None

    @property
    def path(self) -> str:
        """Its name with its namespace."""
        return f"{self.namespace}.{self.table}"

    @property
    def quoted(self) -> str:
        """``path`` as quoted identifiers."""
        return f"{quoted(self.namespace)}.{quoted(self.table)}"


@dataclass(frozen=True, slots=True)
class Storage:
    """How the files on S3 are reached. None stands for the engine's default."""

    region: str | None
    endpoint: str | None
    key_id: str | None
    key: str | None
    session_token: str | None
    path_style: bool

    @property
    def is_known(self) -> bool:
        """Whether the target says anything about the storage."""
        return any((self.region, self.endpoint, self.key_id))


@dataclass(frozen=True, slots=True)
class Lake:
    """A target and its tables, as templates read them.

    Args:
        target: has references where values are in the environment.
        unbuilt: declared tables that do not exist yet, as far as known.
        written_out: the variables that replace secrets written in ``lakesmith.yaml``.
    """

    project: str
    target: Target
    state_dir: Path
    tables: tuple[Table, ...]
    unbuilt: tuple[TableName, ...] = ()
    written_out: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The catalog's type; ``SQLITE`` for a JDBC catalog in a file, which is not a server."""
        in_file = (self.setting("uri") or "").startswith("jdbc:sqlite:")
        return SQLITE if self.target.type == "jdbc" and in_file else self.target.type

    @property
    def settings(self) -> Mapping[str, str]:
        return dict(self.target.catalog)

    def setting(self, *keys: str) -> str | None:
        """Returns the first of the catalog's settings that is given."""
        given = self.settings
        return next((given[key] for key in keys if key in given), None)

    @property
    def catalog_db(self) -> Path:
        """The file of the embedded catalog."""
        return self.state_dir / "catalog.db"

    @property
    def local_warehouse(self) -> Path:
        """The folder of the embedded catalog's tables."""
        return self.state_dir / "warehouse"

    @property
    def schemas(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(table.namespace for table in self.tables))

    @property
    def warehouse(self) -> str:
        """The target's ``warehouse``: a folder of tables, or a name that a REST catalog knows."""
        return self.setting("warehouse") or ""

    @property
    def storage(self) -> Storage:
        """What the target says about its storage."""
        style = self.setting("s3.path-style-access")
        virtual = self.setting("s3.force-virtual-addressing")
        return Storage(
            region=self.known_region,
            endpoint=self.setting("s3.endpoint"),
            key_id=self._of_clients("access-key-id"),
            key=self._of_clients("secret-access-key"),
            session_token=self._of_clients("session-token"),
            path_style=style == "true" or virtual == "false",
        )

    @property
    def glue_keys(self) -> tuple[str | None, str | None]:
        """The id and the secret of the key for Glue."""
        key_id = self.setting("glue.access-key-id") or self._of_clients("access-key-id")
        return key_id, self.setting("glue.secret-access-key") or self._of_clients("secret-access-key")

    def _of_clients(self, name: str) -> str | None:
        return self.setting(*(f"{client}.{name}" for client in _CLIENTS))

    @property
    def known_region(self) -> str | None:
        """The AWS region, if the target gives it."""
        given = self.setting("client.region", "glue.region", "s3.region", "rest.signing-region")
        return given or (self._arn[3] if self._arn else None)

    @property
    def region(self) -> str:
        """The AWS region, or its placeholder."""
        return self.known_region or _REGION

    @property
    def account(self) -> str:
        """The AWS account of the catalog, or its placeholder."""
        return self.setting("glue.id") or (self._arn[4] if self._arn else _ACCOUNT)

    @property
    def table_bucket(self) -> str:
        """The name of the table bucket, or its placeholder."""
        return self._arn[5].removeprefix("bucket/") if self._arn else _BUCKET

    @property
    def is_on_s3(self) -> bool:
        """Whether the tables' files are on S3 or on a service with S3's interface."""
        on_aws = self.target.type in ("glue", "s3tables")
        return on_aws or self.warehouse.startswith(("s3://", "s3a://")) or bool(self.setting("s3.endpoint"))

    @property
    def signs(self) -> bool:
        """Whether requests to the REST catalog are signed with AWS keys."""
        return self.setting("rest.sigv4-enabled") == "true"

    @property
    def s3tables_rest(self) -> dict[str, str]:
        """The settings of the REST catalog of S3 Tables."""
        return {
            "uri": self.setting("uri") or f"https://s3tables.{self.region}.amazonaws.com/iceberg",
            "rest.sigv4-enabled": "true",
            "rest.signing-name": "s3tables",
            "rest.signing-region": self.region,
        }

    @property
    def login(self) -> tuple[str, str] | None:
        """The id and the secret of a REST catalog's ``credential``.

        None if the target gives none, or one variable holds both.
        """
        client, colon, secret = (self.setting("credential") or "").partition(":")
        return (client, secret) if colon else None

    @property
    def _arn(self) -> list[str]:
        """The parts of the table bucket's ARN; empty if there is no ARN, or if it is in the environment."""
        parts = self.warehouse.split(":")
        is_arn = len(parts) == 6 and parts[2] == "s3tables"
        return parts if is_arn and not has_reference(self.warehouse) else []


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine for which ``connect`` has a template.

    Args:
        name: as on the command line.
        title: as people write it.
        template: the file in ``engines/``.
        reads: the kinds of catalog that it reads: types, and ``SQLITE``.
        why_not: why it does not read the other kinds.
        format_three: a note on tables of format 3.
        fills_in: how values of environment variables get into the text.
        asks_for_metadata: types of catalog for which it needs each table's metadata file.
        package: the Python package that runs the text here; None if it runs elsewhere.
    """

    name: str
    title: str
    template: str
    reads: tuple[str, ...]
    why_not: str = ""
    format_three: str | None = None
    fills_in: str | None = None
    asks_for_metadata: frozenset[str] = frozenset()
    package: str | None = None

    @property
    def comment(self) -> str:
        """What a comment begins with."""
        return "--" if ".sql" in self.template else "#"
