"""``lakesmith init``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.api.starting import NewProject, Templates, init, templates
from lakesmith.cli import command as opt
from lakesmith.cli.command import show
from lakesmith.cli.render.text import columns_aligned

app = opt.command_app()


@app.command("init")
def init_(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEMPLATE] DIR", help="A shipped example, and the new folder.", show_default=False
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the shipped examples.")] = False,
    json: opt.JsonOption = False,
) -> None:
    if list_:
        show(Templates(templates()), json, _template_lines)
    else:
        show(init(*names or ()), json, _lines)


def _template_lines(found: Templates) -> Iterator[str]:
    yield from columns_aligned([(each.name, each.about) for each in found.templates])
    yield from ("", "lakesmith init NAME DIR makes a copy of one to work in")


def _lines(made: NewProject) -> Iterator[str]:
    yield f"made {made.folder}" + (f" from the example {made.template}" if made.template else "")
    yield "next:"
    yield from (f"  {command}" for command in made.next)
