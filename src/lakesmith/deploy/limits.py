"""Refusals: what a project declares that cannot be deployed, found before anything is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from lakesmith.deploy.cron import Untranslatable, expressions
from lakesmith.deploy.facts import Stack
from lakesmith.errors import Place, Problem, ProjectError
from lakesmith.graph.graph import Graph
from lakesmith.project.declaring import BUCKET_PATTERN
from lakesmith.project.definitions import Deployment, Project, Schedule, TableDefinition
from lakesmith.project.exporting import place_of_export
from lakesmith.project.file_options import OBJECT_SCHEME

MACHINE_BYTES: Final = 1024 * 1024
POLICY_BYTES: Final = 10_240
MANAGED_BYTES: Final = 6_144
PATTERN_BYTES: Final = 2048
"""AWS's limits: of a state machine's definition, of a role's own policies without blanks, of a
policy that is attached, of an event pattern."""

_FORMAT_OF_ATHENA: Final = 2
_WHY_CATALOG: Final = "a catalog of type glue with its warehouse in S3, or of type s3tables"
_READ_AS_PATTERN: Final = re.compile(r"""[*?$%"\\]""")
_TABLE_BUCKET: Final = re.compile(r"arn:[a-z-]+:s3tables:([a-z0-9-]+):([0-9]{12}):bucket/[a-z0-9-]{3,63}")


def stack_of(project: Project, graph: Graph) -> Stack:
    """Returns the facts of a target's deployment.

    Raises ProjectError with every problem: LS140 (the target), LS141 (schedules), LS142 (Athena), LS143
    (sources).
    """
    target = project.target
    if target.deploy is None:
        what, expected = f"target {target.name!r} has no deploy settings", "deploy: {account: …, region: …}"
        raise ProjectError.of("LS140", what, target.place, expected, "none", "see docs/deploy.md")
    stack = Stack(project, graph, target.deploy)
    problems = [
        *_target_problems(project, target.deploy),
        *_schedule_problems(target.deploy.maintain, "maintenance", target.deploy.place),
        *(problem for table in stack.own_tables for problem in _table_problems(table, target.deploy)),
        *_layer_problems(stack),
        *_bucket_problems(stack),
    ]
    if problems:
        raise ProjectError(problems)
    return stack


def _target_problems(project: Project, deploy: Deployment) -> Iterator[Problem]:
    target, catalog = project.target, dict(project.target.catalog)
    if target.type == "s3tables":
        yield from _table_bucket_problems(project, deploy)
    elif target.type != "glue":
        what = f"target {target.name!r} cannot be deployed"
        yield Problem("LS140", what, target.place, _WHY_CATALOG, f"type {target.type}")
    elif not catalog.get("warehouse", "").startswith("s3://"):
        what = "the warehouse of a deployed target is in S3"
        yield Problem(
            "LS140", what, target.place, "warehouse: s3://bucket/prefix", catalog.get("warehouse", "none")
        )
    region = catalog.get("client.region") or catalog.get("glue.region") or deploy.region
    if region != deploy.region:
        what = "the catalog and the deployment are in different regions"
        yield Problem("LS140", what, deploy.place, f"region: {region}", deploy.region)
    if deploy.replica_region == deploy.region or (deploy.replica_region and target.type == "s3tables"):
        what = "the buckets cannot be copied as declared"
        expected = "another region as replica_region, and a catalog of type glue"
        yield Problem("LS140", what, deploy.place, expected, f"{target.type}, {deploy.replica_region}")
    if deploy.lake_formation and target.type == "s3tables":
        what = "Lake Formation knows a table bucket by a catalog that is integrated by hand"
        expected = "lake_formation: false, or a catalog of type glue"
        yield Problem("LS140", what, deploy.place, expected, "lake_formation: true")
    if deploy.compute == "glue" and deploy.architecture != "x86_64":
        what = "Glue jobs have no processors of this kind"
        yield Problem(
            "LS140", what, deploy.place, "architecture: x86_64, or compute: emr", deploy.architecture
        )
    folder = deploy.github.folder if deploy.github else None
    if folder and not f"/{project.root.as_posix()}".endswith(f"/{folder}"):
        what = "the project is not in this folder of the repository"
        yield Problem("LS140", what, deploy.place, "github: {folder: …}", f"{folder}, in {project.root}")
    if "glue.endpoint" in catalog or "s3.endpoint" in catalog:
        what = "a target with endpoints of its own is not on AWS"
        yield Problem("LS140", what, target.place, "a catalog without glue.endpoint and s3.endpoint")


