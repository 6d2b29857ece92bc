"""``lakesmith test``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.api.testing.runner import Tested
from lakesmith.api.testing.story_run import StoryResult
from lakesmith.api.words import count, duration
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, say, show
from lakesmith.cli.render.junit import stories_as_junit
from lakesmith.cli.render.live import stray_prints_to_stderr
from lakesmith.stories.coverage import lines_of_gaps

app = opt.command_app()


@app.command()
def test(
    select: Annotated[
        list[str] | None,
        typer.Argument(help="Stories: words of their titles or files, or tables.", show_default=False),
    ] = None,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    junit: opt.JUnitOption = None,
    update: Annotated[
        bool, typer.Option("--update", help="Write the rows that were found into the stories.")
    ] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Say which tables, columns and rules no story meets.")
    ] = False,
    create: Annotated[
        str | None,
        typer.Option("--create", help="Write a story from rows of this table.", show_default=False),
    ] = None,
    rows: Annotated[int, typer.Option("--rows", min=1, max=1000, help="With --create: how many rows.")] = 5,
    json: opt.JsonOption = False,
) -> None:
    """Runs the stories in tests/, each in a lake of its own; exits with 1 if one fails."""

    if create is not None:
        say(f"wrote {open_lake(project, target).create_story(create, rows)}")
        return

    def show_result(result: StoryResult) -> None:
        if not json:
            for line in lines_of(result):
                say(line)

    with stray_prints_to_stderr(json):
        lake = open_lake(project, target)
        found = lake.test(*select or (), on_story=show_result, coverage=coverage, update=update)
    if junit is not None:
        junit.write_text(stories_as_junit(found.stories), encoding="utf-8")
    show(found, json, report)
    raise typer.Exit(1 if found.has_failed else 0)


def lines_of(result: StoryResult) -> Iterator[str]:
    """A story's title and how long it took; of one that failed, what is not as it says."""
    word = "passed" if result.passed else "FAILED"
    yield f"{word}  {result.title}  ({duration(result.seconds)})"
    for each in result.failures:
        after = f"batch {each.batch}" if each.batch else "after the last batch"
        yield f"  {each.place}: {each.table}, {after}: {each.what}"
        yield from (f"    {line}" for line in each.lines)


def report(found: Tested) -> Iterator[str]:
    """The closing line, and what no story meets if that was asked."""
    if found.gaps is not None:
        yield from lines_of_gaps(found.gaps)
    failed = sum(not each.passed for each in found.stories)
    if not found.stories:
        yield "no story: write one in tests/NAME.yaml"
    elif failed:
        stories = count(failed, "story", "stories")
        yield f"{stories} of {len(found.stories)} failed in {duration(found.seconds)}"
    else:
        yield f"{count(len(found.stories), 'story', 'stories')} passed in {duration(found.seconds)}"
