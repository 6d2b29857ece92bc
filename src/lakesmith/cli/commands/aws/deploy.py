"""``lakesmith deploy``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from lakesmith.api.deploying.artifact import Uploaded
from lakesmith.api.deploying.work import Deployed, Estimate
from lakesmith.api.words import count, size
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show
from lakesmith.cli.render.text import columns_aligned

app = opt.command_app()


@app.command()
def deploy(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if files are stale.")
    ] = False,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="With --check: a plan (terraform show -json) that must not delete what holds data."
        ),
    ] = None,
    upload: Annotated[
        bool, typer.Option("--upload", help="Also upload packages and the project; needs the account.")
    ] = False,
    artifact: Annotated[
        Path | None, typer.Option(help="Also write packages and the project to this folder.")
    ] = None,
    cost: Annotated[bool, typer.Option("--cost", help="Write nothing; estimate what a month costs.")] = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Writes Terraform for a target on AWS to deploy/TARGET; needs no account and changes none."""
    lake = open_lake(project, target)
    if cost:
        show(lake.deployment_cost(), json, estimated)
        return
    if not check and plan is None:
        show(lake.deploy(), json, written)
        if upload or artifact is not None:
            show(lake.upload_artifact(folder=artifact), json, uploaded)
        return
    found = lake.check_deployment(plan=plan)
    show(found, json, checked)
    raise typer.Exit(1 if found.is_stale else 0)


def written(found: Deployed) -> Iterator[str]:
    """What was written, and the next steps."""
    yield from _files(found, {"new": "wrote", "changed": "wrote", "gone": "removed"})
    files = count(found.files, "file")
    if found.is_stale:
        yield f"{found.folder}: {files}. Read them, then: cd {found.folder} && terraform plan"
    else:
        yield f"{found.folder}: {files}, all as they should be"
    yield from (f"note: {note}" for note in found.notes)


def uploaded(found: Uploaded) -> Iterator[str]:
    """What was uploaded, and how large it is."""
    yield from (f"uploaded: {found.place}/{key}" for key in found.new)
    if not found.new:
        yield f"{found.place} has these packages and this project already"
    sizes = ", ".join(f"{name} {size(number)}" for name, number in found.sizes.items())
    yield f"unpacked: {sizes}"
    yield f"{found.variables} names them for Terraform"


def checked(found: Deployed) -> Iterator[str]:
    """What is stale."""
    yield from _files(found, {"new": "missing", "changed": "stale", "gone": "not needed", "edited": "edited"})
    yield from (f"note: {loss}, in development" for loss in found.losses)
    if found.is_stale:
        yield f"{found.folder} is not as the project makes it: run lakesmith deploy"
    else:
        yield f"{found.folder}: {count(found.files, 'file')}, all as they should be"


def estimated(found: Estimate) -> Iterator[str]:
    """The estimate with its parts and assumptions."""
    cost = found.cost
    rows = [
        ("a month without work", _dollars(cost.idle), ""),
        *((f"  {line.title}", _dollars(line.dollars), line.how) for line in cost.lines),
        ("a minute of a run", _dollars(cost.minute), ""),
        ("a small run", _dollars(cost.run), ""),
        ("a month with work at each call", _dollars(cost.busy), f"{cost.calls:,} scheduled calls"),
        *((f"a GB {line.title}", _dollars(line.dollars), line.how) for line in cost.per_gb),
    ]
    yield f"target {found.target}: an estimate in dollars"
    yield from columns_aligned(rows, frozenset({1}))
    yield ""
    yield from (f"assumed: {each}" for each in cost.assumptions)


def _dollars(amount: float) -> str:
    """Returns dollars and cents; of less than ten cents two digits more."""
    return f"{amount:,.2f}" if amount >= 0.1 or not amount else f"{amount:.4f}"


def _files(found: Deployed, words: dict[str, str]) -> Iterator[str]:
    for kind, word in words.items():
        yield from (f"{word}: {name}" for name in getattr(found, kind))