def _table_bucket_problems(project: Project, deploy: Deployment) -> Iterator[Problem]:
    """Finds a table bucket that is not the deployment's own, and what table buckets do not have."""
    given = dict(project.target.catalog).get("warehouse", "")
    own = f"arn:aws:s3tables:{deploy.region}:{deploy.account}:bucket/NAME"
    found = _TABLE_BUCKET.fullmatch(given)
    if found is None or found.groups() != (deploy.region, deploy.account):
        what = "the warehouse is not a table bucket of this region and account"
        yield Problem("LS140", what, project.target.place, own, given or "none")
    if deploy.athena:
        what = "Athena reads a table bucket by a catalog that is integrated by hand"
        yield Problem("LS142", what, deploy.place, "athena: false, or a catalog of type glue", "athena: true")


def _schedule_problems(schedule: Schedule | None, of: str, place: Place | None) -> Iterator[Problem]:
    if schedule is None:
        return
    try:
        expressions(schedule)
    except Untranslatable as error:
        yield Problem("LS141", f"{of}: {error}", place, found=str(schedule), hint=error.hint)


def _table_problems(table: TableDefinition, deploy: Deployment) -> Iterator[Problem]:
    where = dict(table.settings_from)
    yield from _schedule_problems(table.schedule, str(table.name), where.get("schedule", table.place))
    if deploy.athena and table.format_version > _FORMAT_OF_ATHENA:
        what = f"Athena cannot read {table.name}"
        hint = "declare format_version: 2, for all tables in defaults; or leave out athena"
        place = where.get("format_version", table.place)
        yield Problem("LS142", what, place, "format_version: 2", str(table.format_version), hint)
    for source in table.sources:
        if source.has_foreign_files and not source.is_in_store:
            what = f"{table.name} reads files of a folder that AWS does not have"
            hint = "give the target vars of its own, such as vars: {landing: s3://bucket/landing}"
            yield Problem("LS143", what, source.place, "a path in S3", source.path, hint)
    if table.export is not None and not (to := place_of_export(table)).startswith(OBJECT_SCHEME):
        what = f"{table.name} is exported to a folder that ends with each job"
        hint = 'give the target vars of its own, and declare to: "${vars.exports}/..."'
        yield Problem("LS143", what, where.get("export", table.place), "a place in S3", to, hint)


def _bucket_problems(stack: Stack) -> Iterator[Problem]:
    """Finds places in S3 that cannot be made, or that policies would read as patterns."""
    for bucket in stack.buckets:
        if not re.fullmatch(BUCKET_PATTERN, bucket.name):
            what = f"S3 has no bucket of the name {bucket.name!r}"
            yield Problem("LS140", what, stack.deploy.place, "3 to 63 lower-case letters, digits and -")
        odd = [each for each in (*bucket.reads, *bucket.writes) if _READ_AS_PATTERN.search(each)]
        if odd:
            what = "policies would read a prefix as a pattern"
            yield Problem("LS140", what, stack.deploy.place, "a prefix without * ? $ % and quotes", odd[0])


def _layer_problems(stack: Stack) -> Iterator[Problem]:
    """Finds tables that read a layer that runs after theirs."""
    if stack.deploy.unit == "project":
        return
    order = {layer: at for at, layer in enumerate(stack.layers)}
    for node in stack.graph.nodes:
        later = [each for each in node.inputs if order.get(each.layer, -1) > order.get(node.name.layer, 0)]
        if later and node.definition.external is None:
            what = f"{node.name} reads {later[0]}, whose layer is refreshed after {node.name.layer}"
            yield Problem("LS144", what, node.definition.place, "unit: project, or layers in one order")


def limit_problems(stack: Stack, files: Mapping[str, str]) -> list[Problem]:
    """Returns LS144 for each file that is larger than AWS accepts."""
    return list(_too_large(stack, files))


def _too_large(stack: Stack, files: Mapping[str, str]) -> Iterator[Problem]:
    for name, text in files.items():
        most = _most(name)
        if most and (found := _size(text)) > most:
            what = f"{name} would be larger than AWS accepts"
            hint = "put landing files and exports below fewer prefixes, or split the project"
            yield Problem("LS144", what, stack.deploy.place, f"{most:,} bytes at most", f"{found:,}", hint)


def _most(name: str) -> int | None:
    if name.startswith("policies/"):
        return MANAGED_BYTES if name.startswith("policies/ci_apply_") else POLICY_BYTES
    return (
        PATTERN_BYTES if name.startswith("events/") else MACHINE_BYTES if name == "machine.asl.json" else None
    )


def _size(text: str) -> int:
    return len(json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False).encode())
