"""What Spark has to be set to for a target: its catalog's settings, and which jars that takes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lakesmith.catalog.protocol import SPARK_CATALOG
from lakesmith.project.definitions import OBJECT_SCHEME, ObjectStore, Project, Target
from lakesmith.project.file_options import as_here
from lakesmith.spark.start.versions import POSTGRES_JARS, installed_pair

_OBJECTS = "spark.hadoop.fs.s3a."
S3_FILES = "spark.hadoop.fs.s3.impl"
"""What reads files whose names begin with ``s3://``."""
_WHOEVER_IS_HERE = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
_IO = {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}
_TYPES: Mapping[str, Mapping[str, str]] = {
    "glue": {"type": "glue", **_IO},
    "s3tables": {"type": "rest"},
    "rest": {"type": "rest"},
    # V1 has a column that tells tables from views; with the older one every table would have to be changed
    # later.
    "jdbc": {"type": "jdbc", "jdbc.schema-version": "V1"},
}


def target_conf(target: Target, properties: Mapping[str, str]) -> dict[str, str]:
    """Returns Spark's settings of a target's catalog and S3; ``properties``: the catalog's own."""
    own = {
        **_TYPES[target.type],
        **(_IO if _is_in_s3(properties) else {}),
        **properties,
        "cache-enabled": "false",
    }
    catalog = {f"{SPARK_CATALOG}.{name}": value for name, value in own.items()}
    return {SPARK_CATALOG: "org.apache.iceberg.spark.SparkCatalog", **catalog, **objects_conf(target.store)}


def jars_of(project: Project) -> tuple[str, ...]:
    """The coordinates of the jars that the project takes on its target besides those of every project."""
    target = project.target
    uses_s3 = any(map(_may_be_in_s3, (target, *target.others))) or project.has_objects
    return (
        *(installed_pair().aws_jars if uses_s3 else ()),
        *(POSTGRES_JARS if target.type == "jdbc" else ()),
        *(installed_pair().kafka_jars if project.has_topics else ()),
    )


def _may_be_in_s3(target: Target) -> bool:
    """Returns whether tables may be in S3: unknown for REST, by the warehouse for a database."""
    given = dict(target.catalog)
    return (
        target.type in ("glue", "s3tables", "rest")
        or (target.type == "jdbc" and "warehouse" not in given)
        or _is_in_s3(given)
    )


def _is_in_s3(properties: Mapping[str, str]) -> bool:
    return properties.get("warehouse", "").startswith(OBJECT_SCHEME)


def objects_conf(store: ObjectStore) -> dict[str, str]:
    """How Spark's readers of landing files reach S3: as the catalog does."""
    return dict(_objects_conf(as_here(store)))


def _objects_conf(store: ObjectStore) -> Iterator[tuple[str, str]]:
    yield S3_FILES, "org.apache.hadoop.fs.s3a.S3AFileSystem"
    if store.region:
        yield f"{_OBJECTS}endpoint.region", store.region
    if store.endpoint:
        yield f"{_OBJECTS}endpoint", store.endpoint
        yield f"{_OBJECTS}path.style.access", "true"
    if not store.key_id:
        # As boto3 and Iceberg find them: Hadoop by itself knows neither profiles nor roles of containers.
        yield f"{_OBJECTS}aws.credentials.provider", _WHOEVER_IS_HERE
    for name, value in (
        ("access.key", store.key_id),
        ("secret.key", store.secret),
        ("session.token", store.token),
    ):
        if value:
            yield f"{_OBJECTS}{name}", value
