"""``lakesmith recover``."""

from __future__ import annotations

import time
from collections.abc import Iterator

from lakesmith.api.recovering import Recovered
from lakesmith.api.words import count, moment
from lakesmith.cli import command as opt
from lakesmith.cli.command import apply_agreed, note_if_watched, open_lake, show
from lakesmith.cli.render.text import columns_aligned

app = opt.command_app()

_HEADER = ("table", "batch", "published", "rows", "lost batches", "snapshots left out")


@app.command()
def recover(
    yes: opt.YesOption = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Recovers a lake from copies of its buckets, or its entries in a lost catalog, after asking."""
    change = open_lake(project, target).recover(on_event=note_if_watched)
    found = change.preview
    if not found.tables:
        # From here on runs may build tables.
        change.apply()
        show(found, json, lambda each: [*_lines(each), "there is nothing to recover"])
        return
    tables = count(len(found.tables), "table")
    question = f"recover {tables} of {found.source} from {found.warehouse}?"
    done = apply_agreed(change, question, yes, json, "nothing was recovered", _lines(found))
    if done is None:
        return
    files = count(done.files, "metadata file")
    said = (
        f"recovered {tables} in {done.seconds:.1f} s, {files} written; now: lakesmith verify, lakesmith run"
    )
    show(done, json, lambda _: [said])


def _lines(found: Recovered) -> Iterator[str]:
    if found.tables:
        rows = [
            (
                str(each.table),
                "-" if each.batch is None else str(each.batch),
                moment(each.published_ms),
                "?" if each.rows is None else f"{each.rows:,}",
                str(each.lost_batches),
                str(each.dropped_snapshots),
            )
            for each in found.tables
        ]
        yield from columns_aligned([_HEADER, *rows], right=frozenset({1, 3, 4, 5}))
    for name in found.there:
        yield f"{name}: is in the catalog, and stays as it is"
    for name in found.absent:
        yield f"{name}: has no files there; the next run builds it"
    for name, lost in found.broken:
        yield f"{name}: no state of it is whole ({lost} is missing); the next run builds it"
    if found.point_ms is not None:
        age = max(0, int(time.time() - found.point_ms / 1000))
        yield f"recovery point: {moment(found.point_ms)}, {count(age, 'second')} ago"
        batches = sum(each.lost_batches for each in found.tables)
        if batches:
            yield f"{count(batches, 'later batch', 'later batches')} lost: the next run ingests their files"
