"""Deployments to AWS: writing their files, finding what is stale, and what they cost."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lakesmith.api.access import Access
from lakesmith.deploy import folder
from lakesmith.deploy.artifact.artifact import project_of, uploaded_project
from lakesmith.deploy.cost import Cost, cost_of
from lakesmith.deploy.facts import Stack
from lakesmith.deploy.limits import stack_of
from lakesmith.deploy.plan_guard import loss_problems, losses_in
from lakesmith.deploy.render import rendered
from lakesmith.errors import UsageError
from lakesmith.graph.graph import load


@dataclass(frozen=True, slots=True)
class Deployed:
    """What was written, or would be.

    Attributes:
        folder: the folder, relative to the project's.
        files: how many files the deployment has.
        new: files that were not there.
        changed: files that were as another version of the project made them.
        gone: files that are not needed any more.
        edited: files that a person changed.
        losses: of a checked plan in development: what holds data and would be deleted.
        notes: what is not deployed.
    """

    folder: str
    files: int
    new: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    edited: tuple[str, ...]
    losses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_stale(self) -> bool:
        """Whether a file differs from what the project makes now."""
        return bool(self.new or self.changed or self.gone or self.edited)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "is_stale": self.is_stale}


def deploy(access: Access) -> Deployed:
    stack = stack_here(access)
    files = rendered(stack, folder.remembered(folder.folder_of(stack)))
    return _deployed(stack, files, folder.write(stack, files))


def check_deployment(access: Access, plan: Path | None) -> Deployed:
    stack = stack_here(access)
    files = rendered(stack, folder.remembered(folder.folder_of(stack)))
    losses = losses_in(plan) if plan is not None else ()
    if plan is not None and losses and stack.deploy.protects:
        raise UsageError(loss_problems(losses, plan))
    folder.refuse_newer(folder.folder_of(stack))
    found = folder.difference(folder.folder_of(stack), files)
    return _deployed(stack, files, found, tuple(map(str, losses)))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the deployment of a target costs.

    Attributes:
        target: the target.
        cost: the estimate.
    """

    target: str
    cost: Cost

    def to_dict(self) -> dict[str, Any]:
        return {"target": self.target, **asdict(self.cost)}


def deployment_cost(access: Access) -> Estimate:
    stack = stack_here(access)
    return Estimate(stack.target, cost_of(stack))


def stack_here(access: Access) -> Stack:
    """Returns the facts of the target's deployment. Raises as ``Lakehouse.deploy``."""
    return stack_of(*load(access.folder, access.target, os.environ))


def _deployed(
    stack: Stack, files: Mapping[str, str], found: folder.Difference, losses: tuple[str, ...] = ()
) -> Deployed:
    place = folder.folder_of(stack).relative_to(stack.project.root).as_posix()
    return Deployed(place, len(files), **asdict(found), losses=losses, notes=tuple(_notes(stack)))


def _notes(stack: Stack) -> Iterator[str]:
    """Says what the deployment does not take care of."""
    if (uploaded := uploaded_project(stack)) is not None and uploaded != project_of(stack).prefix:
        yield "the project changed since it was uploaded: lakesmith deploy --upload, then terraform apply"
    for table in stack.own_tables:
        for source in table.sources:
            if source.has_events and not source.has_foreign_files:
                yield f"{table.name}: events over HTTP are accepted where `lakesmith up` runs; not deployed"
    if stack.project.alerts is not None and stack.project.alerts.state is None:
        yield "alerts have no state in S3 (alerts: {state: s3://...}): each run would announce all again"
    if stack.deploy.replica_region:
        yield "erased rows stay in the copies' old versions until keep_versions has passed"
    for bucket in stack.sending:
        if not bucket.is_owned:
            yield f"bucket {bucket.name}: its owner has to turn on notifications to EventBridge"
