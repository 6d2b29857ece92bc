"""What ``doctor`` looks at in a target that is not this machine's: credentials, reach, permissions, jars, clocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lakesmith.api.doctor_machine import Check, Verdict
from lakesmith.api.words import count
from lakesmith.catalog.remote import RemoteCatalog
from lakesmith.errors import EnvironmentProblem, LakesmithError
from lakesmith.execute.opened import Opened
from lakesmith.project.definitions import OBJECT_SCHEME, Project
from lakesmith.sources.object_probe import probe, who_am_i
from lakesmith.spark.start.jars import cached_jars, jars_folder
from lakesmith.spark.start.target_conf import jars_of

SKEW_SECONDS: Final = 60.0
"""AWS refuses requests whose time is 5 to 15 minutes off; a lease is told by clocks."""


def target_checks(opened: Opened, reached: bool) -> Iterator[Check]:
    """What there is to say of the target; ``reached``: its catalog answers."""
    project = opened.project
    yield from _jars(project)
    if _uses_s3(project):
        yield from _store(project)
    if reached:
        yield _lease(opened)


def _jars(project: Project) -> Iterator[Check]:
    try:
        coordinates = jars_of(project)
    except EnvironmentProblem:
        # Which jars, follows from PySpark: what is wrong with that has been said.
        return
    found = cached_jars(jars_folder(coordinates)) if coordinates else ()
    if found is None:
        hint = "the first run fetches them; on a machine without a network they have to be there before"
        yield Check("target's jars", Verdict.NOTE, "not here yet", hint)
    else:
        yield Check("target's jars", Verdict.OK, count(len(found), "file"))


def _uses_s3(project: Project) -> bool:
    return project.target.type == "glue" or bool(_places(project))


def _places(project: Project) -> list[str]:
    warehouse = dict(project.target.catalog).get("warehouse", "")
    return [warehouse] if warehouse.startswith(OBJECT_SCHEME) else []


def _store(project: Project) -> Iterator[Check]:
    store = project.target.store
    try:
        found = who_am_i(store)
    except LakesmithError as error:
        yield Check("aws credentials", Verdict.PROBLEM, error.problems[0].what, error.problems[0].hint)
        return
    if found is None:
        hint = (
            "aws configure, or export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a role of the machine"
        )
        yield Check("aws credentials", Verdict.PROBLEM, "there are none", hint)
        return
    yield Check("aws credentials", Verdict.OK, found)
    for place in _places(project):
        yield from _place(project, place)


def _place(project: Project, place: str) -> Iterator[Check]:
    answer = probe(place, project.target.store)
    if answer.refused:
        hint = (
            "check the bucket's name, the region and the endpoint, and that these credentials have s3:ListBucket on it,"
            " s3:GetObject, s3:PutObject and s3:DeleteObject below it"
        )
        yield Check("warehouse", Verdict.PROBLEM, f"{place}: {answer.refused}", hint)
    else:
        yield Check("warehouse", Verdict.OK, f"{place}: can be listed, written and deleted")
    if answer.skew_seconds is not None:
        yield _clock(answer.skew_seconds)


def _clock(skew: float) -> Check:
    if abs(skew) <= SKEW_SECONDS:
        return Check("clock", Verdict.OK, "as the server's, within a minute")
    off = f"{abs(skew):,.0f} s {'ahead of' if skew > 0 else 'behind'} the server's"
    return Check("clock", Verdict.PROBLEM, off, "set this machine's clock: timedatectl set-ntp true")


def _lease(opened: Opened) -> Check:
    catalog = opened.lake.catalog
    assert isinstance(catalog, RemoteCatalog)
    try:
        holder = catalog.lease_holder(opened.project.name)
    except LakesmithError as error:
        return Check("lease", Verdict.PROBLEM, error.problems[0].found or error.problems[0].what)
    if holder is None:
        return Check("lease", Verdict.OK, "free: no runner is at work on this target")
    return Check("lease", Verdict.NOTE, f"held by {holder}")
