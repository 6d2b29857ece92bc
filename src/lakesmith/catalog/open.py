"""From a project's target to its catalog."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import quote

from lakesmith.cache import Kept
from lakesmith.catalog.local import LocalCatalog, Reading, elsewhere
from lakesmith.catalog.protocol import Catalog
from lakesmith.catalog.state import TableState
from lakesmith.errors import EnvironmentProblem
from lakesmith.project.definitions import AS_IN_PROJECT, ExternalTable, Project, TableName, Target
from lakesmith.project.file_options import as_here
from lakesmith.project.files import scratch_folder
from lakesmith.redaction import ADDRESS_NAME, ENCODE, secrets_in

if TYPE_CHECKING:
    from lakesmith.catalog.remote import RemoteCatalog

CATALOG_TYPES = ("local", "glue", "s3tables", "rest", "jdbc")
"""The types of catalog a target can have."""


def open_catalog(project: Project, kept: Kept | None = None) -> Catalog:
    """Returns the catalog of the project's target, which is contacted when it is asked. ``kept``: states that
    are known from the files of embedded catalogs. Raises EnvironmentProblem LS326."""
    others = elsewhere(project, _Others(project, kept).table, kept)
    if project.target.is_local:
        return LocalCatalog(*_local_files(project), elsewhere=others, kept=kept)
    return _remote(project, project.target, others)


def _local_files(project: Project) -> tuple[Path, Path]:
    return project.state_dir / "catalog.db", project.state_dir / "warehouse"


def _remote(
    project: Project, target: Target, others: Mapping[TableName, Reading] = MappingProxyType({})
) -> RemoteCatalog:
    from lakesmith.catalog.remote import RemoteCatalog

    cache = scratch_folder(project.root) / "cache"
    properties = pyiceberg_properties(target)
    _require_addresses(target, properties)
    return RemoteCatalog(properties, project.secrets, target.naming, cache, others)


@dataclass(frozen=True)
class _Others:
    project: Project
    kept: Kept | None = None
    opened: dict[str | None, LocalCatalog | RemoteCatalog] = field(default_factory=dict)

    def table(self, external: ExternalTable) -> TableState | None:
        """The table's state, by the name that it has in its catalog."""
        if external.catalog not in self.opened:
            self.opened[external.catalog] = self._open(external.catalog)
        return self.opened[external.catalog].table(external.table.layer, external.table.name)

    def _open(self, name: str | None) -> LocalCatalog | RemoteCatalog:
        target = self.project.target
        other = next((each for each in target.others if each.name == name), target)
        if other.is_local:
            return LocalCatalog(*_local_files(self.project), kept=self.kept)
        return _remote(self.project, replace(other, naming=AS_IN_PROJECT))


def iceberg_properties(target: Target) -> dict[str, str]:
    """Returns Iceberg's properties of a target's catalog. Raises EnvironmentProblem LS326."""
    properties = {
        **_from_environment(target),
        **{key: value for key, value in target.catalog if key != "type"},
    }
    match target.type:
        case "glue" | "rest":
            return properties
        case "s3tables":
            return _s3tables(target, properties)
        case "jdbc":
            _require_jdbc(target, properties)
            return properties
    raise _unusable(target, f"one of {', '.join(CATALOG_TYPES)}", target.type)


def pyiceberg_properties(target: Target) -> dict[str, str]:
    """The same for PyIceberg, where that has other names for them. Raises as ``iceberg_properties`` does."""
    properties = iceberg_properties(target)
    if target.type == "jdbc":
        return _sqlalchemy(properties)
    region = properties.get("client.region")
    # One region for all: PyIceberg asks for that of S3 and of Glue apart.
    apart = {"s3.region": region, "glue.region": region} if region else {}
    return {"type": "glue" if target.type == "glue" else "rest", **apart, **properties}


def _from_environment(target: Target) -> dict[str, str]:
    store = as_here(target.store)
    found = {"client.region": store.region, "s3.endpoint": store.endpoint}
    return {key: value for key, value in found.items() if value}


def _s3tables(target: Target, properties: dict[str, str]) -> dict[str, str]:
    """Returns the settings of S3 Tables by its REST endpoint; ``warehouse`` is the bucket's ARN."""
    arn = properties.get("warehouse", "").split(":")
    if len(arn) < 6 or arn[2] != "s3tables":
        raise _unusable(target, "warehouse: the ARN of a table bucket", properties.get("warehouse", "none"))
    return {
        "uri": f"https://s3tables.{arn[3]}.amazonaws.com/iceberg",
        "rest.sigv4-enabled": "true",
        "rest.signing-name": "s3tables",
        "rest.signing-region": arn[3],
        **properties,
    }


def _require_jdbc(target: Target, properties: dict[str, str]) -> None:
    url = properties.get("uri", "")
    if not re.match(r"jdbc:\w+:", url):
        raise _unusable(target, "uri: a JDBC URL such as jdbc:postgresql://host/database", "uri: not one")


def _sqlalchemy(properties: dict[str, str]) -> dict[str, str]:
    """Returns a database's settings: Spark's ``jdbc:`` URL for SQLAlchemy, with user and password."""
    rest = {key: value for key, value in properties.items() if key != "uri" and not key.startswith("jdbc.")}
    scheme, _, address = properties["uri"].removeprefix("jdbc:").partition(":")
    if scheme == "sqlite":
        address = f"///{address}"
    driver = {"postgresql": "postgresql+psycopg"}.get(scheme, scheme)
    login = _login(properties.get("jdbc.user", ""), properties.get("jdbc.password", ""))
    uri = f"{driver}:{address.replace('//', '//' + login, 1)}"
    # A process may live for weeks, and a server that was restarted has ended the connections that wait in its
    # pool.
    return {"type": "sql", "uri": uri, "init_catalog_tables": "false", "pool_pre_ping": "true", **rest}


def _login(user: str, password: str) -> str:
    if not user:
        return ""
    return quote(user, safe="") + (f":{quote(password, safe='')}" if password else "") + "@"


def _require_addresses(target: Target, properties: Mapping[str, str]) -> None:
    """Refuses addresses that Python's and Java's clients could read in different ways."""
    for key, value in properties.items():
        if ADDRESS_NAME.search(key) and secrets_in(value) is None:
            raise _unusable(target, f"{key}: a well-formed URL", f"{key}: not one", ENCODE)


def _unusable(target: Target, expected: str, found: str, hint: str | None = None) -> EnvironmentProblem:
    what = f"the catalog of target {target.name!r} cannot be used"
    if target.type == "hadoop":
        hint = "hadoop has no atomic rename on object stores and PyIceberg cannot read it"
    return EnvironmentProblem.of(
        "LS326", what, target.place, expected, found, hint or "correct the target in lakesmith.yaml"
    )
