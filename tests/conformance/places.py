"""The catalogs that the suite is run over, each as a target: its settings, and where its files land."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import postgres_server
import rest_server
import s3_server

EMBEDDED, JDBC, REST, GLUE = KINDS = ("embedded", "jdbc", "rest", "glue")


@dataclass(frozen=True)
class Place:
    """Where a project runs. ``catalog``: its target's settings; ``landing``: a folder of it, or a URL.

    ``prefix``: what its namespaces begin with, in a catalog that other projects share.
    """

    kind: str
    catalog: Mapping[str, str]
    landing: str = "landing"
    prefix: str = ""
    s3: s3_server.Server | None = None
    namespaces: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_remote(self) -> bool:
        """Whether the lake is elsewhere than in the project's folder."""
        return self.kind != EMBEDDED

    @property
    def environ(self) -> dict[str, str]:
        return self.s3.environ if self.s3 else {}

    def target(self) -> dict[str, Any]:
        said: dict[str, Any] = {"vars": {"landing": self.landing}}
        if self.is_remote:
            said["catalog"] = dict(self.catalog)
        namespaces = self.namespaces or ({"prefix": self.prefix} if self.prefix else {})
        return {**said, **({"namespaces": dict(namespaces)} if namespaces else {})}


def files_of(s3: s3_server.Server) -> dict[str, str]:
    return {
        "s3.endpoint": s3.endpoint, "s3.path-style-access": "true", "client.region": s3_server.REGION,
        "s3.access-key-id": s3_server.KEY_ID, "s3.secret-access-key": s3_server.SECRET,
    }  # fmt: skip


def embedded() -> Place:
    """The catalog in the project's folder."""
    return Place(EMBEDDED, {})


def in_postgres(server: postgres_server.Server, s3: s3_server.Server) -> Place:
    """A database of its own, in which there is nothing yet."""
    database, bucket = server.make_database(), s3.make_bucket()
    login = {"jdbc.user": database.user, "jdbc.password": database.password}
    catalog = {"type": "jdbc", "uri": database.jdbc, **login, "warehouse": f"{bucket}/wh", **files_of(s3)}
    return Place(JDBC, catalog, f"{bucket}/landing", s3=s3)


def on_rest(server: rest_server.Server, s3: s3_server.Server, uri: str | None = None) -> Place:
    """A REST catalog, which others share; ``uri``: another way to it."""
    catalog = {"type": "rest", "uri": uri or server.uri, **files_of(s3)}
    return Place(REST, catalog, f"{s3.make_bucket()}/landing", _prefix(), s3)


def in_glue(s3: s3_server.Server) -> Place:
    """Glue, which others share."""
    bucket = s3.make_bucket()
    glue = {"glue.endpoint": s3.endpoint, "warehouse": f"{bucket}/wh"}
    return Place(GLUE, {"type": "glue", **glue, **files_of(s3)}, f"{bucket}/landing", _prefix(), s3)


def project_file(name: str, place: Place, more: Mapping[str, Any] | None = None) -> str:
    """A ``lakesmith.yaml`` with one target: JSON is YAML."""
    return json.dumps({"name": name, "targets": {"local": {**place.target(), **(more or {})}}}, indent=1)


def _prefix() -> str:
    return f"t{uuid.uuid4().hex[:8]}_"
